/* report_stream.h: what `infer` says of a packed file. Rank 0 alone calls it. */
#ifndef LM_REPORT_STREAM_H
#define LM_REPORT_STREAM_H

#include "packed.h"
#include "report.h"

/* reading: seconds of the rank that read and normalised longest, whether it waited for that or not. In the format that
 * the options ask for. LM_FAILED if stdout cannot be written. */
int lm_report_stream(const struct lm_report_input *input, const struct lm_packed_layout *layout, double reading,
                     struct lm_error *err);

#endif
