/* keep_kind.h: which trials' weights a results file holds (--keep-weights, and keep_weights of a sweep file). */
#ifndef LM_KEEP_KIND_H
#define LM_KEEP_KIND_H

enum lm_keep { LM_KEEP_ALL, LM_KEEP_NONE, LM_KEEP_TOP };

#endif
