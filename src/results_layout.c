/* results_layout.c: see results_layout.h.
 *
 * Rules of the format, each for a reader that would fail otherwise: every axis has a scale in its own group (h5netcdf);
 * text is variable-length UTF-8 and states are text (netCDF4, MATLAB); the unit of time is "s" (xarray makes "seconds"
 * a time difference); whole numbers that may be -1 are signed, and none is wider than the program's own.
 */
#include "results_layout.h"

#include <string.h>

#define COUNT(array)         (sizeof(array) / sizeof(array)[0])
#define MEMBER(type, member) .offset = offsetof(struct type, member)
#define CHARS(type, member)  .kind = LM_KIND_CHARS, MEMBER(type, member), .size = sizeof(((struct type *)0)->member)

/* ---- /trials ---- */

static const struct lm_column trial_columns[] = {
    {"learning_rate", "trial", "learning rate of the first epoch", .kind = LM_KIND_F32,
     MEMBER(lm_trial, learning_rate)},
    {"decay", "trial", "factor of the learning rate after each epoch", .kind = LM_KIND_F32, MEMBER(lm_trial, decay)},
    {"initial_range", "trial", "initial weights are uniform in [-range, range)", .kind = LM_KIND_F32,
     MEMBER(lm_trial, initial_range)},
    {"epochs", "trial", "epochs asked for", .kind = LM_KIND_U32, MEMBER(lm_trial, epochs)},
    {"seed", "trial", "seed of initial weights and sample order", .kind = LM_KIND_U32, MEMBER(lm_trial, seed)},
    {"block", "trial", "threads of a GPU block", .kind = LM_KIND_U32, MEMBER(lm_trial, block)},
    {"hidden1", "trial", "neurons of the first hidden layer", .kind = LM_KIND_U32, MEMBER(lm_trial, shape.hidden1)},
    {"hidden2", "trial", "neurons of the second hidden layer", .kind = LM_KIND_U32, MEMBER(lm_trial, shape.hidden2)},
};
const struct lm_table lm_layout_trial = {trial_columns, COUNT(trial_columns), sizeof(struct lm_trial)};

static const struct lm_column outcome_columns[] = {
    {"status", "trial", "ok, diverged, failed or not run", .kind = LM_KIND_WORD, MEMBER(lm_outcome, status),
     .size = LM_TRIAL_NOT_RUN + 1, .word = lm_trial_status_text},
    {"reason", "trial", "why it diverged or failed", CHARS(lm_outcome, reason)},
    {"epochs_run", "trial", "epochs done with a finite loss", .kind = LM_KIND_U32, MEMBER(lm_outcome, epochs_run)},
    {"train_loss", "trial", "mean training loss of the last epoch", .kind = LM_KIND_F64,
     MEMBER(lm_outcome, train_loss)},
    {"validation_loss", "trial", "mean loss of the held-out samples", .kind = LM_KIND_F64,
     MEMBER(lm_outcome, validation_loss)},
    {"validation_accuracy", "trial", "share of held-out samples that are right", .kind = LM_KIND_F64,
     MEMBER(lm_outcome, validation_accuracy)},
    {"test_loss", "trial", "mean loss of the test samples", .kind = LM_KIND_F64, MEMBER(lm_outcome, test_loss)},
    {"test_accuracy", "trial", "share of test samples that are right", .kind = LM_KIND_F64,
     MEMBER(lm_outcome, test_accuracy)},
    {"digest", "trial", "SHA-256 of the trained parameters", CHARS(lm_outcome, digest)},
};
const struct lm_table lm_layout_outcome = {outcome_columns, COUNT(outcome_columns), sizeof(struct lm_outcome)};

/* ---- /sweep, /configurations ---- */

#define PARAMETER(name, text, type, from)                                                                              \
    {                                                                                                                  \
        name, "configuration", text, .kind = type, MEMBER(lm_trial, from)                                              \
    }
static const struct lm_column parameter_columns[] = {
    PARAMETER("learning_rate", "learning rate of the first epoch", LM_KIND_F32, learning_rate),
    PARAMETER("decay", "factor of the learning rate after each epoch", LM_KIND_F32, decay),
    PARAMETER("initial_range", "initial weights are uniform in [-range, range)", LM_KIND_F32, initial_range),
    PARAMETER("epochs", "epochs asked for", LM_KIND_U32, epochs),
    PARAMETER("block", "threads of a GPU block", LM_KIND_U32, block),
    PARAMETER("hidden1", "neurons of the first hidden layer", LM_KIND_U32, shape.hidden1),
    PARAMETER("hidden2", "neurons of the second hidden layer", LM_KIND_U32, shape.hidden2),
};
const struct lm_table lm_layout_parameters = {parameter_columns, COUNT(parameter_columns), sizeof(struct lm_trial)};

#define STATISTIC(name, text, type)                                                                                    \
    {                                                                                                                  \
#name, "configuration", text, .kind = type, MEMBER(lm_configuration, name)                                     \
    }
static const struct lm_column configuration_columns[] = {
    {"first_trial", "configuration", "its lowest trial, whose parameters these are", .kind = LM_KIND_U64,
     MEMBER(lm_configuration, first)},
    STATISTIC(trials, "trials that differ in the seed alone", LM_KIND_U64),
    STATISTIC(ok, "of them, how many are ok", LM_KIND_U64),
    STATISTIC(diverged, "how many diverged", LM_KIND_U64),
    STATISTIC(failed, "how many failed", LM_KIND_U64),
    STATISTIC(loss_mean, "validation loss: mean over the trials that are ok", LM_KIND_F64),
    STATISTIC(loss_sd, "validation loss: sample standard deviation", LM_KIND_F64),
    STATISTIC(loss_low, "validation loss: 95 % interval of the mean, from", LM_KIND_F64),
    STATISTIC(loss_high, "validation loss: 95 % interval of the mean, to", LM_KIND_F64),
    STATISTIC(accuracy_mean, "validation accuracy: mean over the trials that are ok", LM_KIND_F64),
    STATISTIC(accuracy_sd, "validation accuracy: sample standard deviation", LM_KIND_F64),
    STATISTIC(accuracy_low, "validation accuracy: 95 % interval of the mean, from", LM_KIND_F64),
    STATISTIC(accuracy_high, "validation accuracy: 95 % interval of the mean, to", LM_KIND_F64),
};
const struct lm_table lm_layout_configuration = {configuration_columns, COUNT(configuration_columns),
                                                 sizeof(struct lm_configuration)};

static const struct lm_column leader_columns[] = {
    {"trial", "place", "number of the trial", .kind = LM_KIND_U64, MEMBER(lm_leader, trial)},
    {"validation_loss", "place", "mean loss of the held-out samples", .kind = LM_KIND_F64,
     MEMBER(lm_leader, validation_loss)},
    {"validation_accuracy", "place", "share of held-out samples that are right", .kind = LM_KIND_F64,
     MEMBER(lm_leader, validation_accuracy)},
    {"test_loss", "place", "mean loss of the test samples", .kind = LM_KIND_F64, MEMBER(lm_leader, test_loss)},
    {"test_accuracy", "place", "share of test samples that are right", .kind = LM_KIND_F64,
     MEMBER(lm_leader, test_accuracy)},
};
const struct lm_table lm_layout_leader = {leader_columns, COUNT(leader_columns), sizeof(struct lm_leader)};

const struct lm_column lm_layout_trial_rung = {"rung", "trial", "rung of the search that it reached, 0 the first",
                                               .kind = LM_KIND_U32};
const struct lm_column lm_layout_configuration_rung = {"rung", "configuration", "highest rung of its trials",
                                                       .kind = LM_KIND_U32, MEMBER(lm_configuration, rung)};
const struct lm_column lm_layout_search = {"search", NULL, "how the trials were chosen", CHARS(lm_results, search)};
const struct lm_column lm_layout_objective = {"objective", NULL, "what the best trials are best in",
                                              CHARS(lm_results, objective)};
const struct lm_column lm_layout_specification = {"specification", NULL, "text of the sweep file", .kind = LM_KIND_TEXT,
                                                  MEMBER(lm_results, specification)};

/* ---- /execution ---- */

static const struct lm_column execution_columns[] = {
    {"trial_seconds", "trial", "wall time of the training", "s", LM_KIND_F64, MEMBER(lm_trial_execution, seconds)},
    {"trial_rank", "trial", "rank that trained it, -1: none", .kind = LM_KIND_I32, MEMBER(lm_trial_execution, rank)},
    {"trial_device", "trial", "kind of device", CHARS(lm_trial_execution, device)},
    {"trial_variant", "trial", "name of the backend", CHARS(lm_trial_execution, variant)},
};
const struct lm_table lm_layout_execution = {execution_columns, COUNT(execution_columns),
                                             sizeof(struct lm_trial_execution)};

static const struct lm_column rank_columns[] = {
    {"rank_host", "rank", "host name", CHARS(lm_rank, host)},
    {"rank_device", "rank", "cpu, or the GPU's name", CHARS(lm_rank, device)},
    {"rank_uuid", "rank", "UUID of the GPU", CHARS(lm_rank, uuid)},
    {"rank_pci", "rank", "PCI id of the GPU", CHARS(lm_rank, pci)},
    {"rank_shared", "rank", "1: another rank uses the same GPU", .kind = LM_KIND_U8, MEMBER(lm_rank, shared)},
};
const struct lm_table lm_layout_rank = {rank_columns, COUNT(rank_columns), sizeof(struct lm_rank)};

const struct lm_column lm_layout_sample_rank = {"sample_rank", "sample", "rank that scored it", .kind = LM_KIND_I32};

/* ---- /model ---- */

static const struct lm_column model_columns[] = {
    {"phase", "candidate", "part of the run", CHARS(lm_model_row, phase)},
    {"device", "candidate", "name of the backend", CHARS(lm_model_row, device)},
    {"where", "candidate", "where the weights are, or how many cores", CHARS(lm_model_row, where)},
    {"predicted", "candidate", "predicted time", "s", LM_KIND_F64, MEMBER(lm_model_row, predicted)},
    {"bound", "candidate", "predicted time if nothing overlapped and nothing had a fixed cost", "s", LM_KIND_F64,
     MEMBER(lm_model_row, bound)},
    {"measured", "candidate", "measured time of the one that ran", "s", LM_KIND_F64, MEMBER(lm_model_row, measured)},
    {"chosen", "candidate", "1: it ran", .kind = LM_KIND_U8, MEMBER(lm_model_row, chosen)},
    {"regret", "candidate", "measured over the least predicted of the others, minus 1", .kind = LM_KIND_F64,
     MEMBER(lm_model_row, regret)},
    {"size", "candidate", "training steps, or samples", .kind = LM_KIND_F64, MEMBER(lm_model_row, size)},
    {"factor", "candidate", "of earlier runs, which predicted has in it", .kind = LM_KIND_F64,
     MEMBER(lm_model_row, factor)},
};
const struct lm_table lm_layout_model = {model_columns, COUNT(model_columns), sizeof(struct lm_model_row)};

/* ---- /validation ---- */

static const struct lm_column check_columns[] = {
    {"name", "check", "what was compared", CHARS(lm_check, name)},
    {"compared", "check", "values compared", .kind = LM_KIND_U64, MEMBER(lm_check, compared)},
    {"mismatches", "check", "values that differ", .kind = LM_KIND_U64, MEMBER(lm_check, mismatches)},
    {"max_abs_error", "check", "largest absolute difference", .kind = LM_KIND_F64, MEMBER(lm_check, max_abs_error)},
    {"result", "check", "passed, failed or not run", .kind = LM_KIND_WORD, MEMBER(lm_check, result),
     .size = LM_CHECK_FAILED + 1, .word = lm_check_text},
};
const struct lm_table lm_layout_check = {check_columns, COUNT(check_columns), sizeof(struct lm_check)};

/* ---- /dataset ---- */

const struct lm_field lm_layout_dataset[LM_DATASET_FIELDS] = {
    {{"mean", "pixel", "mean over the training samples", .kind = LM_KIND_F64, MEMBER(lm_results, scaler.mean)},
     LM_PIXELS},
    {{"scale", "pixel", "standard deviation, at least 1e-6", .kind = LM_KIND_F64, MEMBER(lm_results, scaler.scale)},
     LM_PIXELS},
    {{"counts", "classes", "samples of each letter", .kind = LM_KIND_U64, MEMBER(lm_results, count)}, LM_CLASSES},
    {{"digest", NULL, "SHA-256 of the values and labels", CHARS(lm_results, data_digest)}, 1},
    {{"split_seed", NULL, "seed of the split", .kind = LM_KIND_U32, MEMBER(lm_results, split_seed)}, 1},
    {{"holdout", NULL, "share of the training samples held out", .kind = LM_KIND_F64, MEMBER(lm_results, holdout)}, 1},
};

const struct lm_column lm_layout_split_kind = {"split",
                                               NULL,
                                               "how the test samples were chosen: random or tail",
                                               .kind = LM_KIND_WORD,
                                               MEMBER(lm_results, split),
                                               .size = LM_SPLIT_KINDS,
                                               .word = lm_split_text};

#define SPLIT(part, text)                                                                                              \
    {                                                                                                                  \
#part, "position among the " text " samples",                                                                  \
            {#part "_index", #part, "number of the sample in the data set", .kind = LM_KIND_U32 },                     \
             offsetof(struct lm_results, n_##part), offsetof(struct lm_results, part##_index)                          \
    }
const struct lm_split_part lm_layout_split[LM_SPLIT_PARTS] = {SPLIT(train, "training"), SPLIT(validation, "held-out"),
                                                              SPLIT(test, "test")};

/* ---- /inference ---- */

const struct lm_column lm_layout_expected = {"expected", "sample", "index of the right class", .kind = LM_KIND_U8};
const struct lm_column lm_layout_predicted = {"predicted", "sample", "index of the class of the largest score",
                                              .kind = LM_KIND_U8};
const struct lm_column lm_layout_inference_trial = {"trial", NULL, "whose weights were used, -1: none",
                                                    .kind = LM_KIND_I64, MEMBER(lm_results, inference_trial)};

/* ---- /weights ---- */

void lm_layout_part(struct lm_shape shape, uint64_t rows, int part, struct lm_part_layout *out)
{
    static const char *const name[LM_PARTS] = {"w1", "b1", "w2", "b2", "w3", "b3"};
    static const char *const long_name[LM_PARTS] = {"weights, first hidden layer",  "biases, first hidden layer",
                                                    "weights, second hidden layer", "biases, second hidden layer",
                                                    "weights, output layer",        "biases, output layer"};
    static const char *const axis[LM_LAYERS + 1] = {"pixel", "hidden1", "hidden2", "classes"};
    int l = part / 2, biases = part % 2;
    const struct lm_layer layer = lm_layer_of(shape, l);
    *out = (struct lm_part_layout){.name = name[part],
                                   .long_name = long_name[part],
                                   .rank = biases ? 2 : 3,
                                   .dims = {rows, layer.outputs, layer.inputs},
                                   .axis = {"trial", axis[l + 1], axis[l]},
                                   .offset = biases ? layer.biases : layer.weights,
                                   .floats = layer.outputs * (biases ? 1 : layer.inputs)};
}

void lm_layout_class(int c, char text[2])
{
    text[0] = LM_LETTERS[c];
    text[1] = '\0';
}
