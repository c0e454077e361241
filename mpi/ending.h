/* ending.h: ends that come from outside: the time limit and signals. What this process was writing is removed first.
 *
 * A handler may call almost nothing: so it writes one line, unlinks the files that were named to it before, and ends
 * the process; the launcher, or MPI, then ends the others.
 */
#ifndef LM_ENDING_H
#define LM_ENDING_H

/* Before MPI starts: after so many seconds (0: a limit for MPI's own start alone, see lm_ending_started) this process
 * ends with 1, whatever it waits for. rank: rank 0 is first, so that the reason is told once. TERM, INT and HUP end it
 * by the same signal, after the files are gone. */
void lm_ending_begin(double seconds, int rank);
/* MPI has started: without a --timeout there is no limit any more. */
void lm_ending_started(double seconds);
/* The files to be removed, copied; NULL, NULL: none any more. */
void lm_ending_files(const char *part, const char *lock);

/* A sweep's training is over and all of it in the checkpoint: from here on USR1, TERM and INT remove the files and end
 * this process with 75. */
void lm_ending_after_checkpoint(void);
/* Removes the files that were named, at once: for whoever ends the job. May be called in a handler. */
void lm_ending_remove(void);

#endif
