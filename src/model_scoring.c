/* model_scoring.c: see model_scoring.h. */
#include "model_scoring.h"

#include <string.h>

#include "model_predict.h"
#include "model_round.h"

#define NETWORKS_AT_ONCE 1024.0 /* cuda/fast.h, LM_NETWORKS_AT_ONCE */
#define NETWORK_BYTES    11452.0
#define SUMS_BYTES       12.0 /* a loss and the hits, which come back */

/* How a backend that trains this way scores a batch: cuda/backend.c. */
static const char *scorer_of(enum lm_train_way way)
{
    return way == LM_TRAIN_NAIVE ? "gpu:naive" : way == LM_TRAIN_RESIDENT ? "gpu:resident" : "gpu:whole+global";
}

static double one_network(const struct lm_machine *machine, enum lm_train_way way, struct lm_shape shape, double test)
{
    struct lm_prediction p[LM_PREDICTIONS];
    int n = lm_predict_score(machine, shape, test, 0, p);
    for (int k = 0; k < n; k++)
        if (strcmp(p[k].device, scorer_of(way)) == 0)
            return p[k].seconds;
    return 0.0;
}

/* So many networks at a time: the host packs them into pinned memory, copies, launches and waits, copies back; before
 * the first the samples are brought. Packing is counted as one core's: on a rank of several cores it takes less. */
static double all_together(const struct lm_machine *machine, double networks, double test)
{
    if (networks <= 0.0)
        return 0.0;
    double calls = lm_up(networks / NETWORKS_AT_ONCE), full = lm_down(networks / NETWORKS_AT_ONCE);
    const struct lm_kernel whole = lm_kernel_metrics(NETWORKS_AT_ONCE, test);
    const struct lm_kernel rest = lm_kernel_metrics(networks - full * NETWORKS_AT_ONCE, test);
    double kernels = full * lm_time_kernel(machine, &whole).seconds + lm_time_kernel(machine, &rest).seconds;
    return lm_time_copies(machine->gpu.in_pageable, 2.0, test * (4.0 * LM_PIXELS + 1.0)) +
           lm_time_staging_in(machine, networks * NETWORK_BYTES) +
           lm_time_copies(machine->gpu.in_pinned, calls, networks * NETWORK_BYTES) + kernels +
           calls * machine->gpu.launch_wait +
           lm_time_copies(machine->gpu.out_pinned, 2.0 * calls, networks * SUMS_BYTES);
}

double lm_time_scoring(const struct lm_machine *machine, enum lm_train_way way, const struct lm_training_work *work,
                       size_t n, double test, double ranks)
{
    double together = 0.0, sum = 0.0;
    if (test <= 0.0)
        return 0.0;
    for (size_t k = 0; k < n; k++)
        if (way == LM_TRAIN_FAST && work[k].shape.hidden1 == 32 && work[k].shape.hidden2 == 16)
            together += work[k].replicas;
        else
            sum += lm_up(work[k].replicas / ranks) * one_network(machine, way, work[k].shape, test);
    return sum + all_together(machine, lm_up(together / ranks), test);
}
