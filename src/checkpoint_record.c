/* checkpoint_record.c: see checkpoint_record.h. */
#include "checkpoint_record.h"

#include <stdio.h>
#include <string.h>

#include "crc32c.h"

_Static_assert(sizeof(struct lm_record_body) == 176, "the file's layout");

static size_t whole_words(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static unsigned nibble(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
}

static void digest_bytes(const char *hex, unsigned char bytes[32])
{
    for (int k = 0; k < 32; k++)
        bytes[k] = (unsigned char)((nibble(hex[2 * k]) << 4 | nibble(hex[2 * k + 1])) & 255u);
}

static void digest_text(const unsigned char bytes[32], char *hex)
{
    static const char digit[] = "0123456789abcdef";
    for (int k = 0; k < 32; k++) {
        hex[2 * k] = digit[bytes[k] >> 4];
        hex[2 * k + 1] = digit[bytes[k] & 15];
    }
    hex[64] = '\0';
}

size_t lm_record_floats(const struct lm_record *record)
{
    return record->parameters ? lm_network_floats(record->trial.shape) : 0;
}

size_t lm_record_bytes(uint64_t reason, uint64_t losses, uint64_t floats)
{
    return sizeof(struct lm_record_head) + sizeof(struct lm_record_body) + whole_words(reason) +
           losses * sizeof(double) + whole_words(floats * sizeof(float));
}

static void fill_body(const struct lm_record *record, struct lm_record_body *body)
{
    const struct lm_trial *trial = &record->trial;
    const struct lm_outcome *outcome = &record->outcome;
    memset(body, 0, sizeof *body);
    body->learning_rate = trial->learning_rate;
    body->decay = trial->decay;
    body->initial_range = trial->initial_range;
    body->epochs = trial->epochs;
    body->seed = trial->seed;
    body->block = trial->block;
    body->hidden1 = trial->shape.hidden1;
    body->hidden2 = trial->shape.hidden2;
    body->status = (uint32_t)outcome->status;
    body->epochs_run = outcome->epochs_run;
    body->train_loss = outcome->train_loss;
    body->validation_loss = outcome->validation_loss;
    body->validation_accuracy = outcome->validation_accuracy;
    body->test_loss = outcome->test_loss;
    body->test_accuracy = outcome->test_accuracy;
    body->seconds = record->execution.seconds;
    body->rank = record->execution.rank;
    body->floats = (uint32_t)lm_record_floats(record);
    body->reason_bytes = (uint32_t)strlen(outcome->reason);
    body->has_digest = outcome->digest[0] != '\0';
    if (body->has_digest)
        digest_bytes(outcome->digest, body->digest);
    snprintf(body->device, sizeof body->device, "%.*s", (int)sizeof body->device - 1, record->execution.device);
    snprintf(body->variant, sizeof body->variant, "%s", record->execution.variant);
}

static void read_body(const struct lm_record_body *body, struct lm_record *record)
{
    record->trial = (struct lm_trial){.learning_rate = body->learning_rate,
                                      .decay = body->decay,
                                      .initial_range = body->initial_range,
                                      .epochs = body->epochs,
                                      .seed = body->seed,
                                      .block = body->block,
                                      .shape = {body->hidden1, body->hidden2}};
    struct lm_outcome *outcome = &record->outcome;
    *outcome = (struct lm_outcome){.status = (int)body->status,
                                   .epochs_run = body->epochs_run,
                                   .train_loss = body->train_loss,
                                   .validation_loss = body->validation_loss,
                                   .validation_accuracy = body->validation_accuracy,
                                   .test_loss = body->test_loss,
                                   .test_accuracy = body->test_accuracy};
    if (body->has_digest)
        digest_text(body->digest, outcome->digest);
    record->execution = (struct lm_trial_execution){.seconds = body->seconds, .rank = body->rank};
    snprintf(record->execution.device, sizeof record->execution.device, "%.*s", (int)sizeof body->device, body->device);
    snprintf(record->execution.variant, sizeof record->execution.variant, "%.*s", (int)sizeof body->variant,
             body->variant);
}

/* Do its numbers fit each other and the bytes that it has? A sum that is right says that we wrote it; this says that
 * nothing is read beyond its end whoever did. */
static int is_sound(const struct lm_record_head *head, const struct lm_record_body *body)
{
    struct lm_shape shape = {body->hidden1, body->hidden2};
    int trained = body->status == LM_TRIAL_OK || body->status == LM_TRIAL_DIVERGED || body->status == LM_TRIAL_NOT_RUN;
    if (body->status > LM_TRIAL_NOT_RUN || body->epochs_run > body->epochs ||
        body->reason_bytes >= sizeof((struct lm_outcome *)0)->reason ||
        lm_record_bytes(body->reason_bytes, body->epochs_run, body->floats) != head->bytes)
        return 0;
    if (trained && (shape.hidden1 < 1 || shape.hidden1 > LM_MAX_HIDDEN || shape.hidden2 < 1 ||
                    shape.hidden2 > LM_MAX_HIDDEN || body->epochs < 1))
        return 0;
    return body->floats == 0 || (trained && body->floats == lm_network_floats(shape));
}

/* bytes: a whole record, with a right sum. */
int lm_record_parse(const unsigned char *bytes, struct lm_record *record)
{
    struct lm_record_head head;
    struct lm_record_body body;
    memcpy(&head, bytes, sizeof head);
    memcpy(&body, bytes + sizeof head, sizeof body);
    if (!is_sound(&head, &body))
        return 0;
    const unsigned char *at = bytes + sizeof head + sizeof body;
    read_body(&body, record);
    memcpy(record->outcome.reason, at, body.reason_bytes);
    at += whole_words(body.reason_bytes);
    record->loss = (const double *)(const void *)at; /* at a multiple of 8, as all parts are */
    at += body.epochs_run * sizeof(double);
    record->parameters = body.floats ? (const float *)(const void *)at : NULL;
    return 1;
}

void lm_record_make(const struct lm_record *record, size_t bytes, unsigned char *to)
{
    struct lm_record_head head = {.word = LM_RECORD_WORD, .bytes = (uint32_t)bytes};
    struct lm_record_body body;
    memset(to, 0, bytes);
    fill_body(record, &body);
    unsigned char *at = to + sizeof head;
    memcpy(at, &body, sizeof body);
    at += sizeof body;
    memcpy(at, record->outcome.reason, body.reason_bytes);
    at += whole_words(body.reason_bytes);
    if (body.epochs_run)
        memcpy(at, record->loss, body.epochs_run * sizeof(double));
    at += body.epochs_run * sizeof(double);
    if (body.floats)
        memcpy(at, record->parameters, body.floats * sizeof(float));
    head.sum = lm_crc32c(0, to + sizeof head, bytes - sizeof head);
    memcpy(to, &head, sizeof head);
}
