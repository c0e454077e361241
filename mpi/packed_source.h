/* packed_source.h: data that are one packed file (packed.h): opened by every rank, which reads its own parts. */
#ifndef LM_PACKED_SOURCE_H
#define LM_PACKED_SOURCE_H

#include "options.h"
#include "packed.h"
#include "world.h"

/* The file that --data, else $LIBRAS_DATA, names, if it is one and no folder; else NULL. */
const char *lm_packed_named(const struct lm_options *options);

/* path and scaler are rank 0's; all ranks open the file and normalise by it. The status is the same on all. */
int lm_packed_share(const struct lm_world *world, const char *path, const struct lm_scaler *scaler,
                    struct lm_packed **out);

#endif
