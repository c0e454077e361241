/* host_made.h: what the tests of kernels on the host share: problems, the reference's answers, and the count of
 * results.
 *
 * To be included after host_cuda.h. This header defines variables: one source file of a program includes it.
 */
#ifndef HOST_MADE_H
#define HOST_MADE_H

#include "host_cuda.h"

extern "C" {
#include "cpu_backend.h"
#include "layout.h"
#include "random.h"
#include "training.h"
}

static int results, failures;

static void report(bool ok, const std::string &name)
{
    results++;
    failures += !ok;
    printf("%sok %d - %s\n", ok ? "" : "not ", results, name.c_str());
    fflush(stdout);
}

/* ---- problems and the reference ---- */

static std::vector<float> made_floats(size_t n, uint32_t seed, float range)
{
    struct lm_mt19937 generator;
    std::vector<float> x(n);
    lm_mt19937_seed(&generator, seed);
    for (float &v : x) {
        uint32_t kind = lm_draw_below(&generator, 24);
        v = kind == 0 ? -0.0f : kind == 1 ? 1e-40f : lm_draw_uniform(&generator, -range, range);
    }
    return x;
}

struct made {
    std::vector<float> x;
    std::vector<uint8_t> label;
    struct lm_problem problem;
    explicit made(size_t n) : x(made_floats(n * LM_PIXELS, 11, 2.0f)), label(n), problem()
    {
        for (size_t k = 0; k < n; k++)
            label[k] = (uint8_t)(k * 7 % LM_CLASSES);
        for (int c = 0; c < LM_CLASSES; c++)
            problem.count[c] = 3 + (uint64_t)c;
        problem.train.n = n;
        problem.train.x = x.data();
        problem.train.label = label.data();
    }
    made(const made &) = delete;
};

struct trained {
    std::vector<float> parameters;
    std::vector<double> loss;
    uint32_t epochs_run;
};

[[maybe_unused]] static struct trained reference(const struct made &made, const struct lm_trial &trial)
{
    struct trained out = {std::vector<float>(lm_network_floats(trial.shape)), std::vector<double>(trial.epochs), 0};
    struct lm_training_result result = {};
    struct lm_error err;
    void *session;
    result.loss = out.loss.data();
    result.parameters = out.parameters.data();
    lm_backend_cpu_ref.open(&made.problem, &session, &err);
    lm_backend_cpu_ref.train(session, &trial, 1, &result, {}, &err);
    lm_backend_cpu_ref.close(session);
    out.epochs_run = result.epochs_run;
    return out;
}

[[maybe_unused]] static std::vector<uint32_t> orders_of(const struct made &made, const struct lm_trial &trial)
{
    std::vector<uint32_t> all;
    struct lm_order order;
    struct lm_error err;
    lm_order_begin(&order, trial.seed, made.problem.count, made.problem.train.n, &err);
    for (uint32_t epoch = 0; epoch < trial.epochs; epoch++) {
        lm_order_next(&order);
        all.insert(all.end(), order.index, order.index + order.n);
    }
    lm_order_end(&order);
    return all;
}

static std::string complaint;

static bool launched(const char *problem)
{
    if (problem && complaint.empty())
        complaint = std::string(": ") + problem;
    return !problem;
}

/* The plan; the exit status. */
static int finish()
{
    printf("1..%d\n", results);
    for (char *stack : host.stack)
        free(stack);
    return failures != 0;
}

#endif
