/* replicas.c: see replicas.h. */
#include "replicas.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_backend.h"
#include "evaluate.h"

enum { TAG_REPLICA = 20 };

void lm_replicas_free(struct lm_replica *replica, uint64_t n)
{
    for (uint64_t k = 0; replica && k < n; k++) {
        free(replica[k].loss);
        free(replica[k].parameters);
    }
    free(replica);
}

/* What is trained again, and what came of it. */
struct again {
    struct lm_trial trial;
    struct lm_training_result result;
};

static int make_room(struct again *again, struct lm_error *err)
{
    size_t bytes = lm_network_floats(again->trial.shape) * sizeof(float);
    again->result.loss = calloc(again->trial.epochs, sizeof(double));
    again->result.parameters = calloc(1, bytes);
    if (!again->result.loss || !again->result.parameters)
        return lm_fail_memory(err, bytes, "a replica");
    return LM_OK;
}

static void free_again(struct again *again)
{
    free(again->result.loss);
    free(again->result.parameters);
}

static int train_again(const struct lm_problem *problem, struct again *again, struct lm_tick tick, struct lm_error *err)
{
    const struct lm_backend *reference = &lm_backend_cpu_ref;
    void *session;
    int code = reference->open(problem, &session, err);
    if (code != LM_OK)
        return code;
    code = reference->train(session, &again->trial, 1, &again->result, tick, err);
    reference->close(session);
    return code;
}

/* ---- early, on another core ---- */

struct lm_early {
    pthread_t thread;
    const struct lm_problem *problem;
    struct again again;
    atomic_int stop;
    int joined, code;
};

static int early_tick(void *context)
{
    struct lm_early *early = context;
    return atomic_load_explicit(&early->stop, memory_order_relaxed);
}

static void *early_thread(void *context)
{
    struct lm_early *early = context;
    struct lm_error err;
#ifdef SCHED_IDLE
    /* mpirun may have given the rank one core, which sleeps while the GPU works: whatever else wants it comes first. */
    const struct sched_param none = {0};
    (void)sched_setscheduler(0, SCHED_IDLE, &none);
#endif
    early->code = train_again(early->problem, &early->again, (struct lm_tick){early_tick, early}, &err);
    return NULL;
}

/* Signals are for the thread that speaks MPI. */
static int start_thread(struct lm_early *early)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&early->thread, NULL, early_thread, early);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

struct lm_early *lm_early_begin(const struct lm_problem *problem, const struct lm_trial *trial)
{
    struct lm_error err;
    struct lm_early *early = calloc(1, sizeof *early);
    if (!early)
        return NULL;
    early->problem = problem;
    early->again.trial = *trial;
    if (make_room(&early->again, &err) == LM_OK && start_thread(early) == 0)
        return early;
    free_again(&early->again);
    free(early);
    return NULL;
}

void lm_early_end(struct lm_early *early)
{
    if (!early)
        return;
    atomic_store(&early->stop, 1);
    if (!early->joined)
        pthread_join(early->thread, NULL);
    free_again(&early->again);
    free(early);
}

/* Waits for it, and takes its result if it is this trial's. */
static int take_early(struct lm_early *early, const struct lm_trial *trial, struct again *own)
{
    if (!early || early->joined || !lm_trial_equal(&early->again.trial, trial))
        return 0;
    pthread_join(early->thread, NULL);
    early->joined = 1;
    if (early->code != LM_OK)
        return 0;
    *own = early->again;
    early->again = (struct again){.trial = own->trial};
    return 1;
}

/* ---- the trained replica from its rank to rank 0 ---- */

static void send_again(const struct lm_world *world, const struct again *again)
{
    const struct lm_training_result *r = &again->result;
    uint32_t head[2] = {(uint32_t)r->status, r->epochs_run};
    lm_send_bytes(world, head, sizeof head, 0, TAG_REPLICA);
    lm_send_bytes(world, r->loss, again->trial.epochs * sizeof(double), 0, TAG_REPLICA);
    lm_send_bytes(world, r->parameters, lm_network_floats(again->trial.shape) * sizeof(float), 0, TAG_REPLICA);
}

static void receive_again(const struct lm_world *world, int rank, struct again *again)
{
    struct lm_training_result *r = &again->result;
    uint32_t head[2];
    lm_receive_bytes(world, head, sizeof head, rank, TAG_REPLICA);
    r->status = (int)head[0];
    r->epochs_run = head[1];
    lm_receive_bytes(world, r->loss, again->trial.epochs * sizeof(double), rank, TAG_REPLICA);
    lm_receive_bytes(world, r->parameters, lm_network_floats(again->trial.shape) * sizeof(float), rank, TAG_REPLICA);
}

/* ---- the comparison ---- */

static void compare_words(const void *a, const void *b, size_t size, size_t n, struct lm_check *check)
{
    for (size_t k = 0; k < n; k++)
        check->mismatches += memcmp((const char *)a + k * size, (const char *)b + k * size, size) != 0;
    check->compared += n;
}

static void compare_parameters(const struct lm_replica *found, const struct again *again, struct lm_check *check)
{
    size_t n = lm_network_floats(found->trial.shape);
    char digest[LM_SHA256_HEX];
    lm_network_digest(found->trial.shape, again->result.parameters, digest);
    check->compared++;
    check->mismatches += strcmp(digest, found->outcome.digest) != 0;
    if (!found->parameters)
        return;
    compare_words(found->parameters, again->result.parameters, sizeof(float), n, check);
    check->max_abs_error = 0.0;
    for (size_t k = 0; k < n; k++) {
        double error = fabs((double)found->parameters[k] - (double)again->result.parameters[k]);
        if (!(error <= check->max_abs_error))
            check->max_abs_error = error; /* a NaN stays */
    }
}

static int same_double(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static int compare_metrics(struct lm_shape shape, const float *parameters, const struct lm_samples *samples,
                           double loss, double accuracy, struct lm_check *check, struct lm_error *err)
{
    const struct lm_problem nothing = {0};
    void *session;
    float *scores = malloc((samples->n * LM_CLASSES + 1) * sizeof *scores);
    if (!scores)
        return lm_fail_memory(err, samples->n * LM_CLASSES * sizeof *scores, "a replica's scores");
    int code = lm_backend_cpu_ref.open(&nothing, &session, err);
    if (code == LM_OK) {
        code = lm_backend_cpu_ref.infer(session, shape, parameters, samples->x, samples->n, scores, err);
        lm_backend_cpu_ref.close(session);
    }
    if (code == LM_OK) {
        struct lm_metrics m = lm_evaluate(scores, samples->label, samples->n);
        check->compared += 2;
        check->mismatches += (uint64_t)!same_double(m.loss, loss) + (uint64_t)!same_double(m.accuracy, accuracy);
    }
    free(scores);
    return code;
}

static int compare_outcome(const struct lm_problem *problem, const struct lm_replica *found, const struct again *again,
                           struct lm_check *check, struct lm_error *err)
{
    const struct lm_outcome *outcome = &found->outcome;
    const struct lm_samples none = {0};
    const struct lm_samples *test = found->untested ? &none : &problem->test;
    const float *parameters = again->result.parameters;
    check->compared++;
    check->mismatches += !same_double(again->result.loss[outcome->epochs_run - 1], outcome->train_loss);
    int code = compare_metrics(found->trial.shape, parameters, &problem->validation, outcome->validation_loss,
                               outcome->validation_accuracy, check, err);
    return code == LM_OK ? compare_metrics(found->trial.shape, parameters, test, outcome->test_loss,
                                           outcome->test_accuracy, check, err)
                         : code;
}

static int compare(const struct lm_problem *problem, const struct lm_replica *found, const struct again *again,
                   struct lm_check *check, struct lm_error *err)
{
    const struct lm_training_result *r = &again->result;
    int code = LM_OK;
    *check = (struct lm_check){.max_abs_error = NAN, .compared = 2};
    snprintf(check->name, sizeof check->name, "replica %llu", (unsigned long long)found->number);
    check->mismatches = (uint64_t)(found->outcome.status != r->status) + (found->outcome.epochs_run != r->epochs_run);
    if (check->mismatches == 0) {
        compare_words(found->loss, r->loss, sizeof(double), r->epochs_run, check);
        if (r->status == LM_TRIAL_OK) {
            compare_parameters(found, again, check);
            code = compare_outcome(problem, found, again, check, err);
        }
    }
    check->result = check->mismatches ? LM_CHECK_FAILED : LM_CHECK_PASSED;
    return code;
}

static int none_to_train(struct lm_results *results, struct lm_error *err)
{
    struct lm_check check = {.name = "replicas", .max_abs_error = NAN, .result = LM_CHECK_NOT_RUN};
    return lm_results_check(results, &check, err);
}

/* One round: ranks 0 ... size-1 train replicas first ... first + size - 1 at the same time. */
static void one_round(const struct lm_world *world, const struct lm_problem *problem, const struct lm_replica *replica,
                      const struct lm_trial *trial, uint64_t first, uint64_t n, struct lm_early *early,
                      struct lm_results *results)
{
    const struct lm_tick no_tick = {0};
    uint64_t mine = first + (uint64_t)world->rank;
    struct again own = {0};
    struct lm_error err;
    if (mine < n) {
        own.trial = trial[mine];
        if (!take_early(early, &own.trial, &own) &&
            (make_room(&own, &err) != LM_OK || train_again(problem, &own, no_tick, &err) != LM_OK))
            lm_abort(world, &err); /* the others wait for it */
        if (world->rank != 0)
            send_again(world, &own);
    }
    for (uint64_t k = first; world->rank == 0 && k < n && k < first + (uint64_t)world->size; k++) {
        struct again other = {.trial = trial[k]};
        if (k != first) {
            if (make_room(&other, &err) != LM_OK)
                lm_abort(world, &err);
            receive_again(world, (int)(k - first), &other);
        }
        struct lm_check check;
        if (compare(problem, &replica[k], k == first ? &own : &other, &check, &err) != LM_OK ||
            lm_results_check(results, &check, &err) != LM_OK)
            lm_abort(world, &err);
        free_again(&other);
    }
    free_again(&own);
}

int lm_replicas_validate(const struct lm_world *world, const struct lm_problem *problem,
                         const struct lm_replica *replica, uint64_t n, struct lm_early *early,
                         struct lm_results *results)
{
    struct lm_error err;
    int code = LM_OK;
    lm_broadcast(world, &n, sizeof n);
    struct lm_trial *trial = calloc(n ? n : 1, sizeof *trial);
    if (!trial) {
        lm_fail_memory(&err, n * sizeof *trial, "the replicas");
        lm_abort(world, &err);
    }
    for (uint64_t k = 0; world->rank == 0 && k < n; k++)
        trial[k] = replica[k].trial;
    lm_broadcast(world, trial, n * sizeof *trial);
    if (n == 0 && world->rank == 0)
        code = none_to_train(results, &err);
    for (uint64_t first = 0; first < n; first += (uint64_t)world->size)
        one_round(world, problem, replica, trial, first, n, early, results);
    free(trial);
    return lm_agree(world, code, &err);
}
