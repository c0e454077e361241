/* model_phases.c: see model_phases.h. */
#include "model_phases.h"

#include <math.h>

#include "model_time.h"

enum station { ISSUE, WAVEFRONTS, MEMORY, L2, CONSTANTS, STATIONS };

/* Cycles from one warp that is through to the next: the round of n customers, over n. */
static double spacing(double delay, const double demand[STATIONS], double n)
{
    double queue[STATIONS] = {0.0}, apart = 0.0;
    for (double k = 1.0; k <= n; k += 1.0) {
        double stay[STATIONS], round = delay;
        for (int s = 0; s < STATIONS; s++)
            round += stay[s] = demand[s] * (1.0 + queue[s]);
        if (round <= 0.0)
            return 0.0;
        for (int s = 0; s < STATIONS; s++)
            queue[s] = k / round * stay[s];
        apart = round / k;
    }
    return apart;
}

/* The share of loads of constants that miss. */
static double missing(const struct lm_phase_costs *costs, double bytes)
{
    return bytes > costs->constant_near ? 1.0 - costs->constant_near / bytes : 0.0;
}

/* What one warp asks of each station, in cycles of its multiprocessor; `warps` of them are there. Memory and L2 serve
 * all multiprocessors that have blocks. */
static void demands_of(const struct lm_machine *machine, const struct lm_phase_costs *costs, const struct lm_kernel *k,
                       double warps, double demand[STATIONS])
{
    double own = ceil(k->threads / machine->gpu.warp); /* a block's */
    double sharing = fmin(k->blocks, machine->gpu.multiprocessors) * machine->gpu.clock / (k->blocks * own);
    demand[ISSUE] = k->instructions / own / fmin(machine->gpu.schedulers, warps);
    demand[WAVEFRONTS] = k->wavefronts / own;
    demand[MEMORY] = k->memory_bytes / machine->gpu.bandwidth * sharing;
    demand[L2] = k->cache_bytes / machine->gpu.l2_bandwidth * sharing;
    demand[CONSTANTS] = k->constant_loads / own * costs->constant_miss * missing(costs, k->constant_bytes);
}

/* Cycles in which `blocks` resident blocks go through all phases. */
static double turn_of(const struct lm_machine *machine, const struct lm_phase_costs *costs,
                      const struct lm_kernel *phase, int n, double blocks)
{
    double warps = blocks * ceil(phase->threads / machine->gpu.warp), cycles = 0.0;
    for (int k = 0; k < n && blocks > 0.0; k++) {
        double demand[STATIONS], delay = lm_time_kernel(machine, &phase[k]).chain + (k == 0 ? costs->turn : 0.0);
        demands_of(machine, costs, &phase[k], warps, demand);
        cycles += warps * spacing(delay, demand, warps);
    }
    return cycles;
}

double lm_time_phases(const struct lm_machine *machine, const struct lm_phase_costs *costs,
                      const struct lm_kernel *phase, int n)
{
    if (n < 1 || phase->blocks <= 0.0)
        return 0.0;
    double resident = lm_time_kernel(machine, phase).resident;
    if (resident < 1.0)
        return HUGE_VAL;
    double busiest = ceil(phase->blocks / machine->gpu.multiprocessors), turns = floor(busiest / resident);
    double cycles = turn_of(machine, costs, phase, n, busiest - turns * resident);
    if (turns > 0.0)
        cycles += turns * turn_of(machine, costs, phase, n, resident);
    return cycles / machine->gpu.clock;
}
