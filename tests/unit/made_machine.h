/* made_machine.h: a machine for tests of the model: round numbers near those of an NVIDIA H200 and a Xeon core, as
 * measured (README.md, tests/gpu, tests/perf) where they were, made up where they were not (latencies, barriers, L2).
 */
#ifndef TEST_MADE_MACHINE_H
#define TEST_MADE_MACHINE_H

#include "model_machine.h"

static inline struct lm_machine made_machine(void)
{
    struct lm_machine m;
    lm_machine_clear(&m);
    m.key = (struct lm_machine_key){"GPU-made", "580.1", "Made CPU @ 3 GHz", "0.1.0 abc"};
    m.cpu.cores = 16.0;
    m.cpu.train[LM_CPU_REF] = 3.0e9;
    m.cpu.train[LM_CPU_PORTABLE] = 0.9e9;
    m.cpu.train[LM_CPU_AVX2] = 57e9;
    m.cpu.train[LM_CPU_AVX512] = 73e9;
    m.cpu.infer[LM_CPU_REF] = 2.4e9;
    m.cpu.infer[LM_CPU_PORTABLE] = 1.1e9;
    m.cpu.infer[LM_CPU_AVX2] = 63e9;
    m.cpu.infer[LM_CPU_AVX512] = 89e9;
    m.cpu.train_all = m.cpu.infer_all = 16.0;
    m.cpu.training = 50e-6;
    m.cpu.call = 1e-6;
    m.cpu.memory = 10e9;
    m.cpu.memory_all = 80e9;
    m.cpu.stream = 20e9;
    m.cpu.timer = 25e-9;
    m.job.start = 0.25;
    m.job.gather = (struct lm_copy_cost){5e-6, 5e9};
    m.job.file = (struct lm_copy_cost){10e-3, 500e6};
    m.gpu.multiprocessors = 132;
    m.gpu.clock = 1.98e9;
    m.gpu.warp = 32;
    m.gpu.schedulers = 4;
    m.gpu.registers = 65536;
    m.gpu.threads = 2048;
    m.gpu.blocks = 32;
    m.gpu.shared = 233472;
    m.gpu.block_shared = 232448;
    m.gpu.banks = 32;
    m.gpu.constant = 65536;
    m.gpu.memory = 150e9;
    m.gpu.bandwidth = 4.8e12;
    m.gpu.l2 = 60e6;
    m.gpu.l2_bandwidth = 7e12;
    m.gpu.latency_global = 600;
    m.gpu.latency_l2 = 270;
    m.gpu.latency_shared = 29;
    m.gpu.latency_constant = 40;
    m.gpu.latency_operation = 4;
    static const double barrier[LM_BARRIERS] = {12, 16, 22, 30, 45, 75};
    for (int k = 0; k < LM_BARRIERS; k++)
        m.gpu.barrier[k] = barrier[k];
    m.gpu.launch = 3.7e-6;
    m.gpu.launch_wait = 9e-6;
    m.gpu.allocation = 4e-6;
    m.gpu.staging = 20e9;
    m.gpu.context = 0.3;
    m.gpu.in_pinned = (struct lm_copy_cost){7.5e-6, 53.6e9};
    m.gpu.in_pageable = (struct lm_copy_cost){8e-6, 8e9};
    m.gpu.out_pinned = (struct lm_copy_cost){7.5e-6, 54.8e9};
    m.gpu.out_pageable = (struct lm_copy_cost){8e-6, 8e9};
    m.gpu.step_whole = 1.244e-6;
    m.gpu.step_fast = 0.43e-6;
    m.gpu.step_fast_full = 0.8e-6;
    return m;
}

#endif
