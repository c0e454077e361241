/* model_history.h: what earlier runs on a machine took, on disk: one text file beside the machine's calibration.
 *
 * The first line says whose it is: "libras-history 1", the calibration's key (GPU, driver, processor, program) and a
 * digest of its numbers, since a time is of use only beside a prediction from the same numbers. Each further line is a
 * phase of a run: phase, device, place, size, predicted seconds (of the machine alone), measured seconds, "s". Fields
 * are separated by tabs, numbers are decimal in every locale. A line that is none is passed over: its writer may have
 * been killed within it, which the unit at its end shows.
 */
#ifndef LM_MODEL_HISTORY_H
#define LM_MODEL_HISTORY_H

#include "model_decide.h"
#include "sha256.h"

#define LM_HISTORY_MAGIC "libras-history 1"
#define LM_HISTORY_BYTES 262144 /* a file that has grown beyond it keeps its last lines, half of that */

/* Trainings and scored batches apart: a candidate's name may be the same. */
enum lm_history_phase { LM_HISTORY_TRAIN, LM_HISTORY_INFER, LM_HISTORY_PHASES };
const char *lm_history_phase_name(enum lm_history_phase phase); /* "train", "infer" */

struct lm_past {
    struct lm_history phase[LM_HISTORY_PHASES];
    size_t lines, bad; /* taken; passed over */
    int foreign;       /* 1: the file is of another machine or calibration, and nothing was taken */
};

/* *past is overwritten. No file is no failure: an empty past. LM_BAD_INPUT, LM_FAILED: it cannot be read; *past is
 * empty. */
int lm_history_read(const char *path, const struct lm_machine *machine, struct lm_past *past, struct lm_error *err);

/* One line more, by one write at the file's end, so that several programs may do so at once. A foreign file, or none,
 * is begun afresh (under a name of its own, then renamed), a large one shortened. Times that lm_history_add would leave
 * out are left out here. LM_FAILED: it cannot be written; nothing has changed. */
int lm_history_append(const char *path, const struct lm_machine *machine, enum lm_history_phase phase,
                      const struct lm_prediction *candidate, double size, double measured, struct lm_error *err);

/* Of a machine's numbers, those of its file: SHA-256 as hex. */
void lm_machine_digest(const struct lm_machine *machine, char hex[LM_SHA256_HEX]);

#endif
