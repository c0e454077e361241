/* summation_kernel.h: one candidate for the order of summation; included by summation.c once for each.
 *
 * W floats a vector, P partial sums, FIRST: partial sum 0 starts from the bias. NAME(x) is x of this candidate, V(x)
 * the operation x on vectors of W floats. A tile is one vector of G = W / P outputs x P inputs: lane l holds partial
 * sum l % P. A layer is [tile][chunk of P inputs][lane], its biases a vector for each W outputs, or with FIRST a tile
 * each. A layer's tiles are summed at the same time, CHAINS of them at most.
 */
#define G         (W / P)
#define CHAINS    (W == 16 ? 16 : 8)
#define INPUTS(p) V(EVAL(inputs, P))(p)
#define BIASES(o) (FIRST ? (o)*P : (o))
#define WEIGHTS1  (H1 * LM_PIXELS)
#define WEIGHTS2  (H2 * H1)

/* P vectors of tiles become one with an output an element. Which is which, order() finds out. */
INLINE V(vec) NAME(reduce)(V(vec) * sum)
{
    UNROLL(4)
    for (int n = P; n > 1; n /= 2) {
        UNROLL(4)
        for (int k = 0; k < n / 2; k++)
            sum[k] = n == 2 && P == 8 ? V(halves)(sum[0], sum[1]) : V(pairs)(sum[2 * k], sum[2 * k + 1]);
    }
    return sum[0];
}

INLINE void NAME(layer)(const float *w, const float *bias, const float *x, int inputs, int outputs, float *out)
{
    const int tiles = outputs / G, chunks = inputs / P, most = tiles < CHAINS ? tiles : CHAINS;
    for (int t = 0; t < tiles; t += most) {
        V(vec) sum[CHAINS];
        V(vec) in = INPUTS(x);
        UNROLL(16)
        for (int k = 0; k < most; k++) {
            V(vec) weight = V(load)(w + (size_t)((t + k) * chunks) * W);
            sum[k] = FIRST ? V(fma)(weight, in, V(load)(bias + (t + k) * W)) : V(mul)(weight, in);
        }
        for (int c = 1; c < chunks; c++) {
            in = INPUTS(x + c * P);
            UNROLL(16)
            for (int k = 0; k < most; k++)
                sum[k] = V(fma)(V(load)(w + (size_t)((t + k) * chunks + c) * W), in, sum[k]);
        }
        UNROLL(16)
        for (int k = 0; k < most; k += P) {
            V(vec) z = NAME(reduce)(sum + k);
            if (!FIRST)
                z = V(add)(z, V(load)(bias + (t + k) * G));
            V(store)(out + (t + k) * G, V(relu)(z));
        }
    }
}

/* delta (H1), spread over the lanes of tile k of P by spread (P, W). */
INLINE void NAME(update)(float *w, float *bias, const float *x, const float *delta, const int *spread)
{
    const int tiles = H1 / G, chunks = LM_PIXELS / P, most = tiles < CHAINS ? tiles : CHAINS;
    for (int t = 0; t < tiles; t += most) {
        V(vec) d[CHAINS];
        UNROLL(16)
        for (int k = 0; k < most; k++)
            d[k] = V(spread)(V(load)(delta + (t + k) / P * W), spread + k % P * W);
        if (FIRST) {
            UNROLL(16)
            for (int k = 0; k < most; k++)
                V(store)(bias + (t + k) * W, V(add)(V(load)(bias + (t + k) * W), V(first)(d[k])));
        } else {
            for (int k = 0; k < most; k += P)
                V(store)(bias + (t + k) * G, V(add)(V(load)(bias + (t + k) * G), V(load)(delta + (t + k) * G)));
        }
        for (int c = 0; c < chunks; c++) {
            V(vec) in = INPUTS(x + c * P);
            UNROLL(16)
            for (int k = 0; k < most; k++) {
                float *tile = w + (size_t)((t + k) * chunks + c) * W;
                V(store)(tile, V(fma)(d[k], in, V(load)(tile)));
            }
        }
    }
}

/* label[e]: which output, of W, element e of a reduced vector is. */
static void NAME(order)(int *label)
{
    float lane[P * W] __attribute__((aligned(64))), out[W] __attribute__((aligned(64)));
    V(vec) sum[P];
    for (int l = 0; l < P * W; l++)
        lane[l] = l % P == 0 ? (float)(l / P) : 0.0f;
    for (int k = 0; k < P; k++)
        sum[k] = V(load)(lane + k * W);
    V(store)(out, NAME(reduce)(sum));
    for (int e = 0; e < W; e++)
        label[e] = (int)out[e];
}

/* n steps; x (n, 64). Scores of the last one in out (16). */
static void NAME(steps)(struct layouts *net, const float *x, int n, float *out)
{
    float a1[H1] __attribute__((aligned(64))), a2[H2] __attribute__((aligned(64))),
        delta[H1] __attribute__((aligned(64)));
    float *w1 = net->memory, *w2 = w1 + WEIGHTS1, *w3 = w2 + WEIGHTS2, *b1 = w3 + OUT * H2;
    const float *b2 = b1 + BIASES(H1), *b3 = b2 + BIASES(H2);
    for (int s = 0; s < n; s++, x += LM_PIXELS) {
        NAME(layer)(w1, b1, x, LM_PIXELS, H1, a1);
        NAME(layer)(w2, b2, a1, H1, H2, a2);
        NAME(layer)(w3, b3, a2, H2, OUT, out);
        V(vec) rate = V(all)((out[0] + 1.0f) * RATE);
        for (int o = 0; o < H1; o += W)
            V(store)(delta + o, V(mul)(V(load)(a1 + o), rate));
        NAME(update)(w1, b1, x, delta, net->spread);
    }
}

#undef G
#undef CHAINS
#undef INPUTS
#undef BIASES
#undef WEIGHTS1
#undef WEIGHTS2
#undef W
#undef P
#undef FIRST
#undef NAME
