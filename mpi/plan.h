/* plan.h: what `libras_mpi plan` knows of a run that is not made, in numbers; rank 0 alone. plan.c reads what is to be
 * done and the machine, plan_whole.c makes times of them, plan_text.c and plan_json.c say them.
 */
#ifndef LM_PLAN_H
#define LM_PLAN_H

#include "forecast.h"
#include "model_decide.h"

struct lm_plan {
    const struct lm_call *call;
    struct lm_machine machine;
    char path[LM_MACHINE_PATH];
    const char *machine_path;
    int sweep; /* 1: the trials are a sweep file's, with a checkpoint; 0: `run`, by its options */
    uint64_t trials;
    double holdout, kept; /* networks in the file */
    struct lm_forecast_samples samples;
    struct lm_work work; /* owned */
};

/* ---- the whole ---- */

/* What a job consists of, in the order in which it is done. */
enum lm_plan_part {
    LM_PLAN_START,    /* MPI, options, and a GPU's context */
    LM_PLAN_DATA,     /* rank 0 reads, all receive */
    LM_PLAN_TRAIN,    /* the slowest rank */
    LM_PLAN_SCORE,    /* each network on the samples that are held out; of `run` also on the test samples */
    LM_PLAN_GATHER,   /* rows, losses and weights to rank 0 */
    LM_PLAN_VALIDATE, /* the reference: trials trained again, and scores on rank 0 */
    LM_PLAN_FILE,     /* the results file, of a sweep also its checkpoint; on rank 0 */
    LM_PLAN_PARTS
};
extern const char *const lm_plan_part_name[LM_PLAN_PARTS];

struct lm_plan_whole {
    double ranks, part[LM_PLAN_PARTS]; /* s */
    double seconds;                    /* their sum */
    double speed_up;                   /* seconds of one rank over these */
};

/* More ranks with one device each: 1, 2, 4, ... GPUs up to 64; or cores, as many as there are. */
#define LM_PLAN_COUNTS 24
struct lm_plan_table {
    const char *device, *where; /* as of struct lm_prediction */
    int gpu, n;
    struct lm_plan_whole whole[LM_PLAN_COUNTS];
    /* At the most ranks: the largest part but training, and from how many on it is more than training; 0: it is less
     * there, too. */
    enum lm_plan_part bottleneck;
    double from;
};

double lm_plan_file_bytes(const struct lm_plan *plan);
/* Samples that each trained network scores. */
double lm_plan_scored(const struct lm_plan *plan);
/* prediction: of so many ranks. speed_up is 1. */
struct lm_plan_whole lm_plan_whole(const struct lm_plan *plan, const struct lm_prediction *prediction, double ranks);
/* Of the device by which one rank trains in `where`. 0: the machine has none of the name, or it does not fit. */
int lm_plan_table(const struct lm_plan *plan, const char *device, const char *where, struct lm_plan_table *out);

/* ---- what is said ---- */

/* What a batch job is asked for. */
struct lm_plan_job {
    double nodes, tasks, gpus_a_node; /* gpus_a_node 0: none */
    double minutes;
};
/* Of a table: as many ranks as still have a good share of the ideal speed-up; cores: all, but no more than trials. */
struct lm_plan_job lm_plan_job(const struct lm_plan *plan, const struct lm_plan_table *table);

/* All predictions of one rank, and the choice among them. */
struct lm_plan_choice {
    struct lm_prediction candidate[LM_PREDICTIONS];
    int n;
    struct lm_decision decision;
};
void lm_plan_text(const struct lm_plan *plan, const struct lm_plan_choice *choice);
void lm_plan_json(const struct lm_plan *plan, const struct lm_plan_choice *choice);

#endif
