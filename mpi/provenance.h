/* provenance.h: by what, where and how a results file was made: the attributes of /provenance. */
#ifndef LM_PROVENANCE_H
#define LM_PROVENANCE_H

#include "options.h"
#include "results.h"
#include "world.h"

/* argv as one line, quoted where a shell would need it. Owned by the caller; NULL: out of memory. */
char *lm_command_line(int argc, char **argv);

/* Versions of what was built in, one "name value" pair after the other; n pairs. For info and the file. */
struct lm_pair {
    const char *name;
    char value[200];
};
#define LM_VERSIONS 6
void lm_versions(struct lm_pair pair[LM_VERSIONS]);

/* Who made it, when and how: time, format and arithmetic versions, and as notes the command line, options, versions,
 * hosts (from results->ranks), Slurm job, chosen environment. Only variables of a list of names are stored, never the
 * whole environment: it may hold secrets. */
int lm_provenance(const struct lm_options *options, const char *command_line, struct lm_results *results,
                  struct lm_error *err);

#endif
