/* model_machine.h: a machine as the performance model sees it: its parameters, and the text file that keeps them.
 *
 * Everything is in SI units (s, bytes, operations and bytes a second) or in cycles of the GPU's clock. `libras_mpi
 * calibrate` measures it; a file may also be written by hand, for a machine that is not at hand. 0: not known.
 */
#ifndef LM_MODEL_MACHINE_H
#define LM_MODEL_MACHINE_H

#include <stddef.h>
#include <stdio.h>

#include "status.h"

/* The CPU's ways: the backends' names without "cpu:". */
enum lm_cpu_way { LM_CPU_REF, LM_CPU_PORTABLE, LM_CPU_AVX2, LM_CPU_AVX512, LM_CPU_WAYS };

/* A copy of n bytes takes fixed + n / rate. */
struct lm_copy_cost {
    double fixed; /* s; measured: two sizes */
    double rate;  /* bytes/s */
};

/* For whom the parameters were measured. Text, compared as it is. "": none. */
struct lm_machine_key {
    char gpu[48];    /* UUID; "" without a GPU */
    char driver[48]; /* of the GPU */
    char cpu[96];    /* the processor's model name */
    char build[64];  /* version and commit of the program */
};

#define LM_BARRIERS 6 /* of 1, 2, 4, ... 32 warps */

struct lm_machine {
    struct lm_machine_key key;

    /* The CPU: elementary operations (S_cpu) are those that cost.h counts. */
    struct {
        double cores;              /* that a rank may use */
        double train[LM_CPU_WAYS]; /* FLOP/s of one core, training; measured: a short training by that backend */
        double infer[LM_CPU_WAYS]; /* FLOP/s of one core, scoring a batch from memory */
        /* Shapes that no code is made for, training: 64-24-12-15 and 64-96-48-15 (LM_SMALL_SHAPE, LM_WIDE_SHAPE). */
        double train_small[LM_CPU_WAYS], train_wide[LM_CPU_WAYS];
        double train_all;          /* all cores over one core, the fastest way: speed-up of many trainings at once */
        double infer_all;          /* the same, scoring a large batch */
        double training;           /* s: once a training (weights, order, memory) */
        double call;               /* s: once a batch, of the SIMD ways */
        double thread;             /* s: a thread started and waited for */
        double thread_more;        /* s: each one more */
        double memory, memory_all; /* bytes/s read and written by a copy: one core, all */
        double stream;             /* bytes/s: what samples and scores beyond a core's caches cost besides, one core */
        double timer;              /* s: reading the clock */
    } cpu;

    /* Around the work. */
    struct {
        double start;        /* s: MPI and options */
        double results, row; /* s: a results file of one trial; each trial more, beside its bytes; 0: not known */
        struct lm_copy_cost gather; /* from one rank to another; 0: one rank measured it, so not known */
        struct lm_copy_cost file;   /* written and flushed to disk */
    } job;

    /* The abstract multiprocessor, the abstract GPU and the link. multiprocessors 0: no GPU. */
    struct {
        double multiprocessors;      /* m */
        double clock;                /* f, Hz */
        double warp, schedulers;     /* lanes a warp; instructions of different warps started in a cycle */
        double registers;            /* 32-bit, a multiprocessor */
        double threads, blocks;      /* most resident on a multiprocessor */
        double shared;               /* M_s, bytes a multiprocessor */
        double block_shared;         /* bytes that one block can have */
        double banks;                /* of shared memory, 4 bytes wide */
        double constant;             /* M_c, bytes */
        double memory, bandwidth;    /* M_g, bytes; bytes/s */
        double l2, l2_bandwidth;     /* bytes; bytes/s */
        double latency_global;       /* L_g, cycles: a load that misses L2 */
        double latency_l2;           /* cycles: a load that hits it */
        double latency_shared;       /* L_s, cycles */
        double latency_constant;     /* L_c, cycles */
        double latency_operation;    /* cycles from a multiply-add to one that needs its result */
        double barrier[LM_BARRIERS]; /* cycles of a block's barrier, by its warps */
        double launch;               /* l, s: back to back */
        double launch_wait;          /* s: a launch and the wait for its end, an empty kernel */
        double kernel;               /* s: an empty kernel behind another, by the device's clock */
        double division;             /* s longer, if its blocks need another part of L1 as shared memory */
        double behind;               /* s: that a copy out takes longer if a kernel has just been launched */
        double staging;              /* bytes/s: the host into pinned memory, 0.5 MB again and again; */
        double staging_cache;        /* 4 MB: from beyond a core's own cache; */
        double staging_far;          /* 256 MB: from memory; LM_NEAR_BYTES and so on */
        double staging_out;          /* bytes/s: the host from pinned memory that the device has just written */
        double allocation;           /* s: cudaMalloc and cudaFree, where nothing else is allocated */
        double allocation_more;      /* s: where something is */
        double context;              /* s: the first call of a process */
        struct lm_copy_cost in_pinned, in_pageable, out_pinned, out_pageable; /* pageable: 4 MB again and again */
        double in_far, out_far; /* bytes/s: pageable, 256 MB, part by part */
        double step_whole;      /* s: a training step of 64-32-16-15 by one block of 128 threads (gpu:whole) */
        double step_small;      /* s: of 64-24-12-15 and */
        double step_wide;       /* s: of 64-96-48-15 by the same, for which no code is made */
        double step_fast;       /* s: by one warp alone (gpu:fast) */
        double step_fast_full;  /* s: by each warp when all are at work */
        double training_fast;   /* s: once a call of gpu:fast that trains one replica */
        double replica;         /* s: each replica more, begun and ended */
    } gpu;

    double error; /* the model's own relative error, the margin of a decision */
};

/* Shapes other than the lab's that are measured, and interpolated between. */
#define LM_SMALL_SHAPE ((struct lm_shape){24, 12})
#define LM_WIDE_SHAPE  ((struct lm_shape){96, 48})
/* Sizes of memory whose copies are measured: the smaller the memory, the nearer it stays. */
#define LM_NEAR_BYTES  524288.0
#define LM_CACHE_BYTES 4194304.0
#define LM_FAR_BYTES   268435456.0

/* An empty machine: all 0, error 0.2. */
void lm_machine_clear(struct lm_machine *machine);
int lm_machine_has_gpu(const struct lm_machine *machine);

/* The numbers as a table, for the file, for a report and for a test. */
struct lm_machine_value {
    const char *name; /* "gpu.launch" */
    const char *unit; /* "s", "byte/s", "FLOP/s", "cycle", "count", "byte", "Hz", "ratio" */
    size_t offset;    /* of a double in struct lm_machine */
    double least, most;
    enum { LM_FOR_CPU, LM_FOR_GPU, LM_OPTIONAL } need; /* must be in a file; in one of a machine with a GPU; may be */
    const char *what;                                  /* one line */
};
extern const struct lm_machine_value lm_machine_table[];
extern const size_t lm_machine_values;
double lm_machine_value_of(const struct lm_machine *machine, const struct lm_machine_value *parameter);
void lm_machine_value_set(struct lm_machine *machine, const struct lm_machine_value *parameter, double value);

/* The file: "libras-machine 1", then a line `key value unit` each; text has the unit `text` and may hold blanks; #
 * begins a comment line; blank lines count for nothing. Numbers that are 0 are left out. */
#define LM_MACHINE_MAGIC "libras-machine 1"
/* text (n bytes) of a file called name. LM_BAD_INPUT, with name and line: no such file; a key that is unknown (the
 * nearest is named), twice, or missing; another unit; a number that is none or out of range. */
int lm_machine_parse(const char *name, const char *text, size_t n, struct lm_machine *out, struct lm_error *err);
int lm_machine_read(const char *path, struct lm_machine *out, struct lm_error *err);
/* To an open file; 0 if a write failed. */
int lm_machine_print(const struct lm_machine *machine, FILE *f);
/* Under a name of its own beside path, then renamed: never half a file. An older one is replaced. LM_FAILED,
 * also for a number out of its range, which would not be read again. */
int lm_machine_write(const struct lm_machine *machine, const char *path, struct lm_error *err);

/* LM_OK if `key` is whom the parameters are of; else LM_BAD_INPUT with what differs: they are not used. A machine that
 * was calibrated without its GPU serves one with a GPU only if may_lack_gpu. */
int lm_machine_check(const struct lm_machine *machine, const struct lm_machine_key *key, int may_lack_gpu,
                     const char *name, struct lm_error *err);

/* This host's processor: its model name, "unknown" where the system does not say. */
void lm_machine_cpu_name(char *text, size_t size);

#endif
