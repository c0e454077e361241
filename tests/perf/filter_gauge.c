/* filter_gauge.c: see filter_gauge.h. */
#include "filter_gauge.h"

#include "filter_counts.h"

#define HALVINGS 50
#define ROUNDS   8 /* what one cost takes of another's probe is small: each round leaves a tenth of it or less */

#define TURN_MOST 100000.0 /* cycles */
#define MISS_MOST 1000.0
#define TERM      8.0 /* bytes of constants, of floats */

const struct filter filter_probe[FILTER_PROBES] = {{1, 2, 2, 4}, {20, 20, 400, 4}, {8, 8, 64, 4}};

struct lm_phase_costs filter_costs_known(void)
{
    return (struct lm_phase_costs){.turn = 800.0, .constant_near = 256.0, .constant_miss = 8.0};
}

static double seconds_of(const struct lm_machine *machine, const struct lm_phase_costs *costs, const struct filter *f,
                         uint32_t rows, uint32_t columns)
{
    struct lm_kernel k = filter_kernel_global(f, rows, columns);
    return lm_time_phases(machine, costs, &k, 1);
}

struct lm_phase_costs filter_costs(const struct lm_machine *machine, uint32_t rows, uint32_t columns,
                                   const double seconds[FILTER_PROBES])
{
    struct lm_phase_costs c = {0.0, 0.0, 0.0};
    /* Probe by probe its cost, from 0 on; `near` counts down from all constants of the probe, so that each makes the
     * probe longer. */
    const double most[FILTER_PROBES] = {TURN_MOST, MISS_MOST, TERM * filter_probe[2].references};
    for (int round = 0; round < ROUNDS; round++)
        for (int k = 0; k < FILTER_PROBES; k++) {
            double *cost = k == 0 ? &c.turn : k == 1 ? &c.constant_miss : &c.constant_near;
            double low = 0.0, high = most[k];
            for (int h = 0; h < HALVINGS; h++) {
                double middle = 0.5 * (low + high);
                *cost = k == 2 ? most[k] - middle : middle;
                if (seconds_of(machine, &c, &filter_probe[k], rows, columns) < seconds[k])
                    low = middle;
                else
                    high = middle;
            }
            *cost = k == 2 ? most[k] - low : low;
        }
    return c;
}
