/* reference.h: backend cpu-ref's kernels: the definition (arithmetic.h) as a plain C loop. */
#ifndef LM_REFERENCE_H
#define LM_REFERENCE_H

#include "training.h"

/* The same source, compiled twice: with plain flags, where fmaf() is a call of the C library (15 us a step), and with
 * -mfma, where it is one instruction (3 us). The same bits; the processor decides which one is used. */
extern const struct lm_cpu_kernels lm_reference_plain;
extern const struct lm_cpu_kernels lm_reference_fma;

#endif
