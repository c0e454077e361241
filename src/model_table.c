/* model_table.c: the machine's numbers, each once: name, unit, place, range, meaning. */
#include "model_machine.h"

#define AT(field) offsetof(struct lm_machine, field)
#define RATE      1e20
#define SECONDS   1e4
#define CYCLES    1e6

#define CPU_WAY(name, way, need)                                                                                       \
    {"cpu." name ".train", "FLOP/s", AT(cpu.train[way]), 1.0, RATE, need, "one core, training, cpu " name},            \
        {"cpu." name ".infer", "FLOP/s", AT(cpu.infer[way]), 1.0, RATE, need, "one core, scoring, cpu " name},         \
        {"cpu." name ".train.small", "FLOP/s", AT(cpu.train_small[way]), 1.0, RATE, LM_OPTIONAL, "64-24-12-15"},       \
    {                                                                                                                  \
        "cpu." name ".train.wide", "FLOP/s", AT(cpu.train_wide[way]), 1.0, RATE, LM_OPTIONAL, "64-96-48-15"            \
    }

#define COPY(name, field, need, text)                                                                                  \
    {name ".fixed", "s", AT(field.fixed), 0.0, SECONDS, need, text ": fixed"},                                         \
    {                                                                                                                  \
        name ".rate", "byte/s", AT(field.rate), 1.0, RATE, need, text ": rate"                                         \
    }

#define GPU(name, unit, field, least, most, text)                                                                      \
    {                                                                                                                  \
        "gpu." name, unit, AT(gpu.field), least, most, LM_FOR_GPU, text                                                \
    }
/* Since a later version: without it a coarser prediction is made. */
#define LATER(name, unit, field, least, most, text)                                                                    \
    {                                                                                                                  \
        "gpu." name, unit, AT(gpu.field), least, most, LM_OPTIONAL, text                                               \
    }
#define BARRIER(warps, k)                                                                                              \
    {                                                                                                                  \
        "gpu.barrier." warps, "cycle", AT(gpu.barrier[k]), 1.0, CYCLES, LM_FOR_GPU,                                    \
            "barrier of a block, warps: " warps                                                                        \
    }

const struct lm_machine_value lm_machine_table[] = {
    {"cpu.cores", "count", AT(cpu.cores), 1.0, 1e6, LM_FOR_CPU, "cores a rank may use"},
    CPU_WAY("ref", LM_CPU_REF, LM_FOR_CPU),
    CPU_WAY("portable", LM_CPU_PORTABLE, LM_OPTIONAL),
    CPU_WAY("avx2", LM_CPU_AVX2, LM_OPTIONAL),
    CPU_WAY("avx512", LM_CPU_AVX512, LM_OPTIONAL),
    {"cpu.train.all", "ratio", AT(cpu.train_all), 0.01, 1e6, LM_FOR_CPU, "all cores over one, training"},
    {"cpu.infer.all", "ratio", AT(cpu.infer_all), 0.01, 1e6, LM_FOR_CPU, "all cores over one, scoring"},
    {"cpu.training", "s", AT(cpu.training), 0.0, SECONDS, LM_FOR_CPU, "once a training"},
    {"cpu.call", "s", AT(cpu.call), 0.0, SECONDS, LM_FOR_CPU, "once a batch"},
    {"cpu.thread", "s", AT(cpu.thread), 0.0, SECONDS, LM_OPTIONAL, "a thread, started and waited for"},
    {"cpu.thread.more", "s", AT(cpu.thread_more), 0.0, SECONDS, LM_OPTIONAL, "each thread more"},
    {"cpu.memory", "byte/s", AT(cpu.memory), 1.0, RATE, LM_FOR_CPU, "memory, one core, read + written"},
    {"cpu.memory.all", "byte/s", AT(cpu.memory_all), 1.0, RATE, LM_FOR_CPU, "memory, all cores, read + written"},
    {"cpu.stream", "byte/s", AT(cpu.stream), 1.0, RATE, LM_FOR_CPU, "large batches besides, one core"},
    {"cpu.timer", "s", AT(cpu.timer), 0.0, SECONDS, LM_FOR_CPU, "reading the clock"},
    {"job.start", "s", AT(job.start), 0.0, SECONDS, LM_FOR_CPU, "MPI and options"},
    {"job.results", "s", AT(job.results), 0.0, SECONDS, LM_OPTIONAL, "a results file of one trial"},
    {"job.row", "s", AT(job.row), 0.0, SECONDS, LM_OPTIONAL, "each trial more in it, with its losses"},
    COPY("job.gather", job.gather, LM_OPTIONAL, "rank to rank"),
    COPY("job.file", job.file, LM_FOR_CPU, "file, flushed to disk"),
    GPU("multiprocessors", "count", multiprocessors, 1.0, 1e5, "multiprocessors"),
    GPU("clock", "Hz", clock, 1e6, 1e11, "clock"),
    GPU("warp", "count", warp, 1.0, 1024.0, "lanes of a warp"),
    GPU("schedulers", "count", schedulers, 1.0, 64.0, "schedulers a multiprocessor"),
    GPU("registers", "count", registers, 1.0, 1e9, "registers a multiprocessor"),
    GPU("threads", "count", threads, 1.0, 1e6, "threads resident on a multiprocessor"),
    GPU("blocks", "count", blocks, 1.0, 1e5, "blocks resident on a multiprocessor"),
    GPU("shared", "byte", shared, 1.0, 1e12, "shared memory a multiprocessor"),
    GPU("block_shared", "byte", block_shared, 1.0, 1e12, "shared memory a block"),
    GPU("banks", "count", banks, 1.0, 1024.0, "banks of shared memory"),
    GPU("constant", "byte", constant, 1.0, 1e12, "constant memory"),
    GPU("memory", "byte", memory, 1.0, 1e16, "global memory"),
    GPU("bandwidth", "byte/s", bandwidth, 1.0, RATE, "global memory"),
    GPU("l2", "byte", l2, 1.0, 1e12, "L2 cache"),
    GPU("l2_bandwidth", "byte/s", l2_bandwidth, 1.0, RATE, "L2 cache"),
    GPU("latency.global", "cycle", latency_global, 1.0, CYCLES, "load from global memory"),
    GPU("latency.l2", "cycle", latency_l2, 1.0, CYCLES, "load from L2"),
    GPU("latency.shared", "cycle", latency_shared, 1.0, CYCLES, "load from shared memory"),
    GPU("latency.constant", "cycle", latency_constant, 1.0, CYCLES, "load from constant memory"),
    GPU("latency.operation", "cycle", latency_operation, 1.0, CYCLES, "dependent multiply-add"),
    BARRIER("1", 0),
    BARRIER("2", 1),
    BARRIER("4", 2),
    BARRIER("8", 3),
    BARRIER("16", 4),
    BARRIER("32", 5),
    GPU("launch", "s", launch, 1e-12, SECONDS, "launch, back to back"),
    GPU("launch_wait", "s", launch_wait, 1e-12, SECONDS, "launch and wait"),
    LATER("kernel", "s", kernel, 0.0, SECONDS, "an empty kernel behind another"),
    LATER("division", "s", division, 0.0, SECONDS, "longer, if shared memory is divided anew"),
    LATER("behind", "s", behind, 0.0, SECONDS, "a copy out behind a kernel, longer"),
    GPU("allocation", "s", allocation, 1e-12, SECONDS, "allocation and free, nothing else allocated"),
    LATER("allocation.more", "s", allocation_more, 0.0, SECONDS, "allocation and free, something else allocated"),
    GPU("staging", "byte/s", staging, 1.0, RATE, "host to pinned memory, by the host: 0.5 MB"),
    LATER("staging.cache", "byte/s", staging_cache, 1.0, RATE, "the same: 4 MB"),
    LATER("staging.far", "byte/s", staging_far, 1.0, RATE, "the same: 256 MB"),
    LATER("staging.out", "byte/s", staging_out, 1.0, RATE, "from pinned memory that the GPU wrote"),
    {"gpu.context", "s", AT(gpu.context), 0.0, SECONDS, LM_OPTIONAL, "first call of a process"},
    COPY("gpu.in.pinned", gpu.in_pinned, LM_FOR_GPU, "copy in, pinned"),
    COPY("gpu.in.pageable", gpu.in_pageable, LM_FOR_GPU, "copy in, pageable"),
    LATER("in.pageable.far", "byte/s", in_far, 1.0, RATE, "copy in, pageable, 256 MB: rate"),
    COPY("gpu.out.pinned", gpu.out_pinned, LM_FOR_GPU, "copy out, pinned"),
    COPY("gpu.out.pageable", gpu.out_pageable, LM_FOR_GPU, "copy out, pageable"),
    LATER("out.pageable.far", "byte/s", out_far, 1.0, RATE, "copy out, pageable, 256 MB: rate"),
    GPU("step.whole", "s", step_whole, 1e-12, SECONDS, "a step by a block of 128 threads"),
    LATER("step.small", "s", step_small, 1e-12, SECONDS, "the same, 64-24-12-15"),
    LATER("step.wide", "s", step_wide, 1e-12, SECONDS, "the same, 64-96-48-15"),
    GPU("step.fast", "s", step_fast, 1e-12, SECONDS, "a step by one warp alone"),
    GPU("step.fast.full", "s", step_fast_full, 1e-12, SECONDS, "a step by each warp, all at work"),
    LATER("training.fast", "s", training_fast, 0.0, SECONDS, "once a training of one replica by gpu:fast"),
    LATER("replica", "s", replica, 0.0, SECONDS, "each replica more, begun and ended"),
    {"model.error", "ratio", AT(error), 0.0, 10.0, LM_OPTIONAL, "the model's relative error"},
};
const size_t lm_machine_values = sizeof lm_machine_table / sizeof *lm_machine_table;

double lm_machine_value_of(const struct lm_machine *machine, const struct lm_machine_value *parameter)
{
    return *(const double *)((const char *)machine + parameter->offset);
}

void lm_machine_value_set(struct lm_machine *machine, const struct lm_machine_value *parameter, double value)
{
    *(double *)((char *)machine + parameter->offset) = value;
}
