/* verify.h: the two halves of `libras_mpi verify`. */
#ifndef LM_VERIFY_H
#define LM_VERIFY_H

#include "command.h"
#include "results.h"

/* verify RESULTS.h5: all ranks; the replicas are trained again over them. */
int lm_verify_file(const struct lm_call *call);
/* verify A.h5 B.h5: rank 0 alone; an exit code. */
int lm_verify_pair(const struct lm_call *call);

/* The checks and the verdict on stdout, as text or JSON. */
int lm_verify_report(const struct lm_call *call, const struct lm_results *checks, const char *verdict,
                     struct lm_error *err);

#endif
