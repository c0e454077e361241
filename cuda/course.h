/* course.h: one trial on its way through a GPU: what every way to train shares.
 *
 * A way to train takes the sample orders from here, tells each epoch's loss back, and stops when it is told that the
 * training has ended. src/training.c decides the same for the CPUs, in the same words.
 */
#ifndef LM_GPU_COURSE_H
#define LM_GPU_COURSE_H

#include "session.h"
#include "training.h"

struct lm_gpu_course {
    const struct lm_trial *trial;
    const struct lm_samples *samples;
    struct lm_training_result *result;
    struct lm_order order;
    struct lm_gpu_layout layout;
    float *packed; /* owned, (layout.floats): the start, and at the end the trained network */
    float rate;    /* of the epoch to come */
    uint32_t epoch;
    int diverged;
    struct lm_gpu_ticker ticker;
};

/* The sum of the next epoch's losses. Not 0: the training has ended, by divergence or because that was the last one. */
int lm_gpu_course_epoch(struct lm_gpu_course *course, double loss_sum);
/* LM_OK, or LM_STOPPED if the program has asked for an end. */
int lm_gpu_course_goes_on(const struct lm_gpu_course *course, struct lm_error *err);

/* A block that a kernel can be launched with; err may be NULL. */
int lm_gpu_check_block(uint32_t block, struct lm_error *err);

/* lm_backend.train for all of them. */
int lm_gpu_train(void *session, const struct lm_trial *trial, size_t n, struct lm_training_result *result,
                 struct lm_tick tick, struct lm_error *err);

/* The ways: naive.c, resident.c, block.c. */
int lm_gpu_train_naive(struct lm_gpu_session *s, struct lm_gpu_course *course, struct lm_error *err);
int lm_gpu_train_resident(struct lm_gpu_session *s, struct lm_gpu_course *course, struct lm_error *err);
int lm_gpu_train_batch(struct lm_gpu_session *s, struct lm_gpu_course *course, struct lm_error *err);
int lm_gpu_train_whole(struct lm_gpu_session *s, struct lm_gpu_course *course, struct lm_error *err);

#endif
