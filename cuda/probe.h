/* probe.h: lm_backend.probe of all GPU backends: does the device in use run this build's code? */
#ifndef LM_GPU_PROBE_H
#define LM_GPU_PROBE_H

#include "status.h"

int lm_gpu_probe(struct lm_error *err);

#endif
