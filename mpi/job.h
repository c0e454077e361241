/* job.h: what every job that trains does, whatever decides its trials: read the data, score the test samples, validate,
 * write the file, report. run.c and sweep.c tell the story; here are the chapters that they share.
 *
 * All functions are called by all ranks, and return the same code on all.
 */
#ifndef LM_JOB_H
#define LM_JOB_H

#include "backend.h"
#include "command.h"
#include "decide.h"
#include "output.h"
#include "replicas.h"
#include "report.h"
#include "results.h"

/* The problem and the session are on every rank, the rest on rank 0. */
struct lm_job {
    const struct lm_call *call;
    const char *title;
    double holdout;
    struct lm_decide decide;
    const struct lm_backend *backend; /* that trains */
    struct lm_problem problem;
    void *session;
    const struct lm_backend *scorer; /* that scores the test samples; mostly the same, in the same session */
    void *scorer_session;
    struct lm_shape decided_shape; /* rank 0: of the network that it was chosen for */
    struct lm_output output;
    struct lm_results results;
    struct lm_results_writer *writer;
    double seconds[LM_PHASES];
    struct lm_times times;
    int kept_old; /* rank 0: --force, and nothing that is worth an older file */

    /* Rank 0, once all is trained: whose weights score the test samples. */
    uint64_t network_trial; /* UINT64_MAX: no trial has any */
    struct lm_shape network_shape;
    float *network;       /* owned */
    double *network_loss; /* owned, (its epochs_run) */

    /* Rank 0: trials to be trained again. */
    uint64_t n_replicas;
    struct lm_replica *replica; /* owned */
    struct lm_early *early;     /* owned; NULL: none is trained early */
};

/* Rank 0 reads data, split and normalisation; all receive the problem. */
int lm_job_load(struct lm_job *job);
/* Once the data and the trials are known: which backends do it (decide.h), and the table of ranks. Rank 0's: the
 * trainings, after lm_work_end; samples that each of them scores; whose networks probably score the test samples. */
int lm_job_decide(struct lm_job *job, const struct lm_work *work, double scored, struct lm_shape shape);
/* Rank 0, after the training: what it took, if it was what lm_job_decide heard of. */
void lm_job_trained(struct lm_job *job);
/* Both, with the threads that this rank may use. */
int lm_job_open_backend(struct lm_job *job);
/* Each rank its shard of the test samples; gathered on rank 0. */
int lm_job_infer(struct lm_job *job);
/* Scores and replicas against cpu-ref, bit for bit. */
int lm_job_validate(struct lm_job *job);
/* The file, then the report; its code is the program's. */
int lm_job_finish(struct lm_job *job);
/* Also after a failure, at any point: closes, removes what is not complete, frees. */
void lm_job_end(struct lm_job *job);

#endif
