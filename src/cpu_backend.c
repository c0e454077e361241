/* cpu_backend.c: the session of a CPU backend, and the tables: a path a table (simd.h), and cpu-ref.
 *
 * A path that this processor lacks is in the list all the same, so that `info` names it and --device can say why not.
 */
#include "cpu_backend.h"

#include <stdlib.h>

#include "reference.h"
#include "simd.h"

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

int lm_cpu_infer(void *session, struct lm_shape shape, const float *parameters, const float *x, size_t n, float *scores,
                 struct lm_error *err)
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

static int open_portable(const struct lm_problem *problem, void **session, struct lm_error *err)
{
    return lm_cpu_open(&lm_simd_portable, problem, session, err);
}

#ifdef LM_HAVE_SIMD_X86

static int probe_avx2(struct lm_error *err)
{
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return LM_OK;
    return lm_fail(err, LM_UNAVAILABLE,
                   "this processor, or its operating system, has no AVX2 or no FMA");
}

static int probe_avx512(struct lm_error *err)
{
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return LM_OK;
    return lm_fail(err, LM_UNAVAILABLE, "this processor, or its operating system, has no AVX-512");
}

static int open_avx2(const struct lm_problem *problem, void **session, struct lm_error *err)
{
    return lm_cpu_open(&lm_simd_avx2, problem, session, err);
}

static int open_avx512(const struct lm_problem *problem, void **session, struct lm_error *err)
{
    return lm_cpu_open(&lm_simd_avx512, problem, session, err);
}

#else

static int no_x86(struct lm_error *err)
{
    return lm_fail(err, LM_UNAVAILABLE, "AVX2 and AVX-512 are for x86-64, and this is another processor");
}

#define probe_avx2   no_x86
#define probe_avx512 no_x86
#define open_avx2    open_portable /* never called */
#define open_avx512  open_portable

#endif

#define CPU_BACKEND(label, what, probing, opening)                                                                     \
    {                                                                                                                  \
        .name = label, .summary = what, .probe = probing, .open = opening, .close = lm_cpu_close,                      \
        .capacity = lm_cpu_capacity, .train = lm_cpu_train, .infer = lm_cpu_infer,                                     \
    }

const struct lm_backend lm_backend_cpu_avx512 =
    CPU_BACKEND("cpu:avx512", "16 floats a vector, for x86 with AVX-512F", probe_avx512, open_avx512);
const struct lm_backend lm_backend_cpu_avx2 =
    CPU_BACKEND("cpu:avx2", "8 floats a vector, for x86 with AVX2 and FMA", probe_avx2, open_avx2);
const struct lm_backend lm_backend_cpu_portable =
    CPU_BACKEND("cpu:portable", "4 floats a vector, for any processor", always_there, open_portable);
const struct lm_backend lm_backend_cpu_ref =
    CPU_BACKEND("cpu-ref", "the arithmetic's definition as a plain C loop, one core", always_there, open_reference);
