/* paths.h: the results file's default name. */
#ifndef LM_PATHS_H
#define LM_PATHS_H

#include <stddef.h>

/* results/libras_<Slurm job[_array task], else UTC time>.h5 */
void lm_default_out(char *path, size_t size);

#endif
