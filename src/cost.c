/* cost.c: see cost.h. h1, h2 are the hidden widths; 64 pixels, 15 classes. For 64-32-16-15:
 *
 *   forward    w1 64 h1 + w2 h1 h2 + w3 h2 15 = 2,800 multiply-adds, h1 + h2 + 15 biases, h1 + h2 ReLUs
 *   loss       15 differences, 15 multiply-adds
 *   backward   w3 15 h2 + w2 h2 h1 = 752 multiply-adds (layer 1 has no inputs to be told); h1 + h2 comparisons
 *   update     2,800 multiply-adds, h1 + h2 + 15 products with the rate and as many differences of biases
 */
#include "cost.h"

static double weights_of(struct lm_shape s)
{
    return (double)LM_PIXELS * s.hidden1 + (double)s.hidden1 * s.hidden2 + (double)s.hidden2 * LM_CLASSES;
}

static double neurons_of(struct lm_shape s)
{
    return (double)s.hidden1 + s.hidden2 + LM_CLASSES;
}

struct lm_cost lm_cost_infer(struct lm_shape shape)
{
    double neurons = neurons_of(shape);
    struct lm_cost cost = {.multiply_adds = weights_of(shape)};
    cost.flops = 2.0 * cost.multiply_adds + neurons + (neurons - LM_CLASSES);
    cost.bytes_in = LM_PIXELS * sizeof(float);
    cost.bytes_out = LM_CLASSES * sizeof(float);
    return cost;
}

struct lm_cost lm_cost_step(struct lm_shape shape)
{
    double first = (double)LM_PIXELS * shape.hidden1, neurons = neurons_of(shape);
    struct lm_cost cost = {.multiply_adds = 3.0 * weights_of(shape) - first + LM_CLASSES};
    cost.flops = lm_cost_infer(shape).flops + 2.0 * (cost.multiply_adds - weights_of(shape));
    cost.flops += LM_CLASSES + (neurons - LM_CLASSES) + 2.0 * neurons;
    cost.bytes_in = LM_PIXELS * sizeof(float) + 1;
    cost.bytes_weights = (weights_of(shape) + neurons) * sizeof(float);
    return cost;
}

struct lm_core lm_core_of(int floats)
{
    return (struct lm_core){.multiply_adds = 2.0 * floats, .bytes_stored = (double)floats * sizeof(float)};
}

struct lm_floor lm_floor_of(struct lm_cost cost, struct lm_core core)
{
    struct lm_floor floor = {.multiply_adds = cost.multiply_adds / core.multiply_adds,
                             .stores = (cost.bytes_weights + cost.bytes_out) / core.bytes_stored};
    floor.cycles = floor.multiply_adds > floor.stores ? floor.multiply_adds : floor.stores;
    return floor;
}
