/* filter_report.c: see filter_report.h. */
#include "filter_report.h"

#include <math.h>
#include <stdlib.h>

static const char *const way_name[] = {"global", "tile"};

const char *filter_judge_name(enum filter_judge judge)
{
    static const char *const name[] = {"the criterion (counts)", "the refined times", "the dissertation's form",
                                       "always global memory", "always a tile"};
    return name[judge];
}

/* ---- a point ---- */

int filter_is_tie(const struct filter_point *p)
{
    double x = p->measured[FILTER_GLOBAL], y = p->measured[FILTER_TILE];
    return fabs(x - y) <= FILTER_TIE * fmin(x, y);
}

enum filter_way filter_faster(const struct filter_point *p)
{
    return p->measured[FILTER_TILE] < p->measured[FILTER_GLOBAL] ? FILTER_TILE : FILTER_GLOBAL;
}

enum filter_way filter_choice(const struct filter_point *p, enum filter_judge judge)
{
    int tile = judge == FILTER_ALWAYS_TILE;
    if (judge == FILTER_BY_COUNTS)
        tile = p->criterion.why == LM_CACHING_PAYS;
    else if (judge == FILTER_BY_TIMES)
        tile = p->refined[FILTER_TILE] < p->refined[FILTER_GLOBAL];
    else if (judge == FILTER_BY_BOUND)
        tile = p->bound[FILTER_TILE] < p->bound[FILTER_GLOBAL];
    return tile ? FILTER_TILE : FILTER_GLOBAL;
}

struct filter_score filter_score_of(const struct filter_point *point, int n, enum filter_judge judge)
{
    struct filter_score s = {0};
    for (int k = 0; k < n; k++) {
        const struct filter_point *p = &point[k];
        enum filter_way chosen = filter_choice(p, judge), fast = filter_faster(p);
        double regret = p->measured[chosen] / p->measured[fast] - 1.0;
        s.mean_regret += regret / n;
        s.worst_regret = fmax(s.worst_regret, regret);
        if (filter_is_tie(p))
            continue;
        s.points++;
        s.right += chosen == fast;
        s.missed += chosen != fast && fast == FILTER_TILE;
        s.useless += chosen != fast && fast == FILTER_GLOBAL;
    }
    return s;
}

/* ---- the table ---- */

void filter_show_head(FILE *csv, int gpu)
{
    printf("%3s %3s %4s %2s  %-11s %6s  %-6s %-6s %-6s  %9s %9s  %9s %9s  ", "a", "b", "K", "z", "tile", "A B/n",
           "counts", "times", "bound", "global us", "tile us", "bound us", "tile us");
    if (gpu)
        printf("%9s %9s  %-6s %-5s ", "measured", "tile us", "faster", "bits");
    printf("%9s %9s\n", "CPU ns", "predicted");
    if (csv)
        fprintf(csv, "a,b,references,bytes,rows,columns,tile_a,tile_b,loads_per_element,criterion_loads_per_element,"
                     "criterion_tile,refined_tile,bound_tile,global_refined_s,tile_refined_s,global_bound_s,"
                     "tile_bound_s,global_measured_s,tile_measured_s,tile_faster,tie,same_bits,cpu_predicted_s,"
                     "cpu_measured_s,cpu_elements\n");
}

static void write_csv(const struct filter_point *p, FILE *csv, int gpu)
{
    fprintf(csv, "%u,%u,%u,%u,%u,%u,%u,%u,%.6g,%.6g,%d,%d,%d,%.6g,%.6g,%.6g,%.6g,", p->f.a, p->f.b, p->f.references,
            p->f.bytes, p->rows, p->columns, p->tile.a, p->tile.b, filter_tile_loads(&p->f, p->tile),
            p->criterion.per_element, filter_choice(p, FILTER_BY_COUNTS), filter_choice(p, FILTER_BY_TIMES),
            filter_choice(p, FILTER_BY_BOUND), p->refined[FILTER_GLOBAL], p->refined[FILTER_TILE],
            p->bound[FILTER_GLOBAL], p->bound[FILTER_TILE]);
    if (gpu)
        fprintf(csv, "%.6g,%.6g,%d,%d,%d,", p->measured[FILTER_GLOBAL], p->measured[FILTER_TILE], filter_faster(p),
                filter_is_tie(p), p->same_bits);
    else
        fprintf(csv, ",,,,,");
    fprintf(csv, "%.6g,%.6g,%.0f\n", p->cpu_predicted, p->cpu_measured, p->cpu_elements);
}

void filter_show(const struct filter_point *p, FILE *csv, int gpu)
{
    char tile[24];
    snprintf(tile, sizeof tile, "%ux%u", p->tile.a, p->tile.b);
    printf("%3u %3u %4u %2u  %-11s %6.2f  %-6s %-6s %-6s  %9.1f %9.1f  %9.0f %9.0f  ", p->f.a, p->f.b, p->f.references,
           p->f.bytes, tile, filter_tile_loads(&p->f, p->tile), way_name[filter_choice(p, FILTER_BY_COUNTS)],
           way_name[filter_choice(p, FILTER_BY_TIMES)], way_name[filter_choice(p, FILTER_BY_BOUND)],
           1e6 * p->refined[FILTER_GLOBAL], 1e6 * p->refined[FILTER_TILE], 1e6 * p->bound[FILTER_GLOBAL],
           1e6 * p->bound[FILTER_TILE]);
    if (gpu)
        printf("%9.1f %9.1f  %-6s %-5s ", 1e6 * p->measured[FILTER_GLOBAL], 1e6 * p->measured[FILTER_TILE],
               filter_is_tie(p) ? "tie" : way_name[filter_faster(p)], p->same_bits ? "same" : "WRONG");
    printf("%9.2f %9.2f\n", 1e9 * p->cpu_measured / p->cpu_elements, 1e9 * p->cpu_predicted / p->cpu_elements);
    fflush(stdout);
    if (csv)
        write_csv(p, csv, gpu);
}

/* ---- what it comes to ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* way: FILTER_WAYS is the CPU. */
static double error_of(const struct filter_point *p, int way)
{
    if (way == FILTER_WAYS)
        return fabs(p->cpu_predicted / p->cpu_measured - 1.0);
    return fabs(p->refined[way] / p->measured[way] - 1.0);
}

static void show_errors(const struct filter_point *point, int n, int way, const char *name)
{
    double *error = malloc((size_t)n * sizeof *error);
    if (!error)
        return;
    for (int k = 0; k < n; k++)
        error[k] = error_of(&point[k], way);
    qsort(error, (size_t)n, sizeof *error, ascending);
    printf("%-24s median error %.1f %%, 90th percentile %.1f %%, largest %.1f %%\n", name, 100.0 * error[n / 2],
           100.0 * error[n * 9 / 10], 100.0 * error[n - 1]);
    free(error);
}

static double share_of(struct filter_score s)
{
    return s.points ? (double)s.right / s.points : NAN;
}

static void show_score(const char *name, struct filter_score s)
{
    printf(
        "%-24s right %3d of %3d (%5.1f %%); tiles missed %d, for nothing %d; regret %.1f %% on the average, %.1f %% at "
        "most\n",
        name, s.right, s.points, 100.0 * share_of(s), s.missed, s.useless, 100.0 * s.mean_regret,
        100.0 * s.worst_regret);
}

static void show_choices(const struct filter_point *point, int n)
{
    int tiles[FILTER_JUDGES] = {0}, agree = 0;
    for (int k = 0; k < n; k++) {
        for (int judge = 0; judge < FILTER_JUDGES; judge++)
            tiles[judge] += filter_choice(&point[k], (enum filter_judge)judge) == FILTER_TILE;
        agree += filter_choice(&point[k], FILTER_BY_COUNTS) == filter_choice(&point[k], FILTER_BY_TIMES);
    }
    printf(
        "%d points: a tile is chosen at %d by the criterion, at %d by the refined times, at %d by the dissertation's "
        "form; the first two agree at %d\n",
        n, tiles[FILTER_BY_COUNTS], tiles[FILTER_BY_TIMES], tiles[FILTER_BY_BOUND], agree);
}

int filter_show_summary(const struct filter_point *point, int n, int gpu)
{
    int ties = 0, wrong = 0;
    puts("");
    if (n == 0) {
        puts("caching points=0 status=INVALID");
        return 1;
    }
    show_errors(point, n, FILTER_WAYS, "CPU, W_S / S_cpu");
    show_choices(point, n);
    if (!gpu) {
        printf("caching points=%d refined_right=n/a criterion_right=n/a bound_right=n/a status=NO_GPU\n", n);
        return 0;
    }
    show_errors(point, n, FILTER_GLOBAL, "GPU, global, refined");
    show_errors(point, n, FILTER_TILE, "GPU, tile, refined");
    for (int k = 0; k < n; k++) {
        ties += filter_is_tie(&point[k]);
        wrong += point[k].same_bits != 1;
    }
    for (int judge = 0; judge < FILTER_ALL_JUDGES; judge++)
        show_score(filter_judge_name((enum filter_judge)judge), filter_score_of(point, n, (enum filter_judge)judge));
    printf(
        "caching points=%d ties=%d refined_right=%.3f criterion_right=%.3f bound_right=%.3f goal=0.900 wrong_bits=%d "
        "status=%s\n",
        n, ties, share_of(filter_score_of(point, n, FILTER_BY_TIMES)),
        share_of(filter_score_of(point, n, FILTER_BY_COUNTS)), share_of(filter_score_of(point, n, FILTER_BY_BOUND)),
        wrong, wrong ? "INVALID" : "VALID");
    return wrong != 0;
}
