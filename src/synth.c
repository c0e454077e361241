/* synth.c: the synthetic data set: which hands are drawn, in what light, and how they become 64 grey values.
 *
 * The program must be able to show everything it does without the real photographs, and its tests need data that is the
 * same everywhere. So each image is a pure function of (seed, letter, k): the three are hashed into the start of a
 * generator of its own (splitmix64), from which one fixed sequence of draws gives the hand, the scene and the noise. No
 * image depends on another, nor on how many there are.
 *
 * The hand is drawn at 32 x 32, and each 4 x 4 of those pixels averages to one of the 8 x 8, as the real set's box
 * filter does with its photographs. Larger drawings cost more and look the same at 8 x 8.
 *
 * The ranges below decide how hard the set is. They were chosen so that the lab's network ends near 98 % and not at
 * 100 %: tests and comparisons of hyperparameters need a score that can still move. datasets/README.md has the figures.
 * Any change here, in hand.c or in hand_draw.c changes the digest in tests/unit/test_synth.c and every documented
 * figure.
 */
#include "synth.h"

#include <stdio.h>
#include <stdlib.h>

#include "hand.h"

const uint64_t lm_synth_default_count[LM_CLASSES] = {540, 589, 500, 504, 609, 260, 150, 197,
                                                     156, 150, 154, 151, 150, 150, 150};

#define CELL       4 /* pixels of the drawing along one side of a pixel of the image */
#define DRAWN_SIDE (LM_SIDE * CELL)

/* Half-widths of the uniform variations of the pose. */
#define VARY_FLEX    4.0
#define VARY_SPREAD  1.5
#define VARY_FORWARD 5.0
#define VARY_TURN    6.0
#define VARY_LEAN    5.0
#define VARY_ARM     6.0
#define VARY_LENGTH  0.04
#define VARY_GIRTH   0.06

struct range {
    double low, high;
};

static const struct range range_size = {0.84, 0.98};
static const struct range range_stretch = {0.5, 0.7};
static const struct range range_skin = {0.24, 0.47};
static const struct range range_wall = {0.68, 0.94};
static const struct range range_ambient = {0.35, 0.65};
static const struct range range_edge = {0.0, 1.0};
static const struct range range_blur = {0.0, 0.3};
static const struct range range_noise = {0.004, 0.018};
/* And of the scene's. */
#define VARY_PLACE     0.02
#define VARY_WALL_STEP 0.07
#define VARY_SLOPE     0.25
#define VARY_GRADIENT  0.04

/* Steele, Lea and Flood, OOPSLA 2014: a counter, mixed. */
struct stream {
    uint64_t counter;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

#define GOLDEN 0x9E3779B97F4A7C15u

static struct stream stream_of(uint32_t seed, uint64_t letter, uint64_t k)
{
    return (struct stream){mix(mix(mix(seed + GOLDEN) + letter) + k)};
}

static uint64_t draw(struct stream *stream)
{
    return mix(stream->counter += GOLDEN);
}

/* Multiples of 2^-53: exact. */
static double uniform(struct stream *stream, struct range range)
{
    double unit = (double)(draw(stream) >> 11) * (1.0 / 9007199254740992.0);
    return range.low + (range.high - range.low) * unit;
}

static double vary(struct stream *stream, double half_width)
{
    return uniform(stream, (struct range){-half_width, half_width});
}

/* Nearly normal, mean 0, variance 1: the sum of the four 16-bit parts of one draw. */
static double bell(struct stream *stream)
{
    uint64_t bits = draw(stream);
    int64_t sum = (int64_t)((bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48));
    return (double)(sum - 2 * 65535) * (1.7320508075688772 / 65536);
}

static struct lm_hand_variation draw_variation(struct stream *stream)
{
    struct lm_hand_variation v;
    double together = vary(stream, VARY_FLEX / 2); /* one hand bends all its fingers more than another */
    for (int finger = 0; finger <= LM_FINGERS; finger++) {
        v.flex[finger] = together + vary(stream, VARY_FLEX / 2);
        v.spread[finger] = vary(stream, VARY_SPREAD);
    }
    v.forward = vary(stream, VARY_FORWARD);
    v.turn = vary(stream, VARY_TURN);
    v.lean = vary(stream, VARY_LEAN);
    v.arm = vary(stream, VARY_ARM);
    v.length = vary(stream, VARY_LENGTH);
    v.girth = vary(stream, VARY_GIRTH);
    return v;
}

static struct lm_scene draw_scene(struct stream *stream)
{
    struct lm_scene s;
    for (int axis = 0; axis < 2; axis++) {
        s.centre[axis] = 0.5 + vary(stream, VARY_PLACE);
        s.gradient[axis] = vary(stream, VARY_GRADIENT);
        s.light[axis] = vary(stream, 0.9);
    }
    s.light[1] += 0.3; /* lamps hang from ceilings */
    s.light[2] = 1;
    s.size = uniform(stream, range_size);
    s.stretch = uniform(stream, range_stretch);
    s.ambient = uniform(stream, range_ambient);
    s.skin = uniform(stream, range_skin);
    s.wall[0] = uniform(stream, range_wall);
    s.wall[1] = s.wall[0] + vary(stream, VARY_WALL_STEP);
    s.edge = uniform(stream, range_edge);
    s.slope = vary(stream, VARY_SLOPE);
    return s;
}

static void average_cells(const double *drawn, double *image)
{
    for (int row = 0; row < LM_SIDE; row++)
        for (int column = 0; column < LM_SIDE; column++) {
            const double *corner = drawn + row * CELL * DRAWN_SIDE + column * CELL;
            double sum = 0;
            for (int i = 0; i < CELL; i++)
                for (int j = 0; j < CELL; j++)
                    sum += corner[i * DRAWN_SIDE + j];
            image[row * LM_SIDE + column] = sum * (1.0 / (CELL * CELL));
        }
}

/* Mixes each pixel with the mean of its neighbours, the image's edge repeated, along one axis. */
static void blur(double *image, int step, int across, double share)
{
    for (int line = 0; line < LM_SIDE; line++) {
        double *at = image + line * across;
        double before = at[0];
        for (int i = 0; i < LM_SIDE; i++) {
            double here = at[i * step], after = at[(i + 1 < LM_SIDE ? i + 1 : i) * step];
            at[i * step] = here + share * ((before + after) * 0.5 - here);
            before = here;
        }
    }
}

/* The whole number 0 ... 255 nearest to grey, which is nominally 0 ... 1. */
static double level(double grey)
{
    double scaled = grey * 255 + 0.5;
    return scaled < 0 ? 0 : scaled > 255 ? 255 : (double)(int)scaled;
}

void lm_synth_image(uint32_t seed, int letter, uint64_t k, double pixel[LM_PIXELS])
{
    struct stream stream = stream_of(seed, (uint64_t)letter, k);
    struct lm_hand_variation variation = draw_variation(&stream);
    struct lm_scene scene = draw_scene(&stream);
    double share = uniform(&stream, range_blur), noise = uniform(&stream, range_noise);

    struct lm_hand hand;
    double drawn[DRAWN_SIDE * DRAWN_SIDE], depth[DRAWN_SIDE * DRAWN_SIDE];
    lm_hand_pose(&lm_handshape[letter], &variation, &hand);
    lm_hand_draw(&hand, &scene, DRAWN_SIDE, drawn, depth);
    average_cells(drawn, pixel);
    blur(pixel, 1, LM_SIDE, share);
    blur(pixel, LM_SIDE, 1, share);
    for (int i = 0; i < LM_PIXELS; i++)
        pixel[i] = level(pixel[i] + noise * bell(&stream));
}

int lm_synth(const uint64_t count[LM_CLASSES], uint32_t seed, struct lm_dataset *out, struct lm_error *err)
{
    if (lm_dataset_allocate(count, out, err) != LM_OK)
        return lm_fail_within(err, "synthetic data: ");
    const size_t longest = sizeof "synthetic:seed=4294967295";
    out->path = malloc(longest);
    if (!out->path) {
        lm_dataset_free(out);
        return lm_fail_memory(err, longest, "the data set's name");
    }
    snprintf(out->path, longest, "synthetic:seed=%lu", (unsigned long)seed);
    double *pixel = out->pixel;
    for (int c = 0; c < LM_CLASSES; c++)
        for (uint64_t k = 0; k < count[c]; k++, pixel += LM_PIXELS)
            lm_synth_image(seed, c, k, pixel);
    lm_dataset_digest(out);
    return LM_OK;
}
