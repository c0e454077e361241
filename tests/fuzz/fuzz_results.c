/* fuzz_results.c: any bytes as a results file: read as verify, export and infer read it, every value of it.
 *
 * HDF5 itself is part of what is tested: what makes it crash must be found before it gets there. Bytes are changed
 * where they stand, or the end is cut off: an HDF5 file with bytes put in between is only ever "damaged".
 */
#include <hdf5.h>

#include "fuzz_file.h"
#include "h5util.h"
#include "results.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
    (void)most;
    if (size == 0 || !LLVMFuzzerMutate)
        return size;
    if (seed % 32 == 0)
        return size - (seed >> 5) % size;
    /* Half of the changes hit the first 8 KiB, where the structure is dense. */
    size_t room = seed % 2 && size > 8192 ? 8192 : size, at = (seed >> 1) % room;
    size_t n = 1 + (seed >> 7) % 16;
    n = n < size - at ? n : size - at;
    uint8_t piece[16];
    memcpy(piece, data + at, n);
    size_t made = LLVMFuzzerMutate(piece, n, n);
    memcpy(data + at, piece, made < n ? made : n);
    return size;
}

/* Whoever has loaded a file may index by what it says. */
static void check_indices(const struct lm_results *r)
{
    uint64_t total = 0;
    for (int c = 0; c < LM_CLASSES; c++)
        total += r->count[c];
    for (size_t k = 0; k < r->n_train; k++)
        fuzz_demand(r->train_index[k] < total, "a training sample is one of the data");
    for (size_t k = 0; k < r->n_test; k++)
        fuzz_demand(r->test_index[k] < total, "a test sample is one of the data");
    for (uint64_t t = 0; t < r->n_trials; t++)
        fuzz_demand(r->outcome[t].epochs_run <= r->max_epochs && lm_trial_status_text(r->outcome[t].status) != NULL,
                    "a trial's outcome is one");
    fuzz_demand(r->inference_trial >= -1 && r->inference_trial < (int64_t)r->n_trials, "the inference's trial is one");
    for (size_t k = 0; k < r->n_scores && !r->streamed; k++)
        fuzz_demand(r->predicted[k] < LM_CLASSES && r->expected[k] < LM_CLASSES, "letters are classes");
}

/* The same of a sweep's groups: verify, export and report look trials up by them. */
static int check_sweep(struct lm_results_reader *reader, const struct lm_results *r, struct lm_error *err)
{
    uint64_t trials = 0;
    for (uint64_t t = 0; t < r->n_trials && r->rung; t++)
        fuzz_demand(r->rung[t] == 0 || r->rung[t] < r->max_epochs, "a rung is one");
    fuzz_demand(r->is_sweep || (r->n_configurations == 0 && r->n_leaders == 0), "these are a sweep's");
    if (!r->is_sweep)
        return LM_OK;
    fuzz_demand(r->specification != NULL && r->n_leaders <= r->n_trials, "a sweep is whole");
    for (uint64_t k = 0; k < r->n_leaders; k++)
        fuzz_demand(r->leader[k] < r->n_trials, "a leader is a trial");
    for (uint64_t k = 0; k < r->n_configurations; k++) {
        const struct lm_configuration *c = &r->configuration[k];
        trials += c->trials;
        fuzz_demand(c->first < r->n_trials && c->ok + c->diverged + c->failed <= c->trials, "a configuration is one");
    }
    fuzz_demand(trials == r->n_trials, "each trial is of one configuration");
    struct lm_leader *leaders = malloc(r->n_leaders * sizeof *leaders + 1);
    struct lm_trial *parameters = malloc(r->n_configurations * sizeof *parameters + 1);
    fuzz_demand(leaders && parameters, "they are no more than the file holds");
    int code = lm_results_get_leaders(reader, r->n_leaders, leaders, err);
    if (code == LM_OK)
        code = lm_results_get_parameters(reader, r->n_configurations, parameters, err);
    free(leaders);
    free(parameters);
    return code;
}

static int read_rest(struct lm_results_reader *reader, struct lm_results *r, struct lm_error *err)
{
    double *loss = malloc(r->n_trials * r->max_epochs * sizeof *loss + 1);
    fuzz_demand(loss != NULL, "the losses are no more than the file holds");
    int code = lm_results_get_loss(reader, 0, r->n_trials, loss, err);
    free(loss);
    for (size_t g = 0; g < r->n_kept && code == LM_OK; g++) {
        uint64_t rows = r->kept[g].rows;
        float *weights = malloc(rows * lm_network_floats(r->kept[g].shape) * sizeof *weights + 1);
        uint64_t *trial = malloc(rows * sizeof *trial + 1);
        fuzz_demand(weights && trial, "the weights are no more than the file holds");
        code = lm_results_get_weights(reader, g, 0, rows, weights, trial, err);
        for (uint64_t k = 0; k < rows && code == LM_OK; k++)
            fuzz_demand(trial[k] < r->n_trials, "kept weights are of a trial");
        free(weights);
        free(trial);
    }
    return code == LM_OK ? lm_results_measure(reader, r, err) : code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lm_results_reader *reader;
    struct lm_results results;
    struct lm_error err = {0, ""};
    char name[FUZZ_NAME];
    lm_hdf5_setup();
    fuzz_file(data, size, name);
    int code = lm_results_open(name, &reader, &err);
    if (code == LM_OK) {
        code = lm_results_load(reader, &results, &err);
        if (code == LM_OK) {
            check_indices(&results);
            code = check_sweep(reader, &results, &err);
            if (code == LM_OK)
                code = read_rest(reader, &results, &err);
            lm_results_free(&results);
        }
        lm_results_close(reader);
    }
    fuzz_message(code, &err, name);
    fuzz_demand(code != LM_FAILED, "a file that cannot be read is bad input");
    fuzz_demand(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL) <= 0, "nothing of HDF5 stays open");
    return 0;
}
