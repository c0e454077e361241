/* cpu_backend.c: the session of a CPU backend, and backend cpu-ref. */
#include "cpu_backend.h"

#include <stdlib.h>

#include "reference.h"

struct session {
    const struct lm_cpu_kernels *kernels;
    const struct lm_problem *problem;
};

int lm_cpu_open(const struct lm_cpu_kernels *kernels, const struct lm_problem *problem, void **session,
                struct lm_error *err)
{
    struct session *new = malloc(sizeof *new);
    if (!new)
        return lm_fail_memory(err, sizeof *new, "a CPU session");
    *new = (struct session){kernels, problem};
    *session = new;
    return LM_OK;
}

void lm_cpu_close(void *session)
{
    free(session);
}

size_t lm_cpu_capacity(const void *session)
{
    (void)session;
    return 1;
}

int lm_cpu_train(void *session, const struct lm_trial *trial, size_t n, struct lm_training_result *result,
                 struct lm_tick tick, struct lm_error *err)
{
    struct session *s = session;
    for (size_t k = 0; k < n; k++) {
        int code = lm_train_one(s->kernels, s->problem, &trial[k], &result[k], tick, err);
        if (code != LM_OK)
            return code;
    }
    return LM_OK;
}

int lm_cpu_infer(void *session, struct lm_shape shape, const float *parameters, const float *x, size_t n,
                 float *scores, struct lm_error *err)
{
    struct session *s = session;
    void *state = s->kernels->begin(shape);
    if (!state)
        return lm_fail_memory(err, lm_network_floats(shape) * sizeof(float), "a network");
    s->kernels->put(state, parameters);
    s->kernels->infer(state, x, n, scores);
    s->kernels->end(state);
    return LM_OK;
}

static const struct lm_cpu_kernels *reference_kernels(void)
{
#ifdef LM_HAVE_REFERENCE_FMA
    if (__builtin_cpu_supports("fma"))
        return &lm_reference_fma;
#endif
    return &lm_reference_plain;
}

static int open_reference(const struct lm_problem *problem, void **session, struct lm_error *err)
{
    return lm_cpu_open(reference_kernels(), problem, session, err);
}

static int always_there(struct lm_error *err)
{
    (void)err;
    return LM_OK;
}

const struct lm_backend lm_backend_cpu_ref = {
    .name = "cpu-ref",
    .summary = "the arithmetic's definition as a plain C loop, one core",
    .probe = always_there,
    .open = open_reference,
    .close = lm_cpu_close,
    .capacity = lm_cpu_capacity,
    .train = lm_cpu_train,
    .infer = lm_cpu_infer,
};
