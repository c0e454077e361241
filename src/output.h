/* output.h: the promise that a results file is the old one or a whole new one, and that no two runs write one file.
 *
 * FILE.part is written, FILE.lock is held (fcntl lock, so that the death of the process frees it on every host), and
 * FILE appears by rename. A stray FILE.part of a killed run is recognised, since nobody holds the lock, and replaced.
 */
#ifndef LM_OUTPUT_H
#define LM_OUTPUT_H

#include "status.h"

struct lm_output {
    char *path; /* owned: the final name, absolute */
    char *part; /* owned: what to write to */
    char *lock; /* owned */
    int lock_fd;
    int force;
    char *later[2];  /* owned: to be removed when FILE has its name; see lm_output_remove_later */
    int found_stray; /* 1: a killed run had left FILE.part, which was removed */
};

/* Reserves path: makes missing folders, checks that FILE can be made there (by making FILE.part), that FILE does not
 * exist unless force, that path is no folder, and that no other run holds it. To be called before any work is done. */
int lm_output_reserve(const char *path, int force, struct lm_output *out, struct lm_error *err);

/* part is complete and closed: to disk (fsync of file and folder) and under its final name. Without force never over a
 * file that has appeared meanwhile. Frees *out in any case. */
int lm_output_commit(struct lm_output *out, struct lm_error *err);

/* Files that are of no use any more once FILE is complete: the commit removes them after FILE has its name and before
 * another run can reserve it. Copied. */
int lm_output_remove_later(struct lm_output *out, const char *a, const char *b, struct lm_error *err);

/* Removes what was made, and frees *out. */
void lm_output_abandon(struct lm_output *out);

#endif
