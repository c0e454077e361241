/* summation.c: what the order of summation costs a CPU: 1, 2, 4 and 8 interleaved partial sums, and four of which the
 * first starts from the bias; with AVX2 and with AVX-512, on one core.
 *
 *     summation [REPEATS]      default: 400
 *
 * Timed are the parts of a training step that the order shapes most, the three forward passes and layer 1's update,
 * each waiting for the one before, by prototypes that are alike but for the order (summation_kernel.h). The backward
 * pass is not among them: with one partial sum it needs a transposed copy of the weights besides, with two its lanes do
 * not line up, so the table flatters both. Repeats are interleaved; shown are medians, in the thread's own time, the
 * spread, and the median of the ratios to four partial sums with vectors of the same width in the same repeat.
 *
 * Before that each prototype has to give the bits of a plain loop with its order of summation; else it ends 1.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "network.h"
#include "simd.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>

#define H1           32
#define H2           16
#define OUT          16 /* 15, padded */
#define RATE         1e-4f
#define STEPS        1000
#define CHECKED      50
#define MOST_REPEATS 10000
#define EVAL2(a, b)  a##b
#define EVAL(a, b)   EVAL2(a, b)

/* A network in the layout of a candidate, and how its deltas are spread over tiles. */
struct layouts {
    float memory[H1 * LM_PIXELS + H2 * H1 + OUT * H2 + 8 * (H1 + H2 + OUT)] __attribute__((aligned(64)));
    int spread[8 * 16] __attribute__((aligned(64)));
};

/* ---- vectors of 8 floats ---- */

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define V(x) EVAL(avx2_, x)
typedef __m256 avx2_vec;
#define avx2_load       _mm256_load_ps
#define avx2_store      _mm256_store_ps
#define avx2_all        _mm256_set1_ps
#define avx2_add        _mm256_add_ps
#define avx2_mul        _mm256_mul_ps
#define avx2_fma        _mm256_fmadd_ps
#define avx2_relu(z)    _mm256_max_ps(z, _mm256_setzero_ps())
#define avx2_inputs1    _mm256_broadcast_ss
#define avx2_inputs2(p) _mm256_castpd_ps(_mm256_broadcast_sd((const double *)(const void *)(p)))
#define avx2_inputs4(p) _mm256_broadcast_ps((const __m128 *)(const void *)(p))
#define avx2_inputs8    _mm256_load_ps
/* Sums of neighbours within lanes of four; sums of the two lanes of four. */
#define avx2_pairs(a, b)  _mm256_add_ps(_mm256_shuffle_ps(a, b, 0x88), _mm256_shuffle_ps(a, b, 0xdd))
#define avx2_halves(a, b) _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31))
#define avx2_spread(v, i) _mm256_permutevar8x32_ps(v, _mm256_load_si256((const __m256i *)(const void *)(i)))
/* Partial sum 0 of four. */
#define avx2_first(v) _mm256_blend_ps(_mm256_setzero_ps(), v, 0x11)

#define W       8
#define P       1
#define FIRST   0
#define NAME(x) x##_8_1
#include "summation_kernel.h"
#define W       8
#define P       2
#define FIRST   0
#define NAME(x) x##_8_2
#include "summation_kernel.h"
#define W       8
#define P       4
#define FIRST   0
#define NAME(x) x##_8_4
#include "summation_kernel.h"
#define W       8
#define P       8
#define FIRST   0
#define NAME(x) x##_8_8
#include "summation_kernel.h"
#define W       8
#define P       4
#define FIRST   1
#define NAME(x) x##_8_4_first
#include "summation_kernel.h"
#undef V
#pragma GCC pop_options

/* ---- vectors of 16 floats ---- */

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx2,fma")
#define V(x) EVAL(avx512_, x)
typedef __m512 avx512_vec;
#define avx512_load         _mm512_load_ps
#define avx512_store        _mm512_store_ps
#define avx512_all          _mm512_set1_ps
#define avx512_add          _mm512_add_ps
#define avx512_mul          _mm512_mul_ps
#define avx512_fma          _mm512_fmadd_ps
#define avx512_relu(z)      _mm512_max_ps(z, _mm512_setzero_ps())
#define avx512_inputs1(p)   _mm512_set1_ps(*(p))
#define avx512_inputs2(p)   _mm512_castpd_ps(_mm512_broadcastsd_pd(_mm_load_sd((const double *)(const void *)(p))))
#define avx512_inputs4(p)   _mm512_broadcast_f32x4(_mm_load_ps(p))
#define avx512_inputs8(p)   _mm512_broadcast_f32x8(_mm256_load_ps(p))
#define avx512_pairs(a, b)  _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd))
#define avx512_halves(a, b) _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd))
#define avx512_spread(v, i) _mm512_permutexvar_ps(_mm512_load_si512((const void *)(i)), v)
#define avx512_first(v)     _mm512_maskz_mov_ps(0x1111, v)

#define W       16
#define P       1
#define FIRST   0
#define NAME(x) x##_16_1
#include "summation_kernel.h"
#define W       16
#define P       2
#define FIRST   0
#define NAME(x) x##_16_2
#include "summation_kernel.h"
#define W       16
#define P       4
#define FIRST   0
#define NAME(x) x##_16_4
#include "summation_kernel.h"
#define W       16
#define P       8
#define FIRST   0
#define NAME(x) x##_16_8
#include "summation_kernel.h"
#define W       16
#define P       4
#define FIRST   1
#define NAME(x) x##_16_4_first
#include "summation_kernel.h"
#undef V
#pragma GCC pop_options

/* ---- candidates ---- */

struct candidate {
    const char *name;
    int width, partials, first;
    void (*order)(int *label);
    void (*steps)(struct layouts *net, const float *x, int n, float *out);
    double second[MOST_REPEATS], ratio[MOST_REPEATS];
};

#define CANDIDATE(name, w, p, first, id)                                                                               \
    {                                                                                                                  \
        name, w, p, first, order_##id, steps_##id, {0},                                                                \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }
static struct candidate all[] = {
    CANDIDATE("AVX2, 4", 8, 4, 0, 8_4),
    CANDIDATE("AVX2, 1", 8, 1, 0, 8_1),
    CANDIDATE("AVX2, 2", 8, 2, 0, 8_2),
    CANDIDATE("AVX2, 8", 8, 8, 0, 8_8),
    CANDIDATE("AVX2, 4, bias first", 8, 4, 1, 8_4_first),
    CANDIDATE("AVX-512, 4", 16, 4, 0, 16_4),
    CANDIDATE("AVX-512, 1", 16, 1, 0, 16_1),
    CANDIDATE("AVX-512, 2", 16, 2, 0, 16_2),
    CANDIDATE("AVX-512, 8", 16, 8, 0, 16_8),
    CANDIDATE("AVX-512, 4, bias first", 16, 4, 1, 16_4_first),
};
#define CANDIDATES ((int)(sizeof all / sizeof *all))

/* ---- the same by a plain loop ---- */

struct plain {
    float w1[H1][LM_PIXELS], w2[H2][H1], w3[OUT][H2], b1[H1], b2[H2], b3[OUT];
};

static float plain_sum(const float *w, float bias, const float *x, int inputs, const struct candidate *c)
{
    float sum[8];
    for (int j = 0; j < inputs; j++)
        sum[j % c->partials] = j >= c->partials ? fmaf(w[j], x[j], sum[j % c->partials])
                               : !c->first      ? w[j] * x[j]
                                                : fmaf(w[j], x[j], j == 0 ? bias : 0.0f);
    for (int n = c->partials; n > 1; n /= 2)
        for (int k = 0; k < n / 2; k++)
            sum[k] = sum[2 * k] + sum[2 * k + 1];
    float z = c->first ? sum[0] : sum[0] + bias;
    return z > 0.0f ? z : 0.0f;
}

static void plain_steps(struct plain *net, const float *x, int n, const struct candidate *c, float *out)
{
    float a1[H1], a2[H2];
    for (int s = 0; s < n; s++, x += LM_PIXELS) {
        for (int o = 0; o < H1; o++)
            a1[o] = plain_sum(net->w1[o], net->b1[o], x, LM_PIXELS, c);
        for (int o = 0; o < H2; o++)
            a2[o] = plain_sum(net->w2[o], net->b2[o], a1, H1, c);
        for (int o = 0; o < OUT; o++)
            out[o] = plain_sum(net->w3[o], net->b3[o], a2, H2, c);
        for (int o = 0; o < H1; o++) {
            float delta = a1[o] * ((out[0] + 1.0f) * RATE);
            net->b1[o] += delta;
            for (int j = 0; j < LM_PIXELS; j++)
                net->w1[o][j] = fmaf(delta, x[j], net->w1[o][j]);
        }
    }
}

/* ---- layouts ---- */

/* Output o of a layer is element `position` of its activations, and group `label` of a tile. */
static int tile_of(const struct candidate *c, const int *label, int o, int *lane)
{
    const int w = c->width, p = c->partials, group = label[o % w];
    *lane = group % (w / p) * p;
    return o / w * p + group / (w / p);
}

static void put_layer(const struct candidate *c, const int *label, const float *w, int inputs, int outputs, float *to)
{
    for (int o = 0; o < outputs; o++) {
        int lane, tile = tile_of(c, label, o, &lane), p = c->partials;
        for (int j = 0; j < inputs; j++)
            to[(tile * (inputs / p) + j / p) * c->width + lane + j % p] = w[o * inputs + j];
    }
}

static void put_bias(const struct candidate *c, const int *label, const float *b, int outputs, float *to)
{
    for (int o = 0; o < outputs; o++) {
        int lane, tile = tile_of(c, label, o, &lane);
        to[c->first ? tile * c->width + lane : o] = b[o];
    }
}

static void put(const struct candidate *c, const struct plain *net, struct layouts *to)
{
    int label[16];
    float *w = to->memory, *b = w + H1 * LM_PIXELS + H2 * H1 + OUT * H2;
    const int biases = c->first ? c->partials : 1;
    memset(to, 0, sizeof *to);
    c->order(label);
    put_layer(c, label, net->w1[0], LM_PIXELS, H1, w);
    put_layer(c, label, net->w2[0], H1, H2, w + H1 * LM_PIXELS);
    put_layer(c, label, net->w3[0], H2, OUT, w + H1 * LM_PIXELS + H2 * H1);
    put_bias(c, label, net->b1, H1, b);
    put_bias(c, label, net->b2, H2, b + H1 * biases);
    put_bias(c, label, net->b3, OUT, b + (H1 + H2) * biases);
    for (int o = 0; o < c->width; o++) {
        int lane, tile = tile_of(c, label, o, &lane);
        for (int k = 0; k < c->partials; k++)
            to->spread[tile * c->width + lane + k] = o;
    }
}

static float drawn(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

static void draw(struct plain *net, float *x)
{
    uint32_t state = 1337;
    float *w = net->w1[0];
    for (size_t k = 0; k < sizeof *net / sizeof *w; k++)
        w[k] = 0.2f * drawn(&state);
    for (int k = 0; k < STEPS * LM_PIXELS; k++)
        x[k] = drawn(&state);
}

/* 1 if a candidate's bits are its plain loop's: scores, and the layout of its weights and biases after CHECKED steps.
 */
static int is_right(const struct candidate *c, const struct plain *net, const float *x)
{
    static struct plain changed;
    static struct layouts got, want;
    float a[OUT] __attribute__((aligned(64))), b[OUT];
    changed = *net;
    put(c, net, &got);
    c->steps(&got, x, CHECKED, a);
    plain_steps(&changed, x, CHECKED, c, b);
    put(c, &changed, &want);
    return memcmp(a, b, sizeof a) == 0 && memcmp(&got, &want, sizeof got) == 0 &&
           memcmp(net, &changed, sizeof changed) != 0;
}

/* ---- measuring ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int measure(const struct plain *net, const float *x, int repeats, int n)
{
    static struct layouts layout;
    float out[OUT] __attribute__((aligned(64)));
    for (int k = 0; k < n; k++)
        if (!is_right(&all[k], net, x)) {
            printf("%s: NOT the bits of a plain loop with that order\n", all[k].name);
            return 1;
        }
    for (int r = 0; r < repeats; r++)
        for (int k = 0, four = 0; k < n; k++) {
            put(&all[k], net, &layout);
            double start = now();
            all[k].steps(&layout, x, STEPS, out);
            all[k].second[r] = (now() - start) / STEPS;
            four = all[k].partials == 4 && !all[k].first ? k : four;
            all[k].ratio[r] = all[k].second[r] / all[four].second[r];
        }
    printf("%-24s %9s %9s %9s %9s    %d repeats of %d steps\n", "partial sums", "median ns", "least", "largest",
           "four = 1", repeats, STEPS);
    for (int k = 0; k < n; k++) {
        qsort(all[k].second, (size_t)repeats, sizeof(double), by_value);
        qsort(all[k].ratio, (size_t)repeats, sizeof(double), by_value);
        printf("%-24s %9.1f %9.1f %9.1f %9.3f\n", all[k].name, 1e9 * all[k].second[repeats / 2], 1e9 * all[k].second[0],
               1e9 * all[k].second[repeats - 1], all[k].ratio[repeats / 2]);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct plain net;
    static float x[STEPS * LM_PIXELS] __attribute__((aligned(64)));
    int repeats = argc > 1 ? atoi(argv[1]) : 400, n = 0;
    if (argc > 2 || repeats < 1 || repeats > MOST_REPEATS) {
        fprintf(stderr, "usage: summation [REPEATS (1 to %d)]\n", MOST_REPEATS);
        return 2;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        n = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? CANDIDATES : CANDIDATES / 2;
    if (n == 0)
        printf("summation: this processor has no AVX2\n");
    draw(&net, x);
    return n > 0 ? measure(&net, x, repeats, n) : 0;
}

#else
int main(void)
{
    printf("summation: needs GCC on x86\n");
    return 0;
}
#endif
