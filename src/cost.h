/* cost.h: what a training step and an inference cost, term by term, and the least time a processor can need for it.
 *
 * Counted from the shape alone: what the definition (arithmetic.h) asks for, without padding, addressing, loads of
 * weights or the sums of partial sums. A multiply-add counts as two floating-point operations.
 */
#ifndef LM_COST_H
#define LM_COST_H

#include "network.h"

struct lm_cost {
    double multiply_adds; /* of weights: forward, backward, update */
    double flops;         /* all of it: twice the multiply-adds, and what is done once a neuron or class */
    double bytes_in;      /* a sample's row (and label) */
    double bytes_out;     /* an inference's scores; a step stores nothing outside of the network */
    double bytes_weights; /* parameters written: all of them in a step, none in an inference */
};

struct lm_cost lm_cost_step(struct lm_shape shape);  /* one sample forward, backward, update */
struct lm_cost lm_cost_infer(struct lm_shape shape); /* one sample forward */

/* A core: how many multiply-adds it starts, and how many bytes it stores to its first cache, in a cycle. */
struct lm_core {
    double multiply_adds, bytes_stored;
};
/* With vectors of so many floats: two multiply-add units and one store a cycle, both of full width. That is Zen 2 and
 * later and Intel since Haswell at 8 floats, server Intel and Zen 5 at 16; Zen 4 takes two cycles for 16. */
struct lm_core lm_core_of(int floats);

/* The floors in cycles: no order of instructions is faster than the larger of the two. */
struct lm_floor {
    double multiply_adds, stores, cycles;
};
struct lm_floor lm_floor_of(struct lm_cost cost, struct lm_core core);

#endif
