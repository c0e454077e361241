/* test_checkpoint.c: what was put and flushed is found again, whatever happened to the file's end, or to a byte of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>

#include "checkpoint.h"
#include "checkpoint_record.h"
#include "scratch.h"

static char *dir, *path;

static const struct lm_checkpoint_of of = {
    .data_digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    .arithmetic_version = 1,
    .split = 0,
    .split_seed = 1337,
    .holdout = 0.1,
};

static int setup(void **state)
{
    (void)state;
    dir = scratch_make();
    return asprintf(&path, "%s/r.h5.ckpt", dir) < 0;
}

static int teardown(void **state)
{
    (void)state;
    free(path);
    scratch_remove(dir);
    return 0;
}

static struct lm_checkpoint *open_it(void)
{
    struct lm_checkpoint *c;
    struct lm_error err = {.text = ""};
    if (lm_checkpoint_open(path, &of, &c, &err) != LM_OK)
        fail_msg("%s", err.text);
    return c;
}

static off_t size_of_file(void)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_size;
}

/* ---- records that are made from a number ---- */

enum { MOST_EPOCHS = 40, MOST_FLOATS = 5000 };
static double loss[MOST_EPOCHS];
static float parameters[MOST_FLOATS];

static struct lm_trial trial_of(uint32_t k, uint32_t epochs)
{
    return (struct lm_trial){.learning_rate = 0.01f + (float)(k % 7),
                             .decay = 1.0f,
                             .initial_range = 0.05f,
                             .epochs = epochs,
                             .seed = k,
                             .block = 32 + 32 * (k % 3),
                             .shape = {k % 2 ? 3 : 5, 4}};
}

enum kind { BARE, WITH_PARAMETERS, STATE, FAILED };

static struct lm_record make(uint32_t k, uint32_t epochs, uint32_t run, enum kind kind)
{
    struct lm_record record = {.trial = trial_of(k, epochs), .loss = loss};
    struct lm_outcome *o = &record.outcome;
    o->status = kind == STATE ? LM_TRIAL_NOT_RUN : kind == FAILED ? LM_TRIAL_FAILED : LM_TRIAL_OK;
    o->epochs_run = run;
    o->train_loss = 0.5 + k;
    o->validation_loss = 1.5 + k;
    o->validation_accuracy = kind == STATE ? NAN : 0.25;
    o->test_loss = o->test_accuracy = NAN;
    if (kind != STATE && kind != FAILED)
        snprintf(o->digest, sizeof o->digest, "%064x", k * 2654435761u);
    if (kind == FAILED)
        snprintf(o->reason, sizeof o->reason, "reason %u: %.*s", k, (int)(k % 100),
                 "a long text a long text a long text a long text a long text a long text a long text a long text ");
    record.execution = (struct lm_trial_execution){.seconds = 0.125 * k, .rank = (int32_t)k % 5 - 1};
    snprintf(record.execution.device, sizeof record.execution.device, "cpu");
    snprintf(record.execution.variant, sizeof record.execution.variant, "cpu:avx2");
    for (uint32_t e = 0; e < run; e++)
        loss[e] = 1000.0 * k + e;
    for (size_t i = 0; i < lm_network_floats(record.trial.shape); i++)
        parameters[i] = (float)k + (float)i / 16.0f;
    record.parameters = kind == WITH_PARAMETERS || kind == STATE ? parameters : NULL;
    return record;
}

static void put(struct lm_checkpoint *c, uint32_t k, uint32_t epochs, uint32_t run, enum kind kind)
{
    struct lm_error err;
    struct lm_record record = make(k, epochs, run, kind);
    assert_int_equal(lm_checkpoint_put(c, &record, &err), LM_OK);
}

static void flush_and_close(struct lm_checkpoint *c)
{
    struct lm_error err;
    assert_int_equal(lm_checkpoint_flush(c, &err), LM_OK);
    lm_checkpoint_close(c);
}

static int same_double(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void assert_is(const struct lm_record *got, uint32_t k, uint32_t epochs, uint32_t run, enum kind kind)
{
    struct lm_record want = make(k, epochs, run, kind);
    size_t floats = lm_network_floats(want.trial.shape);
    assert_true(lm_trial_equal(&got->trial, &want.trial));
    assert_int_equal(got->outcome.status, want.outcome.status);
    assert_int_equal(got->outcome.epochs_run, run);
    assert_true(same_double(got->outcome.train_loss, want.outcome.train_loss));
    assert_true(same_double(got->outcome.validation_loss, want.outcome.validation_loss));
    assert_true(same_double(got->outcome.validation_accuracy, want.outcome.validation_accuracy));
    assert_true(isnan(got->outcome.test_loss) && isnan(got->outcome.test_accuracy));
    assert_string_equal(got->outcome.digest, want.outcome.digest);
    assert_string_equal(got->outcome.reason, want.outcome.reason);
    assert_true(got->execution.seconds == want.execution.seconds);
    assert_int_equal(got->execution.rank, want.execution.rank);
    assert_string_equal(got->execution.device, "cpu");
    assert_string_equal(got->execution.variant, "cpu:avx2");
    assert_memory_equal(got->loss, loss, run * sizeof *loss);
    assert_int_equal(got->parameters != NULL, want.parameters != NULL);
    if (want.parameters)
        assert_memory_equal(got->parameters, parameters, floats * sizeof *parameters);
}

static int finds(struct lm_checkpoint *c, uint32_t k, uint32_t epochs, struct lm_record *record)
{
    struct lm_error err = {.text = ""};
    struct lm_trial trial = trial_of(k, epochs);
    int found = 0;
    if (lm_checkpoint_find(c, &trial, record, &found, &err) != LM_OK)
        fail_msg("%s", err.text);
    return found;
}

static void assert_finds(struct lm_checkpoint *c, uint32_t k, uint32_t epochs, uint32_t run, enum kind kind)
{
    struct lm_record record;
    assert_true(finds(c, k, epochs, &record));
    assert_is(&record, k, epochs, run, kind);
}

/* ---- tests ---- */

static void test_round_trip(void **state)
{
    (void)state;
    struct lm_record record;
    for (int reopened = 0; reopened < 2; reopened++) {
        struct lm_checkpoint *c = open_it();
        if (!reopened) {
            put(c, 0, 10, 10, BARE);
            put(c, 1, 10, 10, WITH_PARAMETERS);
            put(c, 2, 10, 3, BARE);
            put(c, 3, 10, 0, FAILED);
            put(c, 99, 10, 0, FAILED);
            put(c, 4, 10, 7, STATE);
        }
        assert_finds(c, 0, 10, 10, BARE); /* from the buffer, then from the file */
        assert_finds(c, 1, 10, 10, WITH_PARAMETERS);
        assert_finds(c, 2, 10, 3, BARE);
        assert_finds(c, 3, 10, 0, FAILED);
        assert_finds(c, 99, 10, 0, FAILED);
        assert_false(finds(c, 4, 10, &record)); /* it has not ended */
        assert_false(finds(c, 0, 11, &record));
        assert_false(finds(c, 5, 10, &record));
        assert_int_equal(lm_checkpoint_facts(c).ended, 5);
        assert_int_equal(lm_checkpoint_facts(c).states, 1);
        assert_int_equal(lm_checkpoint_facts(c).torn_bytes, 0);
        assert_int_equal(lm_checkpoint_facts(c).damaged, 0);
        flush_and_close(c);
        assert_int_equal(size_of_file() % 8, 0);
    }
}

static void test_zero_has_one_sign(void **state)
{
    (void)state;
    struct lm_checkpoint *c = open_it();
    struct lm_record found_record, record = make(1, 10, 10, BARE);
    struct lm_error err;
    int found;
    record.trial.initial_range = -0.0f;
    assert_int_equal(lm_checkpoint_put(c, &record, &err), LM_OK);
    record.trial.initial_range = 0.0f;
    assert_int_equal(lm_checkpoint_find(c, &record.trial, &found_record, &found, &err), LM_OK);
    assert_true(found);
    lm_checkpoint_close(c);
}

static void test_every_member_is_identity(void **state)
{
    (void)state;
    struct lm_checkpoint *c = open_it();
    struct lm_record found_record, record = make(1, 10, 10, BARE);
    struct lm_error err;
    assert_int_equal(lm_checkpoint_put(c, &record, &err), LM_OK);
    for (int member = 0; member < 8; member++) {
        struct lm_trial other = record.trial;
        int found = 1;
        switch (member) {
        case 0:
            other.learning_rate = nextafterf(other.learning_rate, 1.0f);
            break;
        case 1:
            other.decay = nextafterf(other.decay, 0.0f);
            break;
        case 2:
            other.initial_range = nextafterf(other.initial_range, 1.0f);
            break;
        case 3:
            other.epochs++;
            break;
        case 4:
            other.seed++;
            break;
        case 5:
            other.block += 32;
            break;
        case 6:
            other.shape.hidden1++;
            break;
        default:
            other.shape.hidden2++;
            break;
        }
        assert_int_equal(lm_checkpoint_find(c, &other, &found_record, &found, &err), LM_OK);
        assert_false(found);
    }
    lm_checkpoint_close(c);
}

/* The longest state that is not longer than the trial; the end of a shorter one counts, one without weights does not.
 */
static void test_start(void **state)
{
    (void)state;
    struct lm_checkpoint *c = open_it();
    struct lm_record record;
    struct lm_error err;
    int found;
    struct lm_trial trial = trial_of(1, 30);
    put(c, 1, 40, 35, STATE);
    put(c, 1, 30, 4, STATE);
    put(c, 1, 9, 9, WITH_PARAMETERS);
    put(c, 1, 20, 20, BARE);
    put(c, 2, 30, 29, STATE); /* another training */
    assert_int_equal(lm_checkpoint_find_start(c, &trial, &record, &found, &err), LM_OK);
    assert_true(found);
    assert_is(&record, 1, 9, 9, WITH_PARAMETERS);
    put(c, 1, 30, 12, STATE); /* replaces the state of 4 */
    assert_int_equal(lm_checkpoint_facts(c).states, 3);
    assert_int_equal(lm_checkpoint_find_start(c, &trial, &record, &found, &err), LM_OK);
    assert_is(&record, 1, 30, 12, STATE);
    trial.epochs = 50;
    assert_int_equal(lm_checkpoint_find_start(c, &trial, &record, &found, &err), LM_OK);
    assert_is(&record, 1, 40, 35, STATE);
    trial.epochs = 8;
    assert_int_equal(lm_checkpoint_find_start(c, &trial, &record, &found, &err), LM_OK);
    assert_false(found);
    put(c, 1, 30, 30, BARE); /* its end replaces its state */
    assert_int_equal(lm_checkpoint_facts(c).states, 2);
    assert_finds(c, 1, 30, 30, BARE);
    lm_checkpoint_close(c);
}

/* Trained once more for its weights: a state on the way takes nothing from what is known, not even after a kill. */
static void test_state_behind_an_end(void **state)
{
    (void)state;
    struct lm_record record;
    struct lm_error err;
    struct lm_trial trial = trial_of(1, 30);
    int found;
    struct lm_checkpoint *c = open_it();
    put(c, 1, 30, 30, BARE);
    put(c, 1, 30, 7, STATE);
    put(c, 1, 30, 12, STATE);
    for (int reopened = 0; reopened < 2; reopened++) {
        assert_finds(c, 1, 30, 30, BARE);
        assert_int_equal(lm_checkpoint_find_start(c, &trial, &record, &found, &err), LM_OK);
        assert_true(found);
        assert_is(&record, 1, 30, 12, STATE);
        assert_int_equal(lm_checkpoint_facts(c).ended, 1);
        assert_int_equal(lm_checkpoint_facts(c).states, 1);
        flush_and_close(c);
        c = open_it();
    }
    put(c, 1, 30, 30, WITH_PARAMETERS);
    assert_finds(c, 1, 30, 30, WITH_PARAMETERS);
    assert_int_equal(lm_checkpoint_facts(c).ended, 1);
    lm_checkpoint_close(c);
}

/* What a process that dies leaves: everything up to some byte. */
static void test_torn_at_every_byte(void **state)
{
    (void)state;
    off_t end[5];
    struct lm_checkpoint *c = open_it();
    static const enum kind kind[4] = {BARE, FAILED, WITH_PARAMETERS, BARE};
    end[0] = 128;
    for (uint32_t k = 0; k < 4; k++) {
        put(c, k, 2, k == 1 ? 0 : 2, kind[k]);
        end[k + 1] = (off_t)lm_checkpoint_facts(c).bytes;
    }
    flush_and_close(c);
    assert_int_equal(size_of_file(), end[4]);
    unsigned char *whole = malloc((size_t)end[4]);
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, whole, (size_t)end[4]), end[4]);
    close(fd);
    for (off_t length = 0; length <= end[4]; length++) {
        struct lm_record record;
        scratch_write(dir, "r.h5.ckpt", whole, (size_t)length);
        c = open_it();
        for (uint32_t k = 0; k < 4; k++) {
            if (end[k + 1] <= length)
                assert_finds(c, k, 2, k == 1 ? 0 : 2, kind[k]);
            else
                assert_false(finds(c, k, 2, &record));
        }
        put(c, 7, 2, 2, BARE); /* and it goes on from there */
        flush_and_close(c);
        c = open_it();
        assert_finds(c, 7, 2, 2, BARE);
        assert_int_equal(lm_checkpoint_facts(c).torn_bytes, 0);
        assert_int_equal(lm_checkpoint_facts(c).damaged, 0);
        lm_checkpoint_close(c);
    }
    free(whole);
}

/* A bit that has turned costs its own record, and no other; never a wrong answer. */
static void test_damaged_at_every_byte(void **state)
{
    (void)state;
    struct lm_checkpoint *c = open_it();
    for (uint32_t k = 0; k < 3; k++)
        put(c, k, 2, 2, k == 1 ? WITH_PARAMETERS : BARE);
    off_t first = 128 + (off_t)lm_record_bytes(0, 2, 0);
    off_t second = first + (off_t)lm_record_bytes(0, 2, lm_network_floats(trial_of(1, 2).shape));
    flush_and_close(c);
    off_t size = size_of_file();
    unsigned char *whole = malloc((size_t)size);
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, whole, (size_t)size), size);
    close(fd);
    for (off_t at = first; at < second; at++) {
        struct lm_record record;
        whole[at] ^= 0x10;
        scratch_write(dir, "r.h5.ckpt", whole, (size_t)size);
        c = open_it();
        assert_finds(c, 0, 2, 2, BARE);
        if (at < first + 12 || at >= first + 16) { /* those 4 bytes say nothing */
            assert_false(finds(c, 1, 2, &record));
            assert_true(lm_checkpoint_facts(c).damaged + lm_checkpoint_facts(c).torn_bytes > 0);
        }
        assert_finds(c, 2, 2, 2, BARE); /* also where the record's own length cannot be believed */
        lm_checkpoint_close(c);
        whole[at] ^= 0x10;
    }
    free(whole);
}

static void refused(const struct lm_checkpoint_of *other, const char *why)
{
    struct lm_checkpoint *c = (struct lm_checkpoint *)&c;
    struct lm_error err;
    off_t size = size_of_file();
    assert_int_equal(lm_checkpoint_open(path, other, &c, &err), LM_BAD_INPUT);
    assert_null(c);
    if (!strstr(err.text, why) || !strstr(err.text, path))
        fail_msg("'%s' does not say '%s'", err.text, why);
    assert_int_equal(size_of_file(), size);
}

static void test_other_sweeps(void **state)
{
    (void)state;
    struct lm_checkpoint *c = open_it();
    put(c, 1, 2, 2, BARE);
    flush_and_close(c);
    struct lm_checkpoint_of other = of;
    other.data_digest[63] = '0';
    refused(&other, "other data");
    other = of;
    other.split_seed = 1;
    refused(&other, "split seed is 1337, this one's 1");
    other = of;
    other.split = 1;
    refused(&other, "kind of split");
    other = of;
    other.holdout = 0.2;
    refused(&other, "hold-out is 0.1, this one's 0.2");
    other = of;
    other.arithmetic_version = 2;
    refused(&other, "arithmetic version");
    c = open_it();
    assert_finds(c, 1, 2, 2, BARE);
    lm_checkpoint_close(c);
}

static void test_no_checkpoint(void **state)
{
    (void)state;
    char text[300];
    memset(text, 'x', sizeof text);
    scratch_write(dir, "r.h5.ckpt", text, sizeof text);
    refused(&of, "no checkpoint");
    flush_and_close((unlink(path), open_it()));
    int fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, "\2", 1, 8), 1); /* the version, and so a wrong sum */
    close(fd);
    refused(&of, "damaged");
    unlink(path);
    assert_int_equal(mkdir(path, 0777), 0);
    struct lm_checkpoint *c;
    struct lm_error err;
    assert_int_equal(lm_checkpoint_open(path, &of, &c, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(rmdir(path), 0);
    scratch_write(dir, "r.h5.ckpt", "a user's own", 12);
    refused(&of, "no checkpoint");
    char *theirs;
    assert_true(asprintf(&theirs, "%s/theirs", dir) > 0);
    assert_int_equal(rename(path, theirs), 0);
    assert_int_equal(symlink(theirs, path), 0);
    assert_int_equal(lm_checkpoint_open(path, &of, &c, &err), LM_BAD_INPUT);
    free(theirs);
}

static void test_many(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    struct lm_checkpoint *c = open_it();
    for (uint32_t k = 0; k < MANY; k++)
        put(c, k, 3, 3, BARE);
    for (int reopened = 0; reopened < 2; reopened++) {
        struct lm_record record;
        for (uint32_t k = 0; k < MANY; k += 97)
            assert_finds(c, k, 3, 3, BARE);
        for (uint32_t k = MANY; k < 2 * MANY; k += 97)
            assert_false(finds(c, k, 3, &record));
        assert_int_equal(lm_checkpoint_facts(c).ended, MANY);
        flush_and_close(c);
        c = open_it();
    }
    lm_checkpoint_close(c);
}

/* States of a long training, one after the other: the file does not keep them all. */
static void test_garbage(void **state)
{
    (void)state;
    struct lm_checkpoint *c = open_it();
    put(c, 5, 10, 10, WITH_PARAMETERS);
    for (uint32_t k = 0; k < 3000; k++)
        put(c, 1, 40, 1 + k % 39, STATE);
    put(c, 6, 10, 10, BARE);
    flush_and_close(c);
    off_t before = size_of_file();
    assert_true(before > 2 << 20);
    c = open_it(); /* here it is put into order */
    assert_true(size_of_file() < 100 << 10);
    assert_finds(c, 5, 10, 10, WITH_PARAMETERS);
    assert_finds(c, 6, 10, 10, BARE);
    struct lm_trial trial = trial_of(1, 40);
    struct lm_record record;
    struct lm_error err;
    int found;
    assert_int_equal(lm_checkpoint_find_start(c, &trial, &record, &found, &err), LM_OK);
    assert_true(found);
    assert_is(&record, 1, 40, 1 + 2999 % 39, STATE);
    put(c, 8, 10, 10, BARE);
    flush_and_close(c);
    c = open_it();
    assert_finds(c, 8, 10, 10, BARE);
    assert_finds(c, 5, 10, 10, WITH_PARAMETERS);
    assert_int_equal(lm_checkpoint_facts(c).ended, 3);
    assert_int_equal(lm_checkpoint_facts(c).states, 1);
    lm_checkpoint_close(c);
    assert_false(scratch_exists(dir, "r.h5.ckpt.new"));
}

/* A full disk is a message, and what was flushed before it stays. */
static void test_no_room(void **state)
{
    (void)state;
    struct lm_error err;
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct lm_checkpoint *c = open_it();
    put(c, 1, 10, 10, BARE);
    assert_int_equal(lm_checkpoint_flush(c, &err), LM_OK);
    struct rlimit little = {(rlim_t)size_of_file() + 100, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    put(c, 3, 10, 10, WITH_PARAMETERS);
    assert_int_equal(lm_checkpoint_flush(c, &err), LM_FAILED);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_non_null(strstr(err.text, "File too large"));
    assert_non_null(strstr(err.text, path));
    lm_checkpoint_close(c);
    c = open_it();
    assert_finds(c, 1, 10, 10, BARE);
    lm_checkpoint_close(c);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_round_trip),
        T(test_zero_has_one_sign),
        T(test_every_member_is_identity),
        T(test_start),
        T(test_state_behind_an_end),
        T(test_torn_at_every_byte),
        T(test_damaged_at_every_byte),
        T(test_other_sweeps),
        T(test_no_checkpoint),
        T(test_many),
        T(test_garbage),
        T(test_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
