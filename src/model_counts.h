/* model_counts.h: what each way of doing the work asks of the machine, at size N, term by term.
 *
 * Three kinds of counts, all derived from the sources (model_counts.c and model_kernels.c say where each term comes
 * from), none measured:
 *   calls     copies, launches, allocations and bytes of a whole training or of a scored batch
 *   kernels   of one launch: the abstract multiprocessor's counts (W_M, R_M, K_c, R_s) and those that a refined time
 *             needs (instructions, wavefronts, dependent latencies)
 *   stages    of one training step by one block: six stages with a barrier behind each
 * What the work is as such, the sequential W_S, is cost.h's.
 */
#ifndef LM_MODEL_COUNTS_H
#define LM_MODEL_COUNTS_H

#include "cost.h"

/* The GPU's ways to train and to score: the backends' names in gpu_backends.h. The lab's are those of the lab's own
 * first programs, which count differently from ours of that name. */
enum lm_train_way {
    LM_TRAIN_NAIVE,
    LM_TRAIN_RESIDENT,
    LM_TRAIN_BATCH,
    LM_TRAIN_WHOLE,
    LM_TRAIN_FAST,
    LM_TRAIN_LAB_NAIVE,
    LM_TRAIN_LAB_RESIDENT,
    LM_TRAIN_WAYS
};
enum lm_score_way {
    LM_SCORE_NAIVE,
    LM_SCORE_RESIDENT,
    LM_SCORE_GLOBAL,
    LM_SCORE_SHARED,
    LM_SCORE_FUSED,
    LM_SCORE_QUICK, /* gpu:fast, small batches: one kernel on memory of the host (cuda/quick.h) */
    LM_SCORE_PIPE,  /* gpu:fast: chunks in, scored and out at the same time (cuda/pipe.h) */
    LM_SCORE_WAYS
};
#define LM_QUICK_SAMPLES_MOST 16384.0                 /* cuda/quick.h, LM_QUICK_MOST */
const char *lm_train_way_name(enum lm_train_way way); /* "gpu:naive" */
const char *lm_score_way_name(enum lm_score_way way); /* "gpu:naive+global" has "global" */

/* ---- calls ---- */

struct lm_calls {
    double allocations, frees, copies_in, copies_out, launches, waits;
    double bytes_in, bytes_out;
    double openings; /* of allocations: those of a session that has no other memory at that moment. CUDA takes small
                        ones from a chunk that it gets with the first and gives back with the last of them */
    double clears;   /* memory set to 0: a launch of the driver's own, which the session's counters do not count */
    double behind;   /* of copies_out: those that are asked for as soon as a kernel is launched, and wait for it */
};

struct lm_training_work {
    struct lm_shape shape;
    double samples, epochs, replicas;
    double block;        /* threads of the block that trains one (batch, whole) */
    double step_seconds; /* whole: what a step takes; it splits launches that would be longer than a second. 0: short */
    double turn;         /* fast: replicas that all warps hold at once (12 a multiprocessor) */
    int first; /* 1: of a session that has not trained yet: what lm_calls_first says is added by predictions */
};

/* Of a session that has trained before: its buffers are allocated, its samples are on the device. */
struct lm_calls lm_calls_train(enum lm_train_way way, const struct lm_training_work *work);
/* What the first training of a session asks for besides. */
struct lm_calls lm_calls_first(enum lm_train_way way, const struct lm_training_work *work);
/* A batch of n samples, from the host's memory to the host's memory; buffers are allocated. */
struct lm_calls lm_calls_score(enum lm_score_way way, struct lm_shape shape, double n);
/* Samples that are on the device at once: a part of a batch; of pipe, a chunk of memory that is not pinned. */
double lm_score_part(enum lm_score_way way, double n);
/* Bytes of the device's memory. */
double lm_memory_train(enum lm_train_way way, const struct lm_training_work *work);
double lm_memory_score(enum lm_score_way way, struct lm_shape shape, double n);

/* A network on the device (cuda/layout.h): floats of layer l, and of all: 3,136 for 64-32-16-15. */
double lm_padded_layer(struct lm_shape shape, int l);
double lm_padded_network(struct lm_shape shape);
/* Multiply-adds of one sample forward where outputs are padded to whole groups of `width`, and inputs of four. */
double lm_padded_products(struct lm_shape shape, double width);

/* ---- kernels ---- */

struct lm_kernel {
    const char *name;
    double launches; /* of this kernel in a row: the same counts each */
    double threads;  /* p, of a block */
    double blocks;   /* G */

    /* The abstract multiprocessor, of one block: operations of all its threads (a multiply-add is one), references to
     * global memory, to constant memory and to shared memory (a load of 16 bytes is one). */
    double operations, global, constant, shared;

    /* Refined, of one block: instructions of all its warps, idle lanes included (D); wavefronts of shared memory and
     * the L1 cache (C: bank conflicts included). */
    double instructions, wavefronts;
    double useful;       /* multiply-adds of the definition in one block: instructions x 32 over it is D */
    double memory_bytes; /* of all blocks: that must come from and go to global memory */
    double cache_bytes;  /* of all blocks: asked of L2 */
    /* The longest chain of one warp: dependent operations, loads from shared memory or L1, loads from global memory;
     * and barriers. */
    double chain_operations, chain_shared, chain_global, barriers;
    double chain_cold; /* of chain_shared: loads of weights that have just been copied in. The first block of a
                          multiprocessor waits for memory, not for L1 */
    /* What phases (model_phases.h) tell apart besides. In the chain: loads that find L2, and of constants. Of one
     * block: its warps' loads of constants, and the bytes of constants that they go round and round in. */
    double chain_l2, chain_constant, constant_loads, constant_bytes;
    double registers, shared_bytes; /* of a thread, of a block: what limits residency */
};

#define LM_MOST_KERNELS 8
/* The kernels of one sample's step (naive, resident): n launches that differ. Returns how many. */
int lm_kernels_step(struct lm_shape shape, double block, struct lm_kernel kernel[LM_MOST_KERNELS]);
/* The kernels that score a part of n samples; multiprocessors: pipe's grid is no larger. */
int lm_kernels_score(enum lm_score_way way, struct lm_shape shape, double n, double multiprocessors,
                     struct lm_kernel kernel[LM_MOST_KERNELS]);

/* metrics_kernel.cuh: loss and hits of so many networks of the lab's shape on n samples each, in one launch, a block a
 * network. */
struct lm_kernel lm_kernel_metrics(double networks, double n);

/* ---- the stages of a step by one block (cuda/train_kernel.cuh) ---- */

#define LM_STAGES 6
struct lm_stage {
    double chain_operations, chain_shared; /* of the busiest warp, dependent */
    double instructions;                   /* of all warps */
    double wavefronts;
};
void lm_stages_of_step(struct lm_shape shape, double block, struct lm_stage stage[LM_STAGES]);

#endif
