/* simd_infer.h: many samples at a time, one in each element of a vector. Included once by each simd_*.c.
 *
 * A batch is INFER_VECTORS vectors of samples. Its rows are transposed, so that pixel j of all samples lies together;
 * then each layer is a product of matrices: INFER_OUTPUTS outputs by INFER_VECTORS vectors are summed in registers at a
 * time, a weight is loaded once for all samples and repeated in a vector, a vector of inputs once for INFER_OUTPUTS.
 * The four partial sums of rule 1 are taken one after the other (inputs k, k + 4, ...): only one of them needs
 * registers, and the outputs and vectors in flight are chains enough to fill the multiply-add units.
 *
 * Nothing is padded but the batch, with samples of zeros whose scores are dropped. Where the inputs do not fill their
 * last chunk, the partial sums that lack a term get +0 added, which is what rule 1's term (+0)(+0) does.
 *
 * While layer 1 of a batch is in work, the rows of the next one are fetched, and the lines that its scores go to: read
 * four floats at a time from 16 or more rows at once, they are not what a processor foresees. A few lines at a time,
 * for a core has room for only 10 to 16 that are on their way. (With cold caches 12 % more samples a second for the few
 * at a time, 10 % for the scores; AVX-512.)
 *
 * Left out: batches of another size for a few samples (one sample takes a batch's time, some microseconds).
 */
#define SAMPLES (INFER_VECTORS * 4 * ROWS)

/* w is (outputs, inputs) row-major as in network.h; x (inputs, SAMPLES) and out (outputs, SAMPLES). */
struct product {
    const float *w, *b, *x;
    float *out;
    size_t inputs;
    int hidden; /* ReLU or, in the last layer, canonical NaNs */
};

/* Partial sum k of n outputs from the first on. */
INLINE void partial_sums(const struct product *p, size_t first, size_t n, size_t k, vec sum[][INFER_VECTORS])
{
    const float *w = p->w + first * p->inputs;
    UNROLL(8)
    for (size_t r = 0; r < n; r++) {
        UNROLL(4)
        for (size_t s = 0; s < INFER_VECTORS; s++)
            sum[r][s] = vec_all(0.0f);
    }
    if (k >= p->inputs)
        return;
    UNROLL(8)
    for (size_t r = 0; r < n; r++) {
        UNROLL(4)
        for (size_t s = 0; s < INFER_VECTORS; s++)
            sum[r][s] = vec_mul(vec_all(w[r * p->inputs + k]), vec_load(p->x + k * SAMPLES + s * TILE));
    }
    for (size_t j = k + 4; j < p->inputs; j += 4) {
        vec in[INFER_VECTORS];
        UNROLL(4)
        for (size_t s = 0; s < INFER_VECTORS; s++)
            in[s] = vec_load(p->x + j * SAMPLES + s * TILE);
        UNROLL(8)
        for (size_t r = 0; r < n; r++) {
            vec weight = vec_all(w[r * p->inputs + j]);
            UNROLL(4)
            for (size_t s = 0; s < INFER_VECTORS; s++)
                sum[r][s] = vec_fma(weight, in[s], sum[r][s]);
        }
    }
    if (p->inputs % 4 != 0 && k >= p->inputs % 4) {
        UNROLL(8)
        for (size_t r = 0; r < n; r++) {
            UNROLL(4)
            for (size_t s = 0; s < INFER_VECTORS; s++)
                sum[r][s] = vec_add(sum[r][s], vec_all(0.0f));
        }
    }
}

/* What is still to be fetched for the next batch: its rows, and the lines that its scores go to; and how many lines of
 * each at a time. */
struct ahead {
    const float *row, *end_of_rows, *score, *end_of_scores;
    size_t rows, scores;
};

/* Into the second cache: the first holds what is in work. */
INLINE void fetch(struct ahead *next)
{
    for (size_t k = 0; k < next->rows && next->row < next->end_of_rows; k++, next->row += 16)
        __builtin_prefetch(next->row, 0, 2);
    for (size_t k = 0; k < next->scores && next->score < next->end_of_scores; k++, next->score += 16)
        __builtin_prefetch(next->score, 1, 2);
}

/* n outputs from the first on, whole: the tree, the bias, ReLU or the scores' NaNs. */
INLINE void outputs(const struct product *p, size_t first, size_t n, struct ahead *next)
{
    vec even[INFER_OUTPUTS][INFER_VECTORS], odd[INFER_OUTPUTS][INFER_VECTORS], more[INFER_OUTPUTS][INFER_VECTORS];
    if (next)
        fetch(next);
    partial_sums(p, first, n, 0, even);
    if (next)
        fetch(next);
    partial_sums(p, first, n, 1, more);
    UNROLL(8)
    for (size_t r = 0; r < n; r++) {
        UNROLL(4)
        for (size_t s = 0; s < INFER_VECTORS; s++)
            even[r][s] = vec_add(even[r][s], more[r][s]);
    }
    if (next)
        fetch(next);
    partial_sums(p, first, n, 2, odd);
    if (next)
        fetch(next);
    partial_sums(p, first, n, 3, more);
    UNROLL(8)
    for (size_t r = 0; r < n; r++) {
        vec bias = vec_all(p->b[first + r]);
        UNROLL(4)
        for (size_t s = 0; s < INFER_VECTORS; s++) {
            vec z = vec_add(vec_add(even[r][s], vec_add(odd[r][s], more[r][s])), bias);
            vec_store(p->out + (first + r) * SAMPLES + s * TILE, p->hidden ? vec_relu(z) : vec_canonical(z));
        }
    }
}

/* A last incomplete set of outputs starts earlier instead: some are computed twice, to the same bits. */
INLINE void layer(const struct product *p, size_t n, struct ahead *next)
{
    if (n < INFER_OUTPUTS) {
        for (size_t i = 0; i < n; i++)
            outputs(p, i, 1, next);
        return;
    }
    for (size_t i = 0; i < n; i += INFER_OUTPUTS)
        outputs(p, i + INFER_OUTPUTS <= n ? i : n - INFER_OUTPUTS, INFER_OUTPUTS, next);
}

/* next: of n rows that are left, those after this batch's; layer 1's partial sums are so many occasions. */
INLINE struct ahead ahead_of(const float *x, const float *scores, size_t n, size_t hidden1)
{
    const size_t rows = n > SAMPLES ? (n - SAMPLES < SAMPLES ? n - SAMPLES : SAMPLES) : 0;
    const size_t occasions = 4 * (hidden1 < INFER_OUTPUTS ? hidden1 : lm_simd_divide_up(hidden1, INFER_OUTPUTS));
    const size_t skipped = rows > 0 ? SAMPLES : 0;
    x += skipped * LM_PIXELS;
    scores += skipped * LM_CLASSES;
    return (struct ahead){x,
                          x + rows * LM_PIXELS,
                          scores,
                          scores + rows * LM_CLASSES,
                          lm_simd_divide_up(SAMPLES * LM_PIXELS / 16, occasions),
                          lm_simd_divide_up(SAMPLES * LM_CLASSES / 16, occasions)};
}

INLINE void transpose_in(const float *x, float *out)
{
    for (size_t s = 0; s < INFER_VECTORS; s++) {
        for (size_t c = 0; c < LM_PIXELS; c += 4) {
            vec v[4];
            UNROLL(4)
            for (size_t k = 0; k < 4; k++)
                v[k] = vec_gather_rows(x + (s * TILE + k) * LM_PIXELS + c, LM_PIXELS);
            vec_transpose(v);
            UNROLL(4)
            for (size_t k = 0; k < 4; k++)
                vec_store(out + (c + k) * SAMPLES + s * TILE, v[k]);
        }
    }
}

/* Classes 0 4 8 11: the last four overlap, so that no store goes beyond a row of 15. */
INLINE void transpose_out(const float *in, float *scores)
{
    for (size_t s = 0; s < INFER_VECTORS; s++) {
        UNROLL(4)
        for (size_t part = 0; part < 4; part++) {
            size_t c = part < 3 ? 4 * part : LM_CLASSES - 4;
            vec v[4];
            UNROLL(4)
            for (size_t k = 0; k < 4; k++)
                v[k] = vec_load(in + (c + k) * SAMPLES + s * TILE);
            vec_transpose(v);
            UNROLL(4)
            for (size_t k = 0; k < 4; k++)
                vec_scatter_rows(scores + (s * TILE + k) * LM_CLASSES + c, LM_CLASSES, v[k]);
        }
    }
}

struct columns {
    _Alignas(64) float x[LM_PIXELS * SAMPLES];
    _Alignas(64) float a1[LM_MAX_HIDDEN * SAMPLES];
    _Alignas(64) float a2[LM_MAX_HIDDEN * SAMPLES];
    _Alignas(64) float score[LM_CLASSES * SAMPLES];
};

INLINE void infer_batch(const float *parameters, struct lm_shape shape, const float *x, struct ahead *next,
                        float *scores)
{
    const size_t h1 = shape.hidden1, h2 = shape.hidden2;
    const float *w1 = parameters, *b1 = w1 + h1 * LM_PIXELS, *w2 = b1 + h1, *b2 = w2 + h2 * h1, *w3 = b2 + h2;
    const float *b3 = w3 + LM_CLASSES * h2;
    struct columns t;
    transpose_in(x, t.x);
    layer(&(struct product){w1, b1, t.x, t.a1, LM_PIXELS, 1}, h1, next);
    layer(&(struct product){w2, b2, t.a1, t.a2, h1, 1}, h2, NULL);
    layer(&(struct product){w3, b3, t.a2, t.score, h2, 0}, LM_CLASSES, NULL);
    transpose_out(t.score, scores);
}

static void infer_default(const float *parameters, const float *x, struct ahead *next, float *scores)
{
    infer_batch(parameters, (struct lm_shape){32, 16}, x, next, scores);
}

static void infer_any(const float *parameters, struct lm_shape shape, const float *x, struct ahead *next, float *scores)
{
    infer_batch(parameters, shape, x, next, scores);
}

static void infer(void *state, const float *x, size_t n, float *scores)
{
    struct network *net = state;
    const int is_default = net->shape.hidden1 == 32 && net->shape.hidden2 == 16;
    const float *parameters = plain_parameters(net);
    for (size_t k = 0; k < n; k += SAMPLES) {
        float row[SAMPLES * LM_PIXELS], score[SAMPLES * LM_CLASSES];
        size_t left = n - k < SAMPLES ? n - k : SAMPLES;
        const float *from = x + k * LM_PIXELS;
        float *to = scores + k * LM_CLASSES;
        if (left < SAMPLES) {
            memcpy(row, from, left * LM_PIXELS * sizeof *row);
            memset(row + left * LM_PIXELS, 0, (SAMPLES - left) * LM_PIXELS * sizeof *row);
            from = row;
            to = score;
        }
        struct ahead next = ahead_of(x + k * LM_PIXELS, scores + k * LM_CLASSES, n - k, net->shape.hidden1);
        if (is_default)
            infer_default(parameters, from, &next, to);
        else
            infer_any(parameters, net->shape, from, &next, to);
        if (left < SAMPLES)
            memcpy(scores + k * LM_CLASSES, score, left * LM_CLASSES * sizeof *score);
    }
}
