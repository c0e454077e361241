/* decide.h: which backend does each phase of a run: what was asked for, or with --device auto what the performance
 * model says; what it then took, for the history of this machine and for /model.
 *
 * The model decides where this machine's calibration (machine.h) is there, can be read, and is of this machine;
 * anything else is a line on stderr and the rule without a model: a GPU if every rank has one. Rank 0's machine stands
 * for those of all ranks; what one of them cannot run is not chosen. No failure here is the run's.
 */
#ifndef LM_DECIDE_H
#define LM_DECIDE_H

#include "devices.h"
#include "machine.h"
#include "model_choice.h"

/* On rank 0, but call, devices and backend. */
struct lm_decide {
    const struct lm_call *call;
    struct lm_devices devices;
    struct lm_place place;
    const struct lm_backend *backend[LM_HISTORY_PHASES]; /* what each phase uses */
    struct lm_machine machine;
    int known;           /* 1: machine is this one's calibration */
    const char *why_not; /* "rule: no calibration", ...; NULL where it is known */
    char history_path[LM_MACHINE_PATH];
    struct lm_past *past;                       /* owned; NULL: no memory, so no history */
    struct lm_choice choice[LM_HISTORY_PHASES]; /* n 0: the phase was not asked about */
    double measured[LM_HISTORY_PHASES];         /* s; NaN: not yet */
    const char *by;                             /* who decided, for /model */
    char text[640];                             /* why */
    int complained;                             /* that the history cannot be written: once */
};

/* All ranks: takes the devices (lm_devices_choose, whose failures these are). Nothing is decided yet. */
int lm_decide_begin(const struct lm_call *call, struct lm_decide *decide);

/* All ranks, once, before a backend is opened: rank 0 reads calibration and history. Then rank 0 asks about the phases
 * that there are. */
void lm_decide_read(struct lm_decide *decide);
void lm_decide_ask_train(struct lm_decide *decide, const struct lm_work *work, double scored);
void lm_decide_ask_infer(struct lm_decide *decide, struct lm_shape shape, double n, double batch);

/* All ranks: rank 0 decides, says why in a line, and tells all: decide->backend. A phase that was not asked about has
 * the other one's. */
void lm_decide_share(struct lm_decide *decide);

/* The GPU's backend, if one of the phases uses it; else the CPU's: for the table of ranks. */
const struct lm_backend *lm_decide_shown(const struct lm_decide *decide);

/* Rank 0, after a phase: what it took. done: the part of the work that was asked about; only where it was all of it
 * (within a tenth) does the history learn from it. */
void lm_decide_measured(struct lm_decide *decide, enum lm_history_phase phase, double seconds, double done);

/* Rank 0: the rows of /model. */
int lm_decide_rows(const struct lm_decide *decide, struct lm_results *results, struct lm_error *err);
void lm_decide_end(struct lm_decide *decide);

/* ---- for plan and --dry-run too ---- */

/* All ranks: where this program runs; on rank 0 *place. gpu: this rank has taken one. */
void lm_place_find(const struct lm_world *world, int gpu, struct lm_place *place);

#endif
