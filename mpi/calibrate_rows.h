/* calibrate_rows.h: measuring what a results file costs beside its bytes. */
#ifndef LM_CALIBRATE_ROWS_H
#define LM_CALIBRATE_ROWS_H

#include "calibrate.h"

/* job.results and job.row, of trials of 51 epochs without weights. Writes files at path, which are gone afterwards.
 * LM_FAILED. */
int lm_calibrate_rows(const char *path, struct lm_calibration *out, struct lm_error *err);

#endif
