/* training.c: the course of one training (training.h). The arithmetic is the backend's; what stands here is the order
 * of the samples, the sum of an epoch's losses, the end by divergence, and the decay of the rate. */
#include "training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Samples between two looks at the outside: below a millisecond for the slowest backend with fused multiply-add. */
#define SAMPLES_A_TICK 256

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The split's shuffles, whose results are dropped: only the generator's state matters. */
static int drop_letter_shuffles(struct lm_mt19937 *generator, const uint64_t count[LM_CLASSES], struct lm_error *err)
{
    uint64_t largest = 0;
    for (int c = 0; c < LM_CLASSES; c++)
        largest = count[c] > largest ? count[c] : largest;
    uint32_t *scratch = calloc(largest ? largest : 1, sizeof *scratch);
    if (!scratch)
        return lm_fail_memory(err, largest * sizeof *scratch, "the letters' shuffles");
    for (int c = 0; c < LM_CLASSES; c++)
        lm_shuffle(generator, scratch, count[c]);
    free(scratch);
    return LM_OK;
}

int lm_order_begin(struct lm_order *order, uint32_t seed, const uint64_t count[LM_CLASSES], size_t n,
                   struct lm_error *err)
{
    order->n = n;
    order->index = malloc((n ? n : 1) * sizeof *order->index);
    if (!order->index)
        return lm_fail_memory(err, n * sizeof *order->index, "the order of the samples");
    lm_mt19937_seed(&order->generator, seed);
    int code = drop_letter_shuffles(&order->generator, count, err);
    if (code != LM_OK) {
        lm_order_end(order);
        return code;
    }
    for (size_t k = 0; k < n; k++)
        order->index[k] = (uint32_t)k;
    return LM_OK;
}

void lm_order_next(struct lm_order *order)
{
    lm_shuffle(&order->generator, order->index, order->n);
}

void lm_order_end(struct lm_order *order)
{
    free(order->index);
    order->index = NULL;
}

/* One epoch in small parts. *stop is set when the tick asks for an end. */
static double train_epoch(const struct lm_cpu_kernels *kernels, void *state, float rate,
                          const struct lm_samples *samples, const struct lm_order *order, struct lm_tick tick,
                          int *stop)
{
    double sum = 0.0;
    for (size_t first = 0; first < order->n && !*stop; first += SAMPLES_A_TICK) {
        size_t n = order->n - first < SAMPLES_A_TICK ? order->n - first : SAMPLES_A_TICK;
        sum = kernels->train(state, rate, samples, order->index + first, n, sum);
        if (tick.call)
            *stop = tick.call(tick.context);
    }
    return sum;
}

void lm_training_begin(const struct lm_trial *trial, uint32_t begun, struct lm_training_result *result)
{
    result->begun = begun;
    result->status = LM_TRIAL_FAILED;
    result->epochs_run = begun;
    result->reason[0] = '\0';
    for (uint32_t epoch = begun; epoch < trial->epochs; epoch++)
        result->loss[epoch] = NAN;
}

void lm_training_diverged(struct lm_training_result *result, uint32_t epoch)
{
    result->status = LM_TRIAL_DIVERGED;
    snprintf(result->reason, sizeof result->reason, "the loss of epoch %u is not finite", epoch + 1);
}

void lm_training_finished(const struct lm_trial *trial, struct lm_training_result *result)
{
    size_t n = lm_network_floats(trial->shape);
    result->status = LM_TRIAL_OK;
    for (size_t k = 0; k < n; k++)
        if (!isfinite(result->parameters[k])) {
            result->status = LM_TRIAL_DIVERGED;
            snprintf(result->reason, sizeof result->reason, "the weights after the last epoch are not finite");
            return;
        }
}

/* The reader may still have the last one: then the next epoch tries again. */
static void leave_snapshot(const struct lm_cpu_kernels *kernels, const void *state, uint32_t epochs,
                           struct lm_snapshot *snapshot)
{
    double t = now();
    if (t < snapshot->due || __atomic_load_n(&snapshot->full, __ATOMIC_ACQUIRE))
        return;
    kernels->get(state, snapshot->parameters);
    snapshot->epochs = epochs;
    snapshot->due = t + snapshot->every;
    __atomic_store_n(&snapshot->full, 1, __ATOMIC_RELEASE);
}

/* What the epochs that are done have left in the order and the rate. */
static float pass_over(const struct lm_trial *trial, uint32_t begun, struct lm_order *order)
{
    float rate = trial->learning_rate;
    for (uint32_t epoch = 0; epoch < begun; epoch++) {
        lm_order_next(order);
        rate = rate * trial->decay;
    }
    return rate;
}

static int train_epochs(const struct lm_cpu_kernels *kernels, void *state, const struct lm_problem *problem,
                        const struct lm_trial *trial, struct lm_order *order, struct lm_training_result *result,
                        struct lm_tick tick, struct lm_error *err)
{
    float rate = pass_over(trial, result->begun, order);
    int stop = 0;
    for (uint32_t epoch = result->begun; epoch < trial->epochs; epoch++) {
        lm_order_next(order);
        double sum = train_epoch(kernels, state, rate, &problem->train, order, tick, &stop);
        if (stop)
            return lm_fail(err, LM_STOPPED, "stopped in epoch %u of %u", epoch + 1, trial->epochs);
        double loss = sum / (double)order->n;
        if (!isfinite(loss)) {
            lm_training_diverged(result, epoch);
            return LM_OK;
        }
        result->loss[epoch] = loss;
        result->epochs_run = epoch + 1;
        rate = rate * trial->decay;
        if (result->snapshot && epoch + 1 < trial->epochs)
            leave_snapshot(kernels, state, epoch + 1, result->snapshot);
    }
    kernels->get(state, result->parameters);
    lm_training_finished(trial, result);
    return LM_OK;
}

int lm_train_one(const struct lm_cpu_kernels *kernels, const struct lm_problem *problem, const struct lm_trial *trial,
                 struct lm_training_result *result, struct lm_tick tick, struct lm_error *err)
{
    double start = now();
    uint32_t begun = result->begun <= trial->epochs ? result->begun : 0;
    lm_training_begin(trial, begun, result);

    struct lm_order order;
    int code = lm_order_begin(&order, trial->seed, problem->count, problem->train.n, err);
    if (code != LM_OK)
        return code;
    void *state = kernels->begin(trial->shape);
    if (!state) {
        lm_order_end(&order);
        return lm_fail_memory(err, lm_network_floats(trial->shape) * sizeof(float), "a network");
    }
    if (begun == 0)
        lm_network_initialise(trial->shape, trial->seed, trial->initial_range, result->parameters);
    kernels->put(state, result->parameters);
    code = train_epochs(kernels, state, problem, trial, &order, result, tick, err);
    kernels->end(state);
    lm_order_end(&order);
    result->seconds = now() - start;
    return code;
}
