/* replica_choice.h: which trials the CPU reference trains once more. Numbers alone: all ranks compute the same. */
#ifndef LM_REPLICA_CHOICE_H
#define LM_REPLICA_CHOICE_H

#include <stdint.h>

/* K replicas of T trials (both at most 2^32; K at most T, or it counts as T): evenly spread, ascending, all different,
 * trial 0 always among them. The i-th, i < K: */
uint64_t lm_replica_of(uint64_t trials, uint64_t replicas, uint64_t i);
/* 1 if this trial is one of them. */
int lm_replica_is(uint64_t trials, uint64_t replicas, uint64_t trial);
/* The place i of a trial that is one of them. */
uint64_t lm_replica_place(uint64_t trials, uint64_t replicas, uint64_t trial);

#endif
