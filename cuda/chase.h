/* chase.h: what the kernel that times one cost of the machine is given. Plain C, as kernels.h. */
#ifndef LM_GPU_CHASE_H
#define LM_GPU_CHASE_H

#include <stdint.h>

enum lm_gpu_cost {
    LM_GPU_COST_GLOBAL,
    LM_GPU_COST_SHARED,
    LM_GPU_COST_CONSTANT,
    LM_GPU_COST_OPERATION,
    LM_GPU_COST_BARRIER
};

struct lm_gpu_chase {
    uint32_t *chain;   /* global: (n) indices */
    uint32_t stride;   /* of the chain, where it is made */
    uint32_t n, steps; /* steps: loads, operations or barriers that are timed */
    int warm;          /* global: the same chase once before, so that the loads hit L2 */
    int cost;
    long long *cycles; /* out */
    uint32_t *last;    /* out: where the chase ended; for operations the sum's bits; for barriers how many there were */
};

#endif
