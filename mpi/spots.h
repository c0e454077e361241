/* spots.h: some of a stream's samples, evenly spread, scored once more by the CPU reference and in double. */
#ifndef LM_SPOTS_H
#define LM_SPOTS_H

#include "results.h"
#include "world.h"

struct lm_spots {
    struct lm_shape shape;
    const float *parameters; /* borrowed */
    uint64_t total, chosen;  /* of all ranks */
    size_t room, used;
    float *x, *scores;                   /* owned, (room, 64) and (room, 15): those that wait for their check */
    void *session;                       /* of cpu-ref */
    struct lm_check bits, letters, real; /* the rows "scores", "predictions" and "float64", of this rank */
};

/* chosen of total samples (all, if it is more); 0: none. */
int lm_spots_begin(struct lm_spots *spots, const struct lm_world *world, struct lm_shape shape, const float *parameters,
                   uint64_t total, uint64_t chosen, struct lm_error *err);
void lm_spots_end(struct lm_spots *spots);

/* Samples, normalised or as pixels. */
struct lm_spots_from {
    const float *x; /* (n, 64); or NULL: */
    const uint8_t *pixel;
    const float (*grey)[256]; /* (64, 256): what value v of pixel p stands for */
};
/* Keeps the chosen ones of samples first ... first + n - 1; checks what it has where it has no room for more. */
int lm_spots_add(struct lm_spots *spots, uint64_t first, size_t n, struct lm_spots_from from, const float *scores,
                 struct lm_error *err);
/* Checks those that wait. */
int lm_spots_check(struct lm_spots *spots, struct lm_error *err);
/* All ranks: their counts as rows of rank 0's results; which: LM_SPOTS_..., added up. */
enum { LM_SPOTS_SCORES = 1, LM_SPOTS_PREDICTIONS = 2, LM_SPOTS_FLOAT64 = 4 };
int lm_spots_rows(const struct lm_spots *spots, const struct lm_world *world, int which, struct lm_results *results);

#endif
