/* bench.h: `libras_mpi bench`: what is measured of each variant, and its table. */
#ifndef LM_BENCH_H
#define LM_BENCH_H

#include "backend.h"
#include "command.h"
#include "gpu.h"

#define LM_BENCH_MOST_REPEATS  100
#define LM_BENCH_MOST_VARIANTS 64

/* Times of one thing, in seconds, sorted. */
struct lm_bench_times {
    double second[LM_BENCH_MOST_REPEATS];
    int n;
};
double lm_bench_median(const struct lm_bench_times *times);

struct lm_bench_variant {
    const struct lm_backend *backend;
    void *session;
    struct lm_trial trial; /* with as many epochs as are measured */
    struct lm_training_result result;
    float *scores; /* (test samples, 15) */
    struct lm_bench_times train, infer;
    uint64_t wrong_words; /* parameters, losses and scores that are not cpu-ref's, over all repeats */
    uint64_t compared_words;
    int status; /* of its training: LM_TRIAL_OK, or it could not be measured: see reason */
    char reason[200];
    struct lm_gpu_counters train_calls, infer_calls; /* of one training, one batch; on a GPU */
};

struct lm_bench {
    const struct lm_call *call;
    const struct lm_problem *problem;
    uint32_t epochs; /* what all times are stated for */
    int n;
    struct lm_bench_variant variant[LM_BENCH_MOST_VARIANTS];
};

/* All of it on stdout, as text or JSON, with the figure of merit last. */
void lm_bench_report(const struct lm_bench *bench);
/* VALID if every variant that ran gave cpu-ref's bits, and one did. */
int lm_bench_valid(const struct lm_bench *bench);

#endif
