/* reference.c: the definition of arithmetic.h as a loop to be read. No intrinsics, no tricks.
 *
 * Everything else in this project is compared with this file by memcmp. It follows the page rule by rule; the rule's
 * number stands beside each function. Activations and deltas live in arrays of the widest layer; the parameters lie as
 * network.h says: w[i][j] is at w[i * inputs + j].
 *
 * Compiled twice (reference.h): LM_REFERENCE_SUFFIX names the copy.
 */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arithmetic.h"

#ifndef LM_REFERENCE_SUFFIX
#define LM_REFERENCE_SUFFIX plain
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)

#define WIDEST (LM_MAX_HIDDEN > LM_PIXELS ? LM_MAX_HIDDEN : LM_PIXELS)

struct reference {
    struct lm_shape shape;
    float z[LM_LAYERS][WIDEST];     /* before the activation; z[2] are the scores */
    float a[LM_LAYERS - 1][WIDEST]; /* after it: the next layer's input */
    float delta[LM_LAYERS][WIDEST];
    float parameters[];
};

/* Rule 1: the sum of a[j * stride] b[j] for j = 0 ... n-1 in four partial sums. */
static float sum_of_products(const float *a, size_t stride, const float *b, size_t n)
{
    float p[LM_PARTIALS] = {0.0f, 0.0f, 0.0f, 0.0f};
    size_t j = 0;
    for (; j < n && j < LM_PARTIALS; j++)
        p[j] = a[j * stride] * b[j];
    for (; j < n; j++)
        p[j % LM_PARTIALS] = fmaf(a[j * stride], b[j], p[j % LM_PARTIALS]);
    for (; j % LM_PARTIALS != 0; j++)
        p[j % LM_PARTIALS] += 0.0f; /* the term (+0)(+0) */
    return (p[0] + p[1]) + (p[2] + p[3]);
}

/* Rule 2, one layer: z (outputs) from x (inputs). */
static void forward_layer(struct lm_layer layer, const float *parameters, const float *x, float *z)
{
    const float *w = parameters + layer.weights;
    const float *b = parameters + layer.biases;
    for (size_t i = 0; i < layer.outputs; i++)
        z[i] = sum_of_products(w + i * layer.inputs, 1, x, layer.inputs) + b[i];
}

static void relu(const float *z, float *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] = z[i] < 0.0f ? 0.0f : z[i];
}

static void forward(struct reference *net, const float *x)
{
    for (int l = 0; l < LM_LAYERS; l++) {
        struct lm_layer layer = lm_layer_of(net->shape, l);
        forward_layer(layer, net->parameters, l == 0 ? x : net->a[l - 1], net->z[l]);
        if (l < LM_LAYERS - 1)
            relu(net->z[l], net->a[l], layer.outputs);
    }
}

/* Rule 3: e into delta of the last layer; returns the sample's loss. */
static float loss_of(struct reference *net, int label)
{
    float *e = net->delta[LM_LAYERS - 1];
    const float *score = net->z[LM_LAYERS - 1];
    for (int c = 0; c < LM_CLASSES; c++)
        e[c] = score[c] - (c == label ? 1.0f : 0.0f);
    return 0.5f * sum_of_products(e, 1, e, LM_CLASSES);
}

/* Rule 4, first half: the deltas of layer l from those of layer l + 1, through that layer's columns. */
static void backward_layer(struct reference *net, int l)
{
    struct lm_layer next = lm_layer_of(net->shape, l + 1);
    const float *w = net->parameters + next.weights;
    for (size_t j = 0; j < next.inputs; j++)
        net->delta[l][j] =
            net->z[l][j] > 0.0f ? sum_of_products(w + j, next.inputs, net->delta[l + 1], next.outputs) : 0.0f;
}

/* Rule 4, second half: one layer's weights and biases. x is the layer's input. */
static void update_layer(struct lm_layer layer, float rate, const float *delta, const float *x, float *parameters)
{
    float *w = parameters + layer.weights;
    float *b = parameters + layer.biases;
    for (size_t i = 0; i < layer.outputs; i++) {
        float t = rate * delta[i];
        for (size_t j = 0; j < layer.inputs; j++)
            w[i * layer.inputs + j] = fmaf(-t, x[j], w[i * layer.inputs + j]);
        b[i] = b[i] - t;
    }
}

/* One training step: a sample forward, backward, update. */
static float step(struct reference *net, float rate, const float *x, int label)
{
    forward(net, x);
    float loss = loss_of(net, label);
    for (int l = LM_LAYERS - 2; l >= 0; l--)
        backward_layer(net, l);
    for (int l = 0; l < LM_LAYERS; l++)
        update_layer(lm_layer_of(net->shape, l), rate, net->delta[l], l == 0 ? x : net->a[l - 1], net->parameters);
    return loss;
}

static double train(void *state, float rate, const struct lm_samples *samples, const uint32_t *index, size_t n,
                    double loss_sum)
{
    struct reference *net = state;
    for (size_t k = 0; k < n; k++)
        loss_sum += step(net, rate, samples->x + (size_t)index[k] * LM_PIXELS, samples->label[index[k]]);
    return loss_sum;
}

static void infer(void *state, const float *x, size_t n, float *scores)
{
    struct reference *net = state;
    const uint32_t nan_bits = LM_NAN_BITS;
    for (size_t k = 0; k < n; k++) {
        forward(net, x + k * LM_PIXELS);
        for (int c = 0; c < LM_CLASSES; c++) {
            float score = net->z[LM_LAYERS - 1][c];
            if (isnan(score))
                memcpy(&score, &nan_bits, sizeof score); /* rule 6 */
            scores[k * LM_CLASSES + c] = score;
        }
    }
}

static void *begin(struct lm_shape shape)
{
    struct reference *net = malloc(sizeof *net + lm_network_floats(shape) * sizeof(float));
    if (net)
        net->shape = shape;
    return net;
}

static void put(void *state, const float *parameters)
{
    struct reference *net = state;
    memcpy(net->parameters, parameters, lm_network_floats(net->shape) * sizeof(float));
}

static void get(const void *state, float *parameters)
{
    const struct reference *net = state;
    memcpy(parameters, net->parameters, lm_network_floats(net->shape) * sizeof(float));
}

const struct lm_cpu_kernels JOIN(lm_reference_, LM_REFERENCE_SUFFIX) = {
    .begin = begin,
    .end = free,
    .put = put,
    .get = get,
    .train = train,
    .infer = infer,
};
