/* verify.h: the parts of `libras_mpi verify`. */
#ifndef LM_VERIFY_H
#define LM_VERIFY_H

#include "command.h"
#include "results.h"
#include "stored.h"

/* verify RESULTS.h5: all ranks; the replicas are trained again over them. */
int lm_verify_file(const struct lm_call *call);
/* verify A.h5 B.h5: rank 0 alone; an exit code. */
int lm_verify_pair(const struct lm_call *call);

/* The data and scores of a file whose scores stream, by all ranks; nothing for another file. stored and checks are rank
 * 0's. The status is the same on all. */
int lm_verify_stream(const struct lm_call *call, struct lm_stored *stored, struct lm_results *checks);

/* What a sweep's groups say, computed again from the rows of its file: the checks "configurations" and "leaderboard".
 * Nothing for the file of no sweep. */
int lm_verify_sweep(struct lm_stored *stored, struct lm_results *checks, struct lm_error *err);
/* The same of two files against each other, and "search", "rungs"; nothing where neither is a sweep's. */
int lm_verify_sweep_pair(struct lm_stored *a, struct lm_stored *b, struct lm_results *checks, struct lm_error *err);

/* The checks and the verdict on stdout, as text or JSON. */
int lm_verify_report(const struct lm_call *call, const struct lm_results *checks, const char *verdict,
                     struct lm_error *err);

#endif
