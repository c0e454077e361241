/* replica_choice.c: see replica_choice.h. No product below exceeds 2^64 - 1: both factors are at most 2^32, and the
 * number of a trial or a replica is below 2^32. */
#include "replica_choice.h"

static uint64_t at_most(uint64_t replicas, uint64_t trials)
{
    return replicas < trials ? replicas : trials;
}

uint64_t lm_replica_of(uint64_t trials, uint64_t replicas, uint64_t i)
{
    return i * trials / at_most(replicas, trials);
}

uint64_t lm_replica_place(uint64_t trials, uint64_t replicas, uint64_t trial)
{
    return (trial * at_most(replicas, trials) + trials - 1) / trials; /* the first i whose trial is not below */
}

int lm_replica_is(uint64_t trials, uint64_t replicas, uint64_t trial)
{
    if (replicas == 0 || trial >= trials)
        return 0;
    uint64_t i = lm_replica_place(trials, replicas, trial);
    return i < at_most(replicas, trials) && lm_replica_of(trials, replicas, i) == trial;
}
