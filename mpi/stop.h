/* stop.h: signals that ask a sweep to stop at a point from which it can go on, or for a word on how far it is.
 *
 * A handler only sets a mark; the program looks at it where it serves the other ranks. The second TERM or INT ends the
 * process at once.
 */
#ifndef LM_STOP_H
#define LM_STOP_H

/* From here on USR1, TERM and INT ask for a stop, USR2 for a word. One that is ignored (nohup) stays so. */
void lm_stop_begin(void);
/* The signal that asked for a stop; 0: none has. */
int lm_stop_asked(void);
/* Were we asked for a word since the last call? */
int lm_stop_word_wanted(void);

#endif
