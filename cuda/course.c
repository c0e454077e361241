/* course.c: see course.h. */
#include "course.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int lm_gpu_course_epoch(struct lm_gpu_course *course, double loss_sum)
{
    double loss = loss_sum / (double)course->order.n;
    if (!isfinite(loss)) {
        lm_training_diverged(course->result, course->epoch);
        course->diverged = 1;
        return 1;
    }
    course->result->loss[course->epoch++] = loss;
    course->result->epochs_run = course->epoch;
    course->rate = course->rate * course->trial->decay;
    return course->epoch == course->trial->epochs;
}

int lm_gpu_course_goes_on(const struct lm_gpu_course *course, struct lm_error *err)
{
    if (!course->ticker.stop)
        return LM_OK;
    return lm_fail(err, LM_STOPPED, "stopped in epoch %u of %u", course->epoch + 1, course->trial->epochs);
}

static int begin(struct lm_gpu_session *s, struct lm_gpu_course *course, struct lm_error *err)
{
    const struct lm_trial *trial = course->trial;
    int code = lm_order_begin(&course->order, trial->seed, s->problem->count, s->problem->train.n, err);
    if (code != LM_OK)
        return code;
    course->layout = lm_gpu_layout_of(trial->shape);
    course->packed = malloc(course->layout.floats * sizeof *course->packed);
    if (!course->packed)
        return lm_fail_memory(err, course->layout.floats * sizeof *course->packed, "a network");
    lm_network_initialise(trial->shape, trial->seed, trial->initial_range, course->result->parameters);
    lm_gpu_pack(trial->shape, course->result->parameters, course->packed);
    return LM_OK;
}

int lm_gpu_check_block(uint32_t block, struct lm_error *err)
{
    struct lm_error nobody;
    if (block >= 32 && block <= 1024 && block % 32 == 0)
        return LM_OK;
    err = err ? err : &nobody;
    return lm_fail(err, LM_FAILED, "block: %u threads are not a multiple of 32 from 32 to 1024", block);
}

static int train_one(struct lm_gpu_session *s, struct lm_gpu_course *course, struct lm_error *err)
{
    int code = lm_gpu_check_block(course->trial->block, err);
    if (code == LM_OK)
        code = begin(s, course, err);
    /* Without samples an epoch's mean loss is 0 / 0, here as on a CPU. */
    if (code == LM_OK && (course->order.n > 0 || !lm_gpu_course_epoch(course, 0.0)))
        code = s->ways->train(s, course, err);
    if (code == LM_OK && !course->diverged) {
        lm_gpu_unpack(course->trial->shape, course->packed, course->result->parameters);
        lm_training_finished(course->trial, course->result);
    }
    free(course->packed);
    lm_order_end(&course->order);
    return code;
}

/* A failure that the device survives is this trial's alone: a launch that was refused, a network too large. */
static int only_this_trial(const struct lm_trial *trial, struct lm_training_result *result, const struct lm_error *err)
{
    if (err->code == LM_STOPPED || !lm_gpu_alive())
        return err->code;
    lm_training_begin(trial, 0, result);
    snprintf(result->reason, sizeof result->reason, "%.*s", (int)sizeof result->reason - 1, err->text);
    return LM_OK;
}

int lm_gpu_train(void *session, const struct lm_trial *trial, size_t n, struct lm_training_result *result,
                 struct lm_tick tick, struct lm_error *err)
{
    struct lm_gpu_session *s = session;
    int code = LM_OK;
    for (size_t k = 0; k < n && code == LM_OK; k++) {
        double start = lm_gpu_now();
        struct lm_gpu_course course = {.trial = &trial[k],
                                       .samples = &s->problem->train,
                                       .result = &result[k],
                                       .rate = trial[k].learning_rate,
                                       .ticker = {tick, start, 0}};
        lm_training_begin(&trial[k], 0, &result[k]);
        code = train_one(s, &course, err);
        if (code != LM_OK)
            code = only_this_trial(&trial[k], &result[k], err);
        result[k].seconds = lm_gpu_now() - start;
    }
    return code;
}
