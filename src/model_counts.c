/* model_counts.c: the calls. Each number stands beside the place in cuda/ that makes it; a test holds them to what an
 * H200 counted (tests/gpu/bench_h200.txt, tests/gpu/fast_h200.txt). */
#include "model_counts.h"

#include "model_round.h"

#define PART        65536.0 /* cuda/score.c: samples on the device at once */
#define CHUNK       16384.0 /* cuda/pipe.c, COPIED_CHUNK */
#define SLOTS       3.0
#define LAUNCH_MOST 1.0 /* cuda/block.c: s a launch is planned for */
#define INDICES     16777216.0

/* cuda/fast.c and cuda/replica.h */
#define FAST_LAUNCH   1.5
#define FAST_STEP     1.5e-6
#define FAST_NETWORKS 1024.0
#define FAST_REPLICA  24.0   /* bytes of struct lm_gpu_replica */
#define FAST_PACKED   3712.0 /* floats of a packed network */
#define FAST_WORDS    625.0  /* of a generator */

const char *lm_train_way_name(enum lm_train_way way)
{
    static const char *const name[] = {"gpu:naive", "gpu:resident",  "gpu:batch",       "gpu:whole",
                                       "gpu:fast",  "the lab naive", "the lab resident"};
    return name[way];
}

const char *lm_score_way_name(enum lm_score_way way)
{
    static const char *const name[] = {"naive", "resident", "global", "shared", "fused", "quick", "pipe"};
    return name[way];
}

/* ---- layout ---- */

static double inputs_of(struct lm_shape s, int l)
{
    return l == 0 ? LM_PIXELS : l == 1 ? s.hidden1 : s.hidden2;
}

static double outputs_of(struct lm_shape s, int l)
{
    return l == 0 ? s.hidden1 : l == 1 ? s.hidden2 : LM_CLASSES;
}

static double round4(double n)
{
    return lm_up_to(n, 4.0);
}

/* cuda/layout.h: rows of whole groups of four, an odd number of groups; rows and biases rounded up to four. */
double lm_padded_layer(struct lm_shape shape, int l)
{
    double pitch = round4(inputs_of(shape, l));
    if (lm_up_to(pitch, 8.0) == pitch)
        pitch += 4.0;
    return round4(outputs_of(shape, l)) * (pitch + 1.0);
}

double lm_padded_network(struct lm_shape shape)
{
    return lm_padded_layer(shape, 0) + lm_padded_layer(shape, 1) + lm_padded_layer(shape, 2);
}

double lm_padded_products(struct lm_shape shape, double width)
{
    double sum = 0.0;
    for (int l = 0; l < LM_LAYERS; l++)
        sum += round4(inputs_of(shape, l)) * lm_up_to(outputs_of(shape, l), width);
    return sum;
}

/* ---- sums ---- */

static struct lm_calls times(struct lm_calls c, double n)
{
    return (struct lm_calls){c.allocations * n, c.frees * n,  c.copies_in * n, c.copies_out * n,
                             c.launches * n,    c.waits * n,  c.bytes_in * n,  c.bytes_out * n,
                             c.openings * n,    c.clears * n, c.behind * n};
}

static struct lm_calls plus(struct lm_calls a, struct lm_calls b)
{
    return (struct lm_calls){a.allocations + b.allocations, a.frees + b.frees,         a.copies_in + b.copies_in,
                             a.copies_out + b.copies_out,   a.launches + b.launches,   a.waits + b.waits,
                             a.bytes_in + b.bytes_in,       a.bytes_out + b.bytes_out, a.openings + b.openings,
                             a.clears + b.clears,           a.behind + b.behind};
}

/* One call of naive.c: so many arrays brought, floats of them that come from the host, and floats fetched. The first
 * array finds nothing else of the session's. */
static struct lm_calls naive_call(double arrays, double copied, double floats_in, double floats_out)
{
    return (struct lm_calls){.allocations = arrays,
                             .frees = arrays,
                             .copies_in = copied,
                             .copies_out = 1.0,
                             .launches = 1.0,
                             .waits = 1.0,
                             .bytes_in = 4.0 * floats_in,
                             .bytes_out = 4.0 * floats_out,
                             .openings = 1.0,
                             .behind = 1.0};
}

/* lm_naive_forward: x and the layer in, room for out; out fetched. The last layer's is not padded. */
static struct lm_calls naive_forward(struct lm_shape s)
{
    struct lm_calls sum = {0};
    for (int l = 0; l < LM_LAYERS; l++)
        sum = plus(sum, naive_call(3.0, 2.0, round4(inputs_of(s, l)) + lm_padded_layer(s, l),
                                   l == LM_LAYERS - 1 ? LM_CLASSES : round4(outputs_of(s, l))));
    return sum;
}

/* delta_call, layers 2 and 1: the next layer, its delta and the activations in, room for the delta. update_call, all
 * layers: the layer, delta and x in; the layer fetched. */
static struct lm_calls naive_backward(struct lm_shape s)
{
    struct lm_calls sum = {0};
    for (int l = 0; l < LM_LAYERS; l++) {
        double layer = lm_padded_layer(s, l), in = round4(inputs_of(s, l)), out = round4(outputs_of(s, l));
        if (l > 0)
            sum = plus(sum, naive_call(4.0, 3.0, layer + out + in, in));
        sum = plus(sum, naive_call(3.0, 3.0, layer + out + in, layer));
    }
    return sum;
}

/* ---- training ---- */

/* resident.c, a sample: pixels in, 3 kernels, scores out, gradient in, 5 kernels. */
static struct lm_calls resident_step(double launches)
{
    return (struct lm_calls){.copies_in = 2.0,
                             .copies_out = 1.0,
                             .launches = launches,
                             .waits = 1.0,
                             .bytes_in = 4.0 * (LM_PIXELS + LM_CLASSES),
                             .bytes_out = 4.0 * LM_CLASSES,
                             .behind = 1.0};
}

/* The network in at the beginning and out at the end. */
static struct lm_calls network_trip(struct lm_shape s)
{
    double bytes = 4.0 * lm_padded_network(s);
    return (struct lm_calls){.copies_in = 1.0, .copies_out = 1.0, .waits = 1.0, .bytes_in = bytes, .bytes_out = bytes};
}

/* block.c: launches of an epoch (batch) or of all (whole), shorter than a second: whole epochs, or parts of one. */
static double block_launches(const struct lm_training_work *w, int whole)
{
    double epoch = w->samples * w->step_seconds, at_once = whole ? w->epochs : 1.0;
    if (w->samples > 0.0)
        at_once = lm_smaller(at_once, lm_down(INDICES / w->samples));
    if (epoch > 0.0)
        at_once = lm_smaller(at_once, lm_down(LAUNCH_MOST / epoch));
    return at_once >= 1.0 ? lm_up(w->epochs / at_once) : w->epochs * lm_up(epoch / LAUNCH_MOST);
}

/* Orders in, one launch, losses out. Parts of an epoch share both copies. Of several epochs in one launch the losses
 * are cleared first. */
static struct lm_calls block_training(const struct lm_training_work *w, int whole)
{
    double launches = block_launches(w, whole), trips = lm_smaller(launches, w->epochs);
    struct lm_calls c = {.copies_in = trips,
                         .copies_out = trips,
                         .launches = launches,
                         .waits = launches + trips,
                         .clears = whole && launches < w->epochs ? launches : 0.0,
                         .bytes_in = w->epochs * w->samples * 4.0,
                         .bytes_out = w->epochs * 8.0};
    return plus(c, network_trip(w->shape));
}

static int fast_takes(const struct lm_training_work *w)
{
    return w->shape.hidden1 == 32 && w->shape.hidden2 == 16;
}

/* fast.c, choose_window, where memory is no limit: what a launch of a second and a half does if a step takes 1.5 us. */
static double fast_window(const struct lm_training_work *w)
{
    double turns = w->turn > 0.0 ? lm_up(w->replicas / w->turn) : 1.0;
    double seconds = FAST_STEP * w->samples * turns;
    double window = seconds > 0.0 && seconds < FAST_LAUNCH ? lm_down(FAST_LAUNCH / seconds) : 1.0;
    return lm_larger(1.0, lm_smaller(window, w->epochs));
}

/* Once: the replicas in, `begin`. A window: `orders`, `replicas`, replicas and losses out, and in again if it was not
 * the last. At the end `unpack` and the networks, 1,024 at a time. */
static struct lm_calls fast_training(const struct lm_training_work *w)
{
    double window = fast_window(w), windows = lm_up(w->epochs / window), networks = lm_up(w->replicas / FAST_NETWORKS);
    struct lm_calls c = {.copies_in = windows,
                         .copies_out = 2.0 * windows + networks,
                         .launches = 1.0 + 2.0 * windows + networks,
                         .waits = 3.0 * windows + networks,
                         .clears = 2.0 * windows};
    c.bytes_in = windows * w->replicas * FAST_REPLICA;
    c.bytes_out =
        c.bytes_in + windows * window * w->replicas * 8.0 + w->replicas * 4.0 * (double)lm_network_floats(w->shape);
    return c;
}

struct lm_calls lm_calls_train(enum lm_train_way way, const struct lm_training_work *w)
{
    double steps = w->samples * w->epochs;
    struct lm_calls one = {0};
    switch (way) {
    case LM_TRAIN_NAIVE:
        one = times(plus(naive_forward(w->shape), naive_backward(w->shape)), steps);
        break;
    case LM_TRAIN_RESIDENT:
        one = plus(times(resident_step(8.0), steps), network_trip(w->shape));
        break;
    case LM_TRAIN_BATCH:
        one = block_training(w, 0);
        break;
    case LM_TRAIN_FAST:
        if (fast_takes(w))
            return w->replicas > 0.0 ? fast_training(w) : one;
        one = block_training(w, 1); /* other shapes: one after the other, as whole */
        break;
    case LM_TRAIN_WHOLE:
        one = block_training(w, 1);
        break;
    case LM_TRAIN_LAB_NAIVE: /* what the lab's profile counted, a sample */
        one = times(
            (struct lm_calls){
                .allocations = 33.0, .frees = 33.0, .copies_in = 23.0, .copies_out = 13.0, .launches = 11.0},
            steps);
        break;
    case LM_TRAIN_LAB_RESIDENT:
        one = times(resident_step(11.0), steps);
        break;
    default:
        break;
    }
    return times(one, w->replicas);
}

/* block.c and fast.c, bring_samples; and a buffer each: parameters, order, loss (fast: eight more). */
struct lm_calls lm_calls_first(enum lm_train_way way, const struct lm_training_work *w)
{
    struct lm_calls c = {0};
    switch (way) {
    case LM_TRAIN_BATCH:
    case LM_TRAIN_WHOLE:
    case LM_TRAIN_FAST:
        c.copies_in = 2.0;
        c.bytes_in = w->samples * (4.0 * LM_PIXELS + 1.0);
        c.allocations = way == LM_TRAIN_FAST && fast_takes(w) ? 10.0 : 5.0;
        c.openings = 1.0;
        break;
    case LM_TRAIN_RESIDENT:
        c.allocations = 8.0; /* lm_resident_begin */
        c.openings = 1.0;
        break;
    default:
        break;
    }
    return c;
}

/* ---- scoring ---- */

double lm_score_part(enum lm_score_way way, double n)
{
    static const double most[] = {1.0, 1.0, PART, PART, PART, LM_QUICK_SAMPLES_MOST, CHUNK};
    return lm_smaller(n, most[way]);
}

/* score.c, in_parts, and pipe.c, run_chunks: the network in; a part: its pixels in, 3 kernels or 1, its scores out.
 * pipe waits once. quick.c: a launch and a wait; the network is there, pixels and scores cross the link without a copy.
 */
struct lm_calls lm_calls_score(enum lm_score_way way, struct lm_shape shape, double n)
{
    struct lm_calls c = {0};
    if (n <= 0.0)
        return c;
    if (way == LM_SCORE_NAIVE)
        return times(naive_forward(shape), n);
    double parts = lm_up(n / lm_score_part(way, n));
    c.bytes_in = n * 4.0 * LM_PIXELS;
    c.bytes_out = n * 4.0 * LM_CLASSES;
    c.launches = c.waits = parts;
    if (way == LM_SCORE_QUICK)
        return c;
    c.copies_in = 1.0 + parts;
    c.copies_out = parts;
    if (way == LM_SCORE_PIPE)
        c.waits = 1.0;
    else {
        c.clears = 1.0; /* lm_resident_begin */
        c.behind = parts;
        c.launches = way == LM_SCORE_FUSED ? parts : 3.0 * parts;
    }
    c.bytes_in += 4.0 * lm_padded_network(shape);
    return c;
}

/* ---- memory ---- */

/* resident.c, room for n samples: pixels, activations, scores; and deltas of one. */
static double resident_bytes(struct lm_shape s, double n)
{
    double h1 = round4(s.hidden1), h2 = round4(s.hidden2);
    return 4.0 * (lm_padded_network(s) + n * (LM_PIXELS + h1 + h2 + LM_CLASSES) + h1 + h2 + LM_CLASSES + 1.0);
}

double lm_memory_train(enum lm_train_way way, const struct lm_training_work *w)
{
    double samples = w->samples * (4.0 * LM_PIXELS + 1.0);
    switch (way) {
    case LM_TRAIN_BATCH:
        return samples + 4.0 * lm_padded_network(w->shape) + w->samples * 4.0 + 8.0;
    case LM_TRAIN_FAST:
        if (fast_takes(w)) {
            double window = fast_window(w);
            return samples +
                   w->replicas *
                       (FAST_REPLICA + 4.0 * (FAST_PACKED + FAST_WORDS) + window * 8.0 + window * w->samples * 4.0) +
                   lm_smaller(w->replicas, FAST_NETWORKS) * 4.0 * (double)lm_network_floats(w->shape);
        }
        /* fall through */
    case LM_TRAIN_WHOLE: {
        double at_once = w->epochs / lm_smaller(block_launches(w, 1), lm_larger(w->epochs, 1.0));
        return samples + 4.0 * lm_padded_network(w->shape) + lm_up(at_once) * (w->samples * 4.0 + 8.0);
    }
    default:
        return resident_bytes(w->shape, 1.0);
    }
}

double lm_memory_score(enum lm_score_way way, struct lm_shape shape, double n)
{
    double part = lm_score_part(way, n);
    if (way == LM_SCORE_QUICK)
        return 4.0 * lm_padded_network(shape);
    if (way == LM_SCORE_PIPE)
        return 4.0 * lm_padded_network(shape) + SLOTS * part * 4.0 * (LM_PIXELS + LM_CLASSES);
    return resident_bytes(shape, part);
}
