/* floor.h: how fast each figure of tests/gpu/fast_speed.c could be at most on this GPU, and why. One place for the
 * arithmetic.
 *
 * The machine: multiprocessors, their clock; each has 4 schedulers that issue one instruction of one warp (32 lanes) a
 * cycle; a dependent multiply-add follows after 4 cycles (measured by others on every architecture since Volta).
 */
#ifndef FLOOR_H
#define FLOOR_H

struct gpu_machine {
    double multiprocessors;
    double clock;     /* Hz, the highest: cudaDevAttrClockRate */
    double bandwidth; /* bytes a second of device memory: bus width x 2 x memory clock */
};

/* One step of 64-32-16-15: multiply-adds forward (2048 + 512 + 240), backward (240 + 512), update (2048 + 512 + 240).
 */
#define FLOOR_STEP_FMAS   (2800.0 + 752.0 + 2800.0)
#define FLOOR_SAMPLE_FMAS 2800.0

/* Dependent operations of one step, by the rules of src/arithmetic.h: each sum is a chain of n / 4 terms, two levels
 * of additions; then the bias, the comparison and the choice of the ReLU, and so on. Nothing that moves a number from
 * lane to lane is counted, though every real program must. */
static inline double floor_step_operations(void)
{
    double layer1 = 16 + 2 + 1 + 2, layer2 = 8 + 2 + 1 + 2, layer3 = 4 + 2 + 1 + 1; /* the last: minus the one-hot */
    double delta2 = 4 + 2 + 1, delta1 = 4 + 2 + 1, update = 1 + 1;                  /* t = rate delta, and w - t x */
    return layer1 + layer2 + layer3 + delta2 + delta1 + update;
}

/* Seconds of one training: the chain of its steps. */
static inline double floor_one_training(struct gpu_machine m, double steps)
{
    return steps * floor_step_operations() * 4.0 / m.clock;
}

/* Trainings a second: every lane of every scheduler a multiply-add a cycle. */
static inline double floor_trainings(struct gpu_machine m, double steps)
{
    return m.multiprocessors * 4 * 32 * m.clock / (FLOOR_STEP_FMAS * steps);
}

/* Samples a second that lie on the device: the multiply-adds, or 64 floats in and 15 out. */
static inline double floor_inference(struct gpu_machine m)
{
    double arithmetic = m.multiprocessors * 4 * 32 * m.clock / FLOOR_SAMPLE_FMAS;
    double memory = m.bandwidth / ((64 + 15) * 4.0);
    return arithmetic < memory ? arithmetic : memory;
}

#endif
