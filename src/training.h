/* training.h: the course of one training, the same for every CPU backend: order, epochs, divergence, decay.
 *
 * A backend supplies only `epoch`, one pass over the samples. Two generators, both mt19937(trial.seed): one makes each
 * layer's weights (network.h), the other first makes the letters' shuffles of the lab's split and drops them, then
 * shuffles the training order before each epoch, cumulatively. So seed 1337 is the lab, exactly.
 */
#ifndef LM_TRAINING_H
#define LM_TRAINING_H

#include "backend.h"
#include "random.h"

/* The sample order of a trial, epoch by epoch. */
struct lm_order {
    struct lm_mt19937 generator;
    size_t n;
    uint32_t *index; /* owned, (n): a permutation of 0 ... n-1 */
};

/* Seeds the generator, makes and drops the letters' shuffles of count[], and sets index to 0, 1, ..., n-1. */
int lm_order_begin(struct lm_order *order, uint32_t seed, const uint64_t count[LM_CLASSES], size_t n,
                   struct lm_error *err);
/* The order of the next epoch: the last one's, shuffled again. */
void lm_order_next(struct lm_order *order);
void lm_order_end(struct lm_order *order);

/* One pass over n samples in the order index[0..n): trains parameters in place with this rate, and returns the sum of
 * the losses in double, in that order. state is the backend's working memory for the shape. */
typedef double (*lm_epoch_part)(void *state, float rate, const struct lm_samples *samples, const uint32_t *index,
                                size_t n, double loss_sum);

struct lm_cpu_kernels {
    /* Working memory for a shape; NULL when there is none. */
    void *(*begin)(struct lm_shape shape);
    void (*end)(void *state);
    /* The parameters as network.h lays them out, into and out of the backend's own layout. */
    void (*put)(void *state, const float *parameters);
    void (*get)(const void *state, float *parameters);
    /* Trains on samples index[0..n), continuing the epoch's sum of losses; called with a few hundred samples at a time
     * so that the program is heard in between. */
    lm_epoch_part train;
    /* scores (n, 15) of x (n, 64). */
    void (*infer)(void *state, const float *x, size_t n, float *scores);
};

/* Trains one trial to its end. Returns LM_OK (also for a trial that diverged), LM_STOPPED, or LM_FAILED. */
int lm_train_one(const struct lm_cpu_kernels *kernels, const struct lm_problem *problem, const struct lm_trial *trial,
                 struct lm_training_result *result, struct lm_tick tick, struct lm_error *err);

/* For every backend, so that all tell a training's course in the same words.
 * Before the first epoch that is trained: `begun` are done (0, where a backend starts anew), and it has failed unless
 * something better becomes of it. */
void lm_training_begin(const struct lm_trial *trial, uint32_t begun, struct lm_training_result *result);
/* The loss of this epoch (0, 1, ...) is not finite. */
void lm_training_diverged(struct lm_training_result *result, uint32_t epoch);
/* The end of a training whose losses were all finite: ok, or diverged if a parameter is not finite (the last steps may
 * have overflowed after their loss was taken). */
void lm_training_finished(const struct lm_trial *trial, struct lm_training_result *result);

#endif
