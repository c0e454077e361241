/* option_table.c: every option once: name, who takes it, how it is read and shown, its default, its help.
 *
 * A value is read by a small function below; it finds its place in struct lm_options itself, so the table needs no
 * offsets and the compiler checks the types.
 */
#include "option_table.h"

#include <stdio.h>
#include <string.h>

#include "nearest.h"
#include "number.h"
#include "sha256.h"

const struct lm_command_entry lm_command_table[LM_COMMANDS] = {
    [LM_COMMAND_RUN] = {"run", "", 0, 0,
                        "train a small sweep over the ranks, score the test samples, validate, write one HDF5 file "
                        "(the default)"},
    [LM_COMMAND_SWEEP] =
        {"sweep", "SPEC.yaml", 1, 1,
         "a sweep from a file: grid, random, Latin hypercube or successive halving; it can be stopped or killed at "
         "any moment, and resumed"},
    [LM_COMMAND_INFER] = {"infer", "RESULTS.h5", 1, 1,
                          "score a data folder or a packed file with stored weights, sharded over the ranks"},
    [LM_COMMAND_PREDICT] = {"predict", "RESULTS.h5 PICTURE...", 2, LM_MAX_OPERANDS,
                            "read pictures with stored weights: the letter of each, its scores, and the 8 x 8 that the "
                            "network saw"},
    [LM_COMMAND_BENCH] =
        {"bench", "", 0, 0,
         "all variants side by side, in one run, on the same work: times, CUDA calls, every answer compared with the "
         "reference"},
    [LM_COMMAND_VERIFY] =
        {"verify", "RESULTS.h5 [OTHER.h5]", 1, 2,
         "recompute a file's answers from its data, bit for bit; or compare the answers of two files"},
    [LM_COMMAND_EXPORT] = {"export", "RESULTS.h5", 1, 1, "a results file as CSV, JSON or the lab's text, on stdout"},
    [LM_COMMAND_SYNTH] = {"synth", "DIR|FILE", 1, 1,
                          "make a synthetic data set: drawn hands, seeded; a folder of CSV files, or with --packed one "
                          "file that infer streams"},
    [LM_COMMAND_IMPORT] = {"import", "IMAGES DIR|FILE", 2, 2,
                           "photographs, a folder a letter, with their labelled boxes, to a data set: a folder of CSV "
                           "files, or with --packed one file; says which were left out, and why"},
    [LM_COMMAND_INFO] = {"info", "", 0, 0, "what was built in, and the table rank -> host -> device"},
    [LM_COMMAND_CALIBRATE] = {"calibrate", "", 0, 0,
                              "measure this machine for the performance model, and keep it in a file"},
    [LM_COMMAND_PLAN] =
        {"plan", "[SPEC.yaml]", 0, 1,
         "how long a run would take on each device of a machine, and on several GPUs: which is chosen, and "
         "why; of a sweep file's trials, or of those that run's options make"},
};

/* ---- texts ---- */

#define TEXT_OPTION(field)                                                                                             \
    static int read_##field(const struct lm_option *o, const char *text, struct lm_options *options,                   \
                            struct lm_error *err)                                                                      \
    {                                                                                                                  \
        if (*text == '\0')                                                                                             \
            return lm_fail(err, LM_BAD_INPUT, "--%s: the value is empty", o->name);                                    \
        options->field = text;                                                                                         \
        return LM_OK;                                                                                                  \
    }                                                                                                                  \
    static void write_##field(const struct lm_option *o, const struct lm_options *options, char *text, size_t size)    \
    {                                                                                                                  \
        (void)o;                                                                                                       \
        snprintf(text, size, "%s", options->field ? options->field : "");                                              \
    }
TEXT_OPTION(data)
TEXT_OPTION(out)
TEXT_OPTION(device)
TEXT_OPTION(machine)

/* ---- flags ---- */

#define FLAG_OPTION(field)                                                                                             \
    static int read_##field(const struct lm_option *o, const char *text, struct lm_options *options,                   \
                            struct lm_error *err)                                                                      \
    {                                                                                                                  \
        (void)o, (void)text, (void)err;                                                                                \
        options->field = 1;                                                                                            \
        return LM_OK;                                                                                                  \
    }
FLAG_OPTION(force)
FLAG_OPTION(resume)
FLAG_OPTION(no_labels)
FLAG_OPTION(whole)
FLAG_OPTION(dry_run)
FLAG_OPTION(quiet)
FLAG_OPTION(verbose)
FLAG_OPTION(help)
FLAG_OPTION(version)

static void write_whole(const struct lm_option *o, const struct lm_options *options, char *text, size_t size)
{
    (void)o;
    snprintf(text, size, "%d", options->whole);
}

static void write_force(const struct lm_option *o, const struct lm_options *options, char *text, size_t size)
{
    (void)o;
    snprintf(text, size, "%d", options->force);
}

/* ---- words of a list ---- */

static int one_of(const struct lm_option *o, const char *text, const char *const *word, size_t n, struct lm_error *err)
{
    for (size_t k = 0; k < n; k++)
        if (strcmp(text, word[k]) == 0)
            return (int)k;
    const char *nearest = lm_nearest(text, word, n);
    lm_fail(err, LM_BAD_INPUT, "--%s: '%s' is not %s%s%s%s", o->name, text, o->argument,
            nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    return -1;
}

static int read_format(const struct lm_option *o, const char *text, struct lm_options *options, struct lm_error *err)
{
    static const struct {
        const char *word;
        enum lm_format format;
    } known[] = {{"text", LM_FORMAT_TEXT}, {"json", LM_FORMAT_JSON}, {"lab", LM_FORMAT_LAB}, {"csv", LM_FORMAT_CSV}};
    const char *word[4];
    enum lm_format format[4];
    size_t n = 0;
    for (size_t k = 0; k < 4; k++)
        if (strstr(o->argument, known[k].word)) { /* what this command offers */
            word[n] = known[k].word;
            format[n++] = known[k].format;
        }
    int k = one_of(o, text, word, n, err);
    if (k < 0)
        return LM_BAD_INPUT;
    options->format = format[k];
    return LM_OK;
}

static int read_table(const struct lm_option *o, const char *text, struct lm_options *options, struct lm_error *err)
{
    static const char *const word[] = {"trials",    "loss",  "scores", "confusion",      "validation",
                                       "execution", "ranks", "model",  "configurations", "leaderboard"};
    static const struct lm_option named = {.name = "table",
                                           .argument = "trials|loss|scores|confusion|validation|execution|"
                                                       "ranks|model|configurations|leaderboard"};
    (void)o;
    if (one_of(&named, text, word, sizeof word / sizeof *word, err) < 0)
        return LM_BAD_INPUT;
    options->table = text;
    return LM_OK;
}

/* ---- axes ---- */

static int read_axis(const struct lm_option *o, const char *text, struct lm_options *options, struct lm_error *err)
{
    struct lm_axis *axis = lm_grid_axis(&options->grid, o->axis);
    lm_axis_free(axis);
    return lm_axis_parse(&lm_grid_rule[o->axis], text, axis, err);
}

static int one_value(const struct lm_axis *axis, size_t k, char text[32])
{
    if (axis->real)
        return (int)strlen(lm_float_text(axis->real[k], text));
    if (axis->whole)
        return snprintf(text, 32, "%u", axis->whole[k]);
    return snprintf(text, 32, "%ux%u", axis->shape[k].hidden1, axis->shape[k].hidden2);
}

/* The values that have no room are stood for by their number and a digest of all: another axis has another text. */
static void write_axis(const struct lm_option *o, const struct lm_options *options, char *text, size_t size)
{
    struct lm_grid grid = options->grid;
    const struct lm_axis *axis = lm_grid_axis(&grid, o->axis);
    struct lm_sha256 hash;
    char value[32], hex[LM_SHA256_HEX];
    size_t used = 0, shown = 0;
    lm_sha256_begin(&hash);
    for (size_t k = 0; k < axis->n; k++) {
        size_t n = (size_t)one_value(axis, k, value);
        lm_sha256_add(&hash, value, n + 1);
        if (shown == k && used + n + 1 + 120 < size) { /* 120: the digest, and what stands around it */
            used += (size_t)snprintf(text + used, size - used, "%s%s", k ? "," : "", value);
            shown++;
        }
    }
    lm_sha256_end(&hash, hex);
    if (shown < axis->n)
        snprintf(text + used, size - used, ",... (%zu values, SHA-256 %s)", axis->n, hex);
}

/* ---- numbers ---- */

static int read_whole_option(const struct lm_option *o, const char *text, uint64_t least, uint64_t most, uint64_t *out,
                             struct lm_error *err)
{
    if (!lm_read_whole(text, strlen(text), UINT64_MAX / 2, out) || *out < least || *out > most)
        return lm_fail(err, LM_BAD_INPUT, "--%s: '%s' is not a whole number from %llu to %llu", o->name, text,
                       (unsigned long long)least, (unsigned long long)most);
    return LM_OK;
}

#define WHOLE_OPTION(field, least, most)                                                                               \
    static int read_##field(const struct lm_option *o, const char *text, struct lm_options *options,                   \
                            struct lm_error *err)                                                                      \
    {                                                                                                                  \
        uint64_t value;                                                                                                \
        int code = read_whole_option(o, text, least, most, &value, err);                                               \
        if (code == LM_OK)                                                                                             \
            options->field = (__typeof__(options->field))value;                                                        \
        return code;                                                                                                   \
    }                                                                                                                  \
    static void write_##field(const struct lm_option *o, const struct lm_options *options, char *text, size_t size)    \
    {                                                                                                                  \
        (void)o;                                                                                                       \
        snprintf(text, size, "%lld", (long long)options->field);                                                       \
    }
WHOLE_OPTION(split_seed, 0, UINT32_MAX)
WHOLE_OPTION(validate_replicas, 0, LM_MAX_TRIALS)
WHOLE_OPTION(samples, 2, 100000000)
WHOLE_OPTION(synth_seed, 0, UINT32_MAX)
WHOLE_OPTION(repeats, 1, 20)
WHOLE_OPTION(trial, 0, LM_MAX_TRIALS)

static int read_holdout(const struct lm_option *o, const char *text, struct lm_options *options, struct lm_error *err)
{
    if (!lm_read_real(text, strlen(text), &options->holdout) || options->holdout < 0.0 || options->holdout > 0.9)
        return lm_fail(err, LM_BAD_INPUT, "--%s: '%s' is not a share from 0 to 0.9, such as 0.1", o->name, text);
    options->holdout += 0.0; /* -0 is 0: the echo shows it */
    return LM_OK;
}

static void write_holdout(const struct lm_option *o, const struct lm_options *options, char *text, size_t size)
{
    (void)o;
    snprintf(text, size, "%.17g", options->holdout < 0.0 ? 0.0 : options->holdout);
}

static int read_timeout(const struct lm_option *o, const char *text, struct lm_options *options, struct lm_error *err)
{
    if (!lm_read_real(text, strlen(text), &options->timeout) || options->timeout <= 0.0 || options->timeout > 1e9)
        return lm_fail(err, LM_BAD_INPUT, "--%s: '%s' is no number of seconds above 0", o->name, text);
    return LM_OK;
}

static int read_seconds(const struct lm_option *o, const char *text, struct lm_options *options, struct lm_error *err)
{
    if (!lm_read_real(text, strlen(text), &options->seconds) || options->seconds <= 0.0 || options->seconds > 1e6)
        return lm_fail(err, LM_BAD_INPUT, "--%s: '%s' is no number of seconds above 0", o->name, text);
    return LM_OK;
}

static int read_checkpoint_every(const struct lm_option *o, const char *text, struct lm_options *options,
                                 struct lm_error *err)
{
    if (!lm_read_real(text, strlen(text), &options->checkpoint_every) || options->checkpoint_every < 0.1 ||
        options->checkpoint_every > 86400.0)
        return lm_fail(err, LM_BAD_INPUT, "--%s: '%s' is no number of seconds from 0.1 to 86400", o->name, text);
    return LM_OK;
}

static int read_keep(const struct lm_option *o, const char *text, struct lm_options *options, struct lm_error *err)
{
    static const char *const word[] = {[LM_KEEP_ALL] = "all", [LM_KEEP_NONE] = "none"};
    if (strncmp(text, "top:", 4) == 0) {
        options->keep = LM_KEEP_TOP;
        return read_whole_option(o, text + 4, 1, LM_MAX_TRIALS, &options->keep_top, err);
    }
    int k = one_of(o, text, word, 2, err);
    if (k < 0)
        return LM_BAD_INPUT;
    options->keep = (enum lm_keep)k;
    return LM_OK;
}

static int read_packed(const struct lm_option *o, const char *text, struct lm_options *options, struct lm_error *err)
{
    static const char *const word[] = {"u8", "f32"};
    int k = one_of(o, text, word, 2, err);
    if (k < 0)
        return LM_BAD_INPUT;
    options->packed = k == 0 ? LM_PACKING_U8 : LM_PACKING_F32;
    return LM_OK;
}

static void write_packed(const struct lm_option *o, const struct lm_options *options, char *text, size_t size)
{
    static const char *const word[] = {[LM_PACKING_NONE] = "no", [LM_PACKING_U8] = "u8", [LM_PACKING_F32] = "f32"};
    (void)o;
    snprintf(text, size, "%s", word[options->packed]);
}

static int read_split(const struct lm_option *o, const char *text, struct lm_options *options, struct lm_error *err)
{
    static const char *const word[] = {[LM_SPLIT_RANDOM] = "random", [LM_SPLIT_TAIL] = "tail"};
    int k = one_of(o, text, word, LM_SPLIT_KINDS, err);
    if (k < 0)
        return LM_BAD_INPUT;
    options->split = (enum lm_split_kind)k;
    return LM_OK;
}

static void write_split(const struct lm_option *o, const struct lm_options *options, char *text, size_t size)
{
    (void)o;
    snprintf(text, size, "%s", lm_split_text((int)options->split));
}

static void write_no_labels(const struct lm_option *o, const struct lm_options *options, char *text, size_t size)
{
    (void)o;
    snprintf(text, size, "%d", options->no_labels);
}

static int read_validate_samples(const struct lm_option *o, const char *text, struct lm_options *options,
                                 struct lm_error *err)
{
    options->validate_samples = UINT64_MAX;
    if (strcmp(text, "all") == 0)
        return LM_OK;
    return read_whole_option(o, text, 0, UINT32_MAX, &options->validate_samples, err);
}

static void write_validate_samples(const struct lm_option *o, const struct lm_options *options, char *text, size_t size)
{
    (void)o;
    if (options->validate_samples == UINT64_MAX)
        snprintf(text, size, "all");
    else
        snprintf(text, size, "%llu", (unsigned long long)options->validate_samples);
}

static void write_keep(const struct lm_option *o, const struct lm_options *options, char *text, size_t size)
{
    (void)o;
    if (options->keep == LM_KEEP_TOP)
        snprintf(text, size, "top:%llu", (unsigned long long)options->keep_top);
    else
        snprintf(text, size, "%s", options->keep == LM_KEEP_ALL ? "all" : "none");
}

/* ---- the table ---- */

#define RUN     (1u << LM_COMMAND_RUN)
#define SWEEP   (1u << LM_COMMAND_SWEEP)
#define INFER   (1u << LM_COMMAND_INFER)
#define PREDICT (1u << LM_COMMAND_PREDICT)
#define VERIFY  (1u << LM_COMMAND_VERIFY)
#define EXPORT  (1u << LM_COMMAND_EXPORT)
#define SYNTH   (1u << LM_COMMAND_SYNTH)
#define IMPORT  (1u << LM_COMMAND_IMPORT)
#define INFO    (1u << LM_COMMAND_INFO)
#define BENCH   (1u << LM_COMMAND_BENCH)
#define GAUGE   (1u << LM_COMMAND_CALIBRATE)
#define PLAN    (1u << LM_COMMAND_PLAN)
#define ALL     (RUN | SWEEP | INFER | PREDICT | BENCH | VERIFY | EXPORT | SYNTH | IMPORT | INFO | GAUGE | PLAN)

const struct lm_option lm_option_table[] = {
    {"data", 'd', "DIR", RUN | SWEEP | INFER | BENCH | VERIFY | EXPORT | GAUGE | PLAN, read_data, write_data, 0, NULL,
     "folder with a CSV file a letter; infer and verify: or a packed file (default: $LIBRAS_DATA, else the built-in "
     "synthetic set; verify and export: what the file names)"},
    {"out", 'o', "FILE", RUN | SWEEP | INFER, read_out, write_out, 0, NULL,
     "results file (default: results/libras_<Slurm job or UTC time>.h5)"},
    {"device", 0, "NAME", RUN | SWEEP | INFER, read_device, write_device, 0, "auto",
     "auto (by the performance model where this machine is calibrated, else a GPU if there is one), cpu, gpu, or a "
     "variant that `libras_mpi info` lists, such as cpu-ref or gpu:batch; what was asked for is used, or the run ends "
     "with 4"},
    {"learning-rate", 0, "AXIS", RUN | PLAN, read_axis, write_axis, 0, "0.02", "step of the gradient descent"},
    {"decay", 0, "AXIS", RUN | PLAN, read_axis, write_axis, 1, "1",
     "the learning rate is multiplied by it after each epoch"},
    {"initial-range", 0, "AXIS", RUN | PLAN, read_axis, write_axis, 2, "0.05", "weights start uniform in [-X, X)"},
    {"epochs", 'e', "AXIS", RUN | PLAN, read_axis, write_axis, 3, "51", "passes over the training samples"},
    {"hidden", 0, "AXIS", RUN | PLAN, read_axis, write_axis, 4, "32x16",
     "widths of the two hidden layers, each 1 to 128"},
    {"seed", 's', "AXIS", RUN | PLAN, read_axis, write_axis, 5, "1337", "makes the weights and the sample order"},
    {"block", 'b', "AXIS", RUN | PLAN, read_axis, write_axis, 6, "32,64,128,256",
     "threads of the GPU block that trains a replica, a multiple of 32; changes a time, never an answer"},
    {"device", 0, "all|NAMES", BENCH, read_device, write_device, 0, "all",
     "which variants: names and families, with commas, such as cpu,gpu:batch (`libras_mpi info` lists them)"},
    {"learning-rate", 0, "X", BENCH, read_axis, write_axis, 0, "0.02", "step of the gradient descent"},
    {"decay", 0, "X", BENCH, read_axis, write_axis, 1, "1", "the learning rate is multiplied by it after each epoch"},
    {"initial-range", 0, "X", BENCH, read_axis, write_axis, 2, "0.05", "weights start uniform in [-X, X)"},
    {"epochs", 'e', "N", BENCH, read_axis, write_axis, 3, "51", "what the times are stated for"},
    {"hidden", 0, "AxB", BENCH, read_axis, write_axis, 4, "32x16", "widths of the two hidden layers"},
    {"seed", 's', "N", BENCH, read_axis, write_axis, 5, "1337", "makes the weights and the sample order"},
    {"block", 'b', "N", BENCH, read_axis, write_axis, 6, "128", "threads of the GPU block that trains"},
    {"repeats", 0, "N", BENCH, read_repeats, write_repeats, 0, "5", "how often each variant is measured"},
    {"seconds", 0, "S", BENCH, read_seconds, NULL, 0, "20",
     "about how long each variant may train in all; a slow one trains fewer epochs"},
    {"out", 'o', "FILE", GAUGE, read_out, write_out, 0, NULL,
     "where the numbers go, whole or not at all (default: results/machine_<host>.txt); an older file is replaced"},
    {"device", 0, "auto|cpu|gpu", GAUGE, read_device, write_device, 0, "auto",
     "what is measured: the CPU alone, or the CPU and this rank's GPU; auto: a GPU if there is one"},
    {"machine", 0, "FILE", PLAN, read_machine, write_machine, 0, NULL,
     "the machine, as calibrate wrote it or by hand; of another machine, too (default: this one's, "
     "results/machine_<host>.txt)"},
    {"split-seed", 0, "N", RUN | SWEEP | BENCH | PLAN, read_split_seed, write_split_seed, 0, "1337",
     "makes the split into training and test"},
    {"split", 0, "random|tail", RUN | SWEEP | PLAN, read_split, write_split, 0, "random",
     "random: by --split-seed; tail: the last 20 % of each letter, as the data set has them, are the test samples; for "
     "frames of videos"},
    {"holdout", 0, "X", RUN | PLAN, read_holdout, write_holdout, 0, NULL,
     "share of each letter's training samples held out for selection (default: 0, or 0.1 with --keep-weights top:K)"},
    {"keep-weights", 0, "all|none|top:K", RUN | PLAN, read_keep, write_keep, 0, "all",
     "whose weights are stored; top:K: the K best by validation loss"},
    {"validate-replicas", 0, "K", RUN | SWEEP | VERIFY | PLAN, read_validate_replicas, write_validate_replicas, 0, "1",
     "trials that the CPU reference trains again, to compare every bit"},
    {"trial", 0, "T", INFER | PREDICT | EXPORT, read_trial, write_trial, 0, NULL,
     "whose weights (default: the file's own choice, else the first that has weights)"},
    {"table", 0, "TABLE", EXPORT, read_table, NULL, 0, "trials",
     "with --format csv: trials, loss, scores, confusion, validation, execution, ranks or model; of a sweep also "
     "configurations or leaderboard"},
    {"data", 'd', "DIR", SYNTH, read_data, write_data, 0, NULL,
     "with --packed: pack the images of this folder, in its order, instead of drawing"},
    {"packed", 0, "u8|f32", SYNTH, read_packed, write_packed, 0, NULL,
     "write one packed file, FILE, with 8-bit or float32 pixels, letters taking turns: for millions of images"},
    {"packed", 0, "u8|f32", IMPORT, read_packed, write_packed, 0, NULL,
     "write one packed file, FILE, with 8-bit or float32 pixels, letter by letter; any number of pictures a letter"},
    {"whole", 0, NULL, IMPORT | PREDICT, read_whole, write_whole, 0, NULL,
     "take the whole picture, whatever box the XML file beside it labels"},
    {"no-labels", 0, NULL, SYNTH, read_no_labels, write_no_labels, 0, NULL,
     "with --packed: leave out which letter an image is"},
    {"validate-samples", 0, "K|all", INFER, read_validate_samples, write_validate_samples, 0, "100000",
     "of a packed file: samples, evenly spread, that the CPU reference scores again, to compare every bit"},
    {"samples", 'n', "N", SYNTH, read_samples, write_samples, 0, NULL,
     "images of each letter (default: as many as the real set has, 4410 in all)"},
    {"seed", 's', "N", SYNTH, read_synth_seed, write_synth_seed, 0, "1", "makes the images"},
    {"force", 'f', NULL, RUN | SWEEP | INFER | SYNTH | IMPORT, read_force, write_force, 0, NULL,
     "replace files that exist"},
    {"dry-run", 0, NULL, RUN | SWEEP, read_dry_run, NULL, 0, NULL, "say what would be done, and end"},
    {"timeout", 0, "S", RUN | INFER, read_timeout, NULL, 0, NULL, "end with 1 after S seconds; nothing is written"},
    {"format", 0, "text|json|lab", RUN, read_format, NULL, 0, "text", "form of the report on stdout"},
    {"resume", 0, NULL, SWEEP, read_resume, NULL, 0, NULL,
     "go on with what FILE.ckpt or FILE has; without either, begin"},
    {"checkpoint-every", 0, "S", SWEEP, read_checkpoint_every, NULL, 0, "5",
     "seconds between two checkpoints: what a kill can cost"},
    {"format", 0, "text|json", SWEEP | INFER | PREDICT | BENCH | VERIFY | PLAN, read_format, NULL, 0, "text",
     "form of the report on stdout"},
    {"format", 0, "csv|json|lab", EXPORT, read_format, NULL, 0, "csv", "form of the export on stdout"},
    {"quiet", 'q', NULL, ALL, read_quiet, NULL, 0, NULL, "only errors on stderr, only the verdict on stdout"},
    {"verbose", 'v', NULL, RUN | SWEEP, read_verbose, NULL, 0, NULL, "every rank's phases on stderr as they end"},
    {"help", 'h', NULL, ALL, read_help, NULL, 0, NULL, "this text"},
    {"version", 'V', NULL, ALL, read_version, NULL, 0, NULL, "version, and end"},
};
const size_t lm_option_count = sizeof lm_option_table / sizeof *lm_option_table;
