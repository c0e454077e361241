/* model_decide.h: where to do the work, from predictions; what a wrong choice costs; and what earlier runs teach.
 *
 * The rule: of the CPU's candidates and of the GPU's that fit, the fastest each; the GPU is taken if
 *     T_gpu (1 + margin) < T_cpu,
 * with the margin the model's own error: a gain smaller than that is no reason to move. Numbers alone, no memory is
 * allocated: a decision takes less than 2 us (tests/perf/model_accuracy.c).
 */
#ifndef LM_MODEL_DECIDE_H
#define LM_MODEL_DECIDE_H

#include "model_predict.h"

struct lm_decision {
    int chosen;    /* index of the candidate; -1: there is none that fits */
    int cpu, gpu;  /* the fastest of each that fits; -1: none */
    int offload;   /* 1: the chosen one is a GPU's */
    double gain;   /* time of the loser over the chosen one's; infinity where there was no other */
    double margin; /* that was asked for */
};
struct lm_decision lm_decide(const struct lm_prediction *candidate, int n, double margin);

/* Why, in one line without an end: "gpu:fast (weights in registers): 2.1 s, 22 times as fast as cpu:avx512 on all
 * cores".
 */
void lm_decision_text(const struct lm_prediction *candidate, const struct lm_decision *decision, char *text,
                      size_t size);

/* What the choice cost, once both were measured: the chosen one's time over the better one's, minus 1; 0: it was right.
 */
double lm_regret(double chosen_seconds, double other_seconds);

/* The smallest batch from host memory that the rule gives to the GPU, to within one sample; 0: none up to `most`. */
double lm_crossover(const struct lm_machine *machine, struct lm_shape shape, double margin, double most);

/* ---- history ---- */

#define LM_HISTORY_RUNS    10 /* before it is believed; the last so many count */
#define LM_HISTORY_CLASSES 256

/* Measured over predicted of the runs of a size class (sizes from one power of two to the next) of a candidate. Zeroed
 * at the start. Plain memory of the caller's. */
struct lm_history {
    int n;
    struct lm_history_class {
        char device[24], where[48]; /* the candidate's */
        int size_class, runs;
        double ratio[LM_HISTORY_RUNS]; /* a ring */
        double median;                 /* of them */
    } entry[LM_HISTORY_CLASSES];
};

/* Takes a run of a candidate as it was predicted from the machine alone; sizes of 1 and more and times above 0, others
 * are left out. A full history forgets the class with the fewest runs. */
void lm_history_add(struct lm_history *history, const struct lm_prediction *candidate, double size, double measured);
/* What its prediction is to be multiplied by: 1 until the class has LM_HISTORY_RUNS runs, then the median of their
 * ratios. */
double lm_history_factor(const struct lm_history *history, const struct lm_prediction *candidate, double size);
/* Of all candidates' seconds. */
void lm_history_refine(const struct lm_history *history, double size, struct lm_prediction *candidate, int n);

#endif
