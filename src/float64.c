/* float64.c: lab.md's formulas, written down once more and in double, independent of reference.c. */
#include "float64.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arithmetic.h"
#include "training.h"

static double gamma_of(double m)
{
    const double u = 0x1p-24;
    return m * u / (1.0 - m * u);
}

/* One layer of the forward pass with its error bound: in[], in_error[] -> out[], out_error[]. */
static void layer64(struct lm_layer layer, const float *parameters, const double *in, const double *in_error,
                    double *out, double *out_error)
{
    /* the longest path: the products of one partial sum, two additions of the tree, the bias */
    double path = ceil((double)layer.inputs / LM_PARTIALS) + 3.0;
    for (size_t i = 0; i < layer.outputs; i++) {
        double z = 0.0, size = 0.0, carried = 0.0, bias = parameters[layer.biases + i];
        for (size_t j = 0; j < layer.inputs; j++) {
            double w = parameters[layer.weights + i * layer.inputs + j];
            z += w * in[j];
            size += fabs(w) * (fabs(in[j]) + in_error[j]);
            carried += fabs(w) * in_error[j];
        }
        out[i] = z + bias;
        /* the last term: products that fall below the smallest normal number lose up to half a unit there each */
        out_error[i] = gamma_of(path) * (size + fabs(bias)) + carried + (double)(layer.inputs + 1) * 0x1p-149;
    }
}

void lm_forward64(struct lm_shape shape, const float *parameters, const float *x, double *scores, double *bound)
{
    double value[LM_LAYERS + 1][LM_MAX_HIDDEN], error[LM_LAYERS + 1][LM_MAX_HIDDEN];
    for (size_t j = 0; j < LM_PIXELS; j++) {
        value[0][j] = x[j];
        error[0][j] = 0.0;
    }
    for (int l = 0; l < LM_LAYERS; l++) {
        struct lm_layer layer = lm_layer_of(shape, l);
        layer64(layer, parameters, value[l], error[l], value[l + 1], error[l + 1]);
        for (size_t i = 0; l < LM_LAYERS - 1 && i < layer.outputs; i++)
            value[l + 1][i] = value[l + 1][i] < 0.0 ? 0.0 : value[l + 1][i]; /* ReLU moves no two values apart */
    }
    memcpy(scores, value[LM_LAYERS], LM_CLASSES * sizeof *scores);
    memcpy(bound, error[LM_LAYERS], LM_CLASSES * sizeof *bound);
}

struct net64 {
    struct lm_shape shape;
    double *parameters;
    double value[LM_LAYERS + 1][LM_MAX_HIDDEN]; /* value[0]: the input; then each layer's output, after ReLU */
    double delta[LM_LAYERS][LM_MAX_HIDDEN];
};

static void forward_step64(struct net64 *net)
{
    for (int l = 0; l < LM_LAYERS; l++) {
        struct lm_layer layer = lm_layer_of(net->shape, l);
        for (size_t i = 0; i < layer.outputs; i++) {
            double z = net->parameters[layer.biases + i];
            for (size_t j = 0; j < layer.inputs; j++)
                z += net->parameters[layer.weights + i * layer.inputs + j] * net->value[l][j];
            net->value[l + 1][i] = l < LM_LAYERS - 1 && z < 0.0 ? 0.0 : z;
        }
    }
}

static double backward_step64(struct net64 *net, int label)
{
    double loss = 0.0;
    for (int c = 0; c < LM_CLASSES; c++) {
        double e = net->value[LM_LAYERS][c] - (c == label);
        net->delta[LM_LAYERS - 1][c] = e;
        loss += 0.5 * e * e;
    }
    for (int l = LM_LAYERS - 2; l >= 0; l--) {
        struct lm_layer next = lm_layer_of(net->shape, l + 1);
        for (size_t j = 0; j < next.inputs; j++) {
            double sum = 0.0;
            for (size_t i = 0; i < next.outputs; i++)
                sum += net->parameters[next.weights + i * next.inputs + j] * net->delta[l + 1][i];
            net->delta[l][j] = net->value[l + 1][j] > 0.0 ? sum : 0.0;
        }
    }
    return loss;
}

static void update_step64(struct net64 *net, double rate)
{
    for (int l = 0; l < LM_LAYERS; l++) {
        struct lm_layer layer = lm_layer_of(net->shape, l);
        for (size_t i = 0; i < layer.outputs; i++) {
            for (size_t j = 0; j < layer.inputs; j++)
                net->parameters[layer.weights + i * layer.inputs + j] -= rate * net->delta[l][i] * net->value[l][j];
            net->parameters[layer.biases + i] -= rate * net->delta[l][i];
        }
    }
}

static void start64(struct lm_shape shape, uint32_t seed, float range, float *scratch, double *parameters)
{
    lm_network_initialise(shape, seed, range, scratch);
    for (size_t k = 0; k < lm_network_floats(shape); k++)
        parameters[k] = scratch[k];
}

int lm_train64(const struct lm_problem *problem, struct lm_shape shape, double learning_rate, uint32_t epochs,
               uint32_t seed, float initial_range, double *parameters, double *loss, struct lm_error *err)
{
    struct lm_order order;
    float *scratch = malloc(lm_network_floats(shape) * sizeof *scratch);
    struct net64 *net = malloc(sizeof *net);
    if (!scratch || !net || lm_order_begin(&order, seed, problem->count, problem->train.n, err) != LM_OK) {
        free(scratch);
        free(net);
        return lm_fail_memory(err, sizeof *net, "a network in double");
    }
    net->shape = shape;
    net->parameters = parameters;
    start64(shape, seed, initial_range, scratch, parameters);
    for (uint32_t epoch = 0; epoch < epochs; epoch++) {
        double sum = 0.0;
        lm_order_next(&order);
        for (size_t k = 0; k < order.n; k++) {
            const float *x = problem->train.x + (size_t)order.index[k] * LM_PIXELS;
            for (size_t j = 0; j < LM_PIXELS; j++)
                net->value[0][j] = x[j];
            forward_step64(net);
            sum += backward_step64(net, problem->train.label[order.index[k]]);
            update_step64(net, learning_rate);
        }
        loss[epoch] = sum / (double)order.n;
    }
    lm_order_end(&order);
    free(net);
    free(scratch);
    return LM_OK;
}
