/* filter_report.h: whether a tile pays, told for points of a sweep: who chose what, which way was faster, how often
 * each was right. Prints; caching_accuracy.c makes the points.
 */
#ifndef FILTER_REPORT_H
#define FILTER_REPORT_H

#include <stdio.h>

#include "filter_counts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The GPU's two ways, and who chooses between them: the criterion by counts (caching.h), the refined times, the times
 * in the dissertation's form (model_time.h); and two that never look. */
enum filter_way { FILTER_GLOBAL, FILTER_TILE, FILTER_WAYS };
enum filter_judge {
    FILTER_BY_COUNTS,
    FILTER_BY_TIMES,
    FILTER_BY_BOUND,
    FILTER_JUDGES,
    FILTER_NEVER_TILE = FILTER_JUDGES,
    FILTER_ALWAYS_TILE,
    FILTER_ALL_JUDGES
};
const char *filter_judge_name(enum filter_judge judge);

struct filter_point {
    struct filter f;
    struct filter_tile tile;
    uint32_t rows, columns;
    struct lm_caching criterion;
    double refined[FILTER_WAYS], bound[FILTER_WAYS];  /* s a launch, predicted */
    double measured[FILTER_WAYS];                     /* s a launch; 0 where there is no GPU */
    double cpu_elements, cpu_predicted, cpu_measured; /* s of so many elements */
    int same_bits;                                    /* of both ways and the plain loop; -1 where there is no GPU */
};

/* Two ways within 5 % of each other: which is faster changes from run to run. */
#define FILTER_TIE 0.05
int filter_is_tie(const struct filter_point *p);
enum filter_way filter_faster(const struct filter_point *p);
enum filter_way filter_choice(const struct filter_point *p, enum filter_judge judge);

/* Over n measured points. Right is who chose the faster way; ties are not counted but in the regrets: the time of what
 * was chosen over that of the faster way, less one. */
struct filter_score {
    int points, right;   /* without ties */
    int missed, useless; /* wrong ones: tiles that would have paid; tiles that did not */
    double mean_regret, worst_regret;
};
struct filter_score filter_score_of(const struct filter_point *point, int n, enum filter_judge judge);

/* A table, a line a point; csv: the same with more digits, or NULL. gpu: 1 where points are measured. */
void filter_show_head(FILE *csv, int gpu);
void filter_show(const struct filter_point *p, FILE *csv, int gpu);
/* Errors, scores and, last, the verdict in one line. 0; 1 if a result's bits are wrong. */
int filter_show_summary(const struct filter_point *point, int n, int gpu);

#ifdef __cplusplus
}
#endif

#endif
