/* make_sweep RUN.h5 OUT.h5 grid|halving K [accuracy]: the file of a run once more, as that of a sweep: with its
 * configurations and the best K trials. For tests of what verify, export and the report make of it; it prints the
 * report.
 *
 * halving: trial t has reached rung t modulo 3.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../mpi/report_sweep.c"
#include "cpu_backend.h"
#include "h5util.h"

static struct lm_error error;

static void must(int status)
{
    if (status == LM_OK)
        return;
    fprintf(stderr, "make_sweep: %s\n", error.text);
    exit(status);
}

static void *room(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);
    if (!p)
        exit(1);
    return p;
}

static void make_sweep(struct lm_results *r, char **argv, int accuracy)
{
    r->is_sweep = 1;
    snprintf(r->search, sizeof r->search, "%s", argv[3]);
    strcpy(r->objective, accuracy ? "validation_accuracy" : "validation_loss");
    r->specification = strdup("search: grid\nparameters:\n  seed: {from: 1, to: 4}\n");
    if (strcmp(argv[3], "halving") == 0) {
        r->rung = room(r->n_trials, sizeof *r->rung);
        for (uint64_t t = 0; t < r->n_trials; t++)
            r->rung[t] = (uint32_t)(t % 3);
    }
    must(lm_results_summarise(r, strtoull(argv[4], NULL, 10), &error));
}

/* A sweep scores the test samples of its leaders alone, */
static void blank_others(struct lm_results *r)
{
    for (uint64_t t = 0; t < r->n_trials; t++) {
        int leads = 0;
        for (uint64_t k = 0; k < r->n_leaders; k++)
            leads |= r->leader[k] == t;
        if (!leads)
            r->outcome[t].test_loss = r->outcome[t].test_accuracy = NAN;
    }
}

/* and shows those of the first place. */
static void score_first_place(struct lm_results_reader *reader, struct lm_results *r)
{
    struct lm_dataset data;
    struct lm_split split;
    struct lm_problem problem;
    void *session;
    uint64_t first = r->leader[0], trial;
    float *weights = room(lm_network_floats(r->trial[first].shape), sizeof *weights);
    must(lm_dataset_load(r->data_path, &data, &error));
    must(lm_split_make(data.count, r->split_seed, r->holdout, &split, &error));
    must(lm_problem_make(&data, &split, &r->scaler, &problem, &error));
    for (size_t g = 0; g < r->n_kept; g++)
        for (uint64_t row = 0; row < r->kept[g].rows; row++) {
            must(lm_results_get_weights(reader, g, row, 1, NULL, &trial, &error));
            if (trial == first)
                must(lm_results_get_weights(reader, g, row, 1, weights, NULL, &error));
        }
    must(lm_backend_cpu_ref.open(&problem, &session, &error));
    must(lm_backend_cpu_ref.infer(session, r->trial[first].shape, weights, problem.test.x, problem.test.n, r->scores,
                                  &error));
    lm_backend_cpu_ref.close(session);
    memset(r->confusion, 0, sizeof r->confusion);
    lm_confusion(r->scores, problem.test.label, problem.test.n, r->predicted, r->confusion);
    r->inference_trial = (int64_t)first;
    free(weights);
    lm_problem_free(&problem);
    lm_split_free(&split);
    lm_dataset_free(&data);
}

static void copy_weights(struct lm_results_reader *reader, const struct lm_results *r, struct lm_results_writer *writer)
{
    for (size_t g = 0; g < r->n_kept; g++) {
        const struct lm_kept *kept = &r->kept[g];
        size_t group, floats = lm_network_floats(kept->shape);
        float *weights = room(kept->rows * floats, sizeof *weights);
        uint64_t *trial = room(kept->rows, sizeof *trial);
        must(lm_results_get_weights(reader, g, 0, kept->rows, weights, trial, &error));
        must(lm_results_add_kept(writer, kept->shape, kept->rows, &group, &error));
        for (uint64_t row = 0; row < kept->rows; row++) {
            int ok = r->outcome[trial[row]].status == LM_TRIAL_OK;
            must(lm_results_put_weights(writer, group, row, trial[row], ok ? weights + row * floats : NULL, &error));
        }
        free(weights);
        free(trial);
    }
}

int main(int argc, char **argv)
{
    struct lm_results_reader *reader;
    struct lm_results_writer *writer;
    struct lm_results r;
    if (argc < 5) {
        fprintf(stderr, "usage: make_sweep RUN.h5 OUT.h5 grid|halving K [accuracy]\n");
        return 2;
    }
    lm_hdf5_setup();
    must(lm_results_open(argv[1], &reader, &error));
    must(lm_results_load(reader, &r, &error));
    make_sweep(&r, argv, argc > 5);
    blank_others(&r);
    score_first_place(reader, &r);
    must(lm_results_create(argv[2], r.n_trials, r.max_epochs, &writer, &error));
    double *loss = room(r.max_epochs, sizeof *loss);
    for (uint64_t t = 0; t < r.n_trials; t++) {
        must(lm_results_get_loss(reader, t, 1, loss, &error));
        if (r.outcome[t].epochs_run > 0)
            must(lm_results_put_loss(writer, t, loss, r.outcome[t].epochs_run, &error));
    }
    free(loss);
    copy_weights(reader, &r, writer);
    must(lm_results_finish(writer, &r, &error));
    lm_report_leaderboard(&r, stdout);
    lm_report_configurations(&r, stdout);
    lm_results_free(&r);
    lm_results_close(reader);
    return 0;
}
