/* model_kernels.c: the kernels' counts (model_counts.h), read off cuda/layer_kernels.cuh, infer_kernels.cuh,
 * tile_kernel.cuh, train_kernel.cuh and metrics_kernel.cuh. A term I is a layer's inputs, O its outputs, both rounded
 * up to four.
 *
 * Instructions that the sources do not show (addresses, tests, the division of a thread's number by the columns) are
 * taken as AROUND a thread's answer; registers are what the compiler gives for sm_90.
 */
#include "model_counts.h"

#include "model_round.h"

#define WARP        32.0
#define AROUND      24.0 /* instructions round a sum: indices, tests, bias, activation, store */
#define INFER_BLOCK 128.0

static double round4(double n)
{
    return lm_up_to(n, 4.0);
}

static double inputs_of(struct lm_shape s, int l)
{
    return l == 0 ? LM_PIXELS : l == 1 ? s.hidden1 : s.hidden2;
}

static double outputs_of(struct lm_shape s, int l)
{
    return l == 0 ? s.hidden1 : l == 1 ? s.hidden2 : LM_CLASSES;
}

/* lm_sum of I terms: 16-byte loads of both factors, sixteen terms at a time, all loads of those before the products:
 * I / 16 waits for memory one after the other; then I / 4 dependent multiply-adds in each of four chains, two sums. */
static double loads_of_sum(double I)
{
    return 2.0 * I / 4.0;
}

static double turns_of_sum(double I)
{
    return lm_up(I / 16.0);
}

/* ---- a kernel a layer ---- */

/* lm_forward_kernel: a thread a (sample, column). Lanes of a warp read different rows of the weights (they stay in L1:
 * 16 bytes of 32 lines take 16 wavefronts) and the same x. */
static struct lm_kernel forward_kernel(struct lm_shape s, int l, double n, double block)
{
    double I = round4(inputs_of(s, l)), columns = l == LM_LAYERS - 1 ? LM_CLASSES : round4(outputs_of(s, l));
    double threads = n * columns, blocks = lm_up(threads / block), warps = block / WARP;
    double lanes_out = lm_smaller(columns, WARP); /* rows that a warp reads at once */
    struct lm_kernel k = {.name = "forward", .launches = 1.0, .threads = block, .blocks = blocks};
    k.operations = block * (I + 5.0);
    k.global = block * (loads_of_sum(I) + 2.0);
    k.instructions = warps * (I + loads_of_sum(I) + AROUND);
    k.wavefronts = warps * (I / 4.0) * (lanes_out / 2.0 + 1.0);
    k.useful = block * inputs_of(s, l) * lm_smaller(1.0, threads / (blocks * block));
    k.memory_bytes = n * 4.0 * ((l == 0 ? I : 0.0) + (l == LM_LAYERS - 1 ? columns : 0.0));
    k.cache_bytes = n * 4.0 * (I + columns) + 4.0 * lm_padded_layer(s, l);
    k.chain_operations = I / 4.0 + 4.0;
    k.chain_global = turns_of_sum(I) + 1.0; /* and the bias */
    k.registers = 40.0;
    return k;
}

/* lm_delta_kernel: a thread an input of the next layer, down a column: I loads of four bytes and I / 4 of sixteen. */
static struct lm_kernel delta_kernel(struct lm_shape s, int next, double block)
{
    double width = round4(inputs_of(s, next)), rows = round4(outputs_of(s, next));
    struct lm_kernel k = {
        .name = "delta", .launches = 1.0, .threads = block, .blocks = lm_up(width / block), .registers = 40.0};
    k.operations = width * (rows + 5.0);
    k.global = width * (rows * 1.25 + 2.0);
    k.instructions = block / WARP * AROUND + lm_up(width / WARP) * (rows * 2.25);
    k.wavefronts = lm_up(width / WARP) * rows * 1.25;
    k.useful = inputs_of(s, next) * outputs_of(s, next);
    k.cache_bytes = k.memory_bytes = 0.0;
    k.chain_operations = rows / 4.0 + 3.0;
    k.chain_global = turns_of_sum(rows) + 1.0; /* the activation first */
    return k;
}

/* lm_update_kernel: a thread a weight, and one a bias: delta, x and the weight in, the weight out. */
static struct lm_kernel update_kernel(struct lm_shape s, int l, double block)
{
    double threads = outputs_of(s, l) * (inputs_of(s, l) + 1.0);
    struct lm_kernel k = {
        .name = "update", .launches = 1.0, .threads = block, .blocks = lm_up(threads / block), .registers = 24.0};
    k.operations = block * 2.0;
    k.global = block * 4.0;
    k.instructions = block / WARP * (6.0 + AROUND);
    k.wavefronts = block / WARP * 5.0;
    k.useful = outputs_of(s, l) * inputs_of(s, l) / k.blocks;
    k.cache_bytes = threads * 8.0;
    k.chain_operations = 2.0;
    k.chain_global = 2.0; /* delta and x together with the weight; then the store */
    return k;
}

int lm_kernels_step(struct lm_shape s, double block, struct lm_kernel kernel[LM_MOST_KERNELS])
{
    int n = 0;
    for (int l = 0; l < LM_LAYERS; l++)
        kernel[n++] = forward_kernel(s, l, 1.0, block);
    kernel[n++] = delta_kernel(s, 2, block);
    kernel[n++] = delta_kernel(s, 1, block);
    for (int l = LM_LAYERS - 1; l >= 0; l--)
        kernel[n++] = update_kernel(s, l, block);
    return n;
}

/* ---- batches ---- */

/* lm_shared_kernel: 16 neurons' weights staged, used for 64 samples: 8 samples a thread, one after the other; fewer if
 * there are not so many. The weights, then the biases, have just been copied in. */
static struct lm_kernel shared_kernel(struct lm_shape s, int l, double n)
{
    double I = round4(inputs_of(s, l)), O = round4(outputs_of(s, l)), rows = lm_smaller(O, 16.0);
    double each = lm_smaller(lm_up(n / 8.0), 8.0);
    double columns = l == LM_LAYERS - 1 ? LM_CLASSES : O;
    double staged = rows * (lm_padded_layer(s, l) / O), warps = INFER_BLOCK / WARP;
    struct lm_kernel k = {
        .name = "shared", .launches = 1.0, .threads = INFER_BLOCK, .blocks = lm_up(n / 64.0) * lm_up(O / 16.0)};
    k.operations = INFER_BLOCK * each * (I + 5.0);
    k.global = staged + INFER_BLOCK * each * (I / 4.0 + 1.0);
    k.shared = staged + INFER_BLOCK * each * (I / 4.0 + 1.0);
    k.instructions = warps * each * (I + loads_of_sum(I) + AROUND) + staged / WARP * 6.0;
    k.wavefronts = warps * each * (I / 4.0) * (2.0 + 1.0) + staged / WARP * 2.0; /* 16 rows of 16 bytes: 2; x: 1 */
    k.useful = 64.0 * rows * inputs_of(s, l);
    k.memory_bytes = n * 4.0 * ((l == 0 ? I : 0.0) + (l == LM_LAYERS - 1 ? columns : 0.0));
    k.cache_bytes = n * 4.0 * (I * lm_up(O / 16.0) + columns) + k.blocks * staged * 4.0;
    k.chain_operations = each * (I / 4.0 + 4.0);
    k.chain_shared = k.chain_cold = lm_up(staged / INFER_BLOCK / 4.0) + 1.0;
    k.chain_global = each * turns_of_sum(I);
    k.barriers = 1.0;
    k.registers = 40.0;
    k.shared_bytes = staged * 4.0;
    return k;
}

/* lm_fused_kernel: 32 samples a block, a lane a sample; a warp a neuron: its weight is a broadcast from L1, x and the
 * activations come from shared memory, 16 bytes a lane: 4 wavefronts. Each warp has neurons of its own, and waits for
 * their weights, sixteen at a time, and their biases; the first block of all for memory, since they were just copied.
 */
static struct lm_kernel fused_kernel(struct lm_shape s, double n)
{
    double warps = INFER_BLOCK / WARP;
    struct lm_kernel k = {.name = "fused", .launches = 1.0, .threads = INFER_BLOCK, .blocks = lm_up(n / 32.0)};
    k.global = 32.0 * LM_PIXELS;
    k.shared = 32.0 * LM_PIXELS;
    k.instructions = 32.0 * LM_PIXELS / WARP * 8.0;
    k.wavefronts = 32.0 * LM_PIXELS / WARP * 2.0;
    k.chain_global = lm_up(lm_smaller(n, 32.0) / 8.0); /* two samples a turn of the block, four turns at a time */
    for (int l = 0; l < LM_LAYERS; l++) {
        double I = round4(inputs_of(s, l)), O = l == LM_LAYERS - 1 ? LM_CLASSES : round4(outputs_of(s, l));
        double turns = lm_up(O / warps);
        k.operations += 32.0 * O * (I + 3.0);
        k.global += 32.0 * O * (I / 4.0 + 1.0);
        k.shared += 32.0 * O * (I / 4.0 + 1.0);
        k.instructions += O * (I + loads_of_sum(I) + AROUND);
        k.wavefronts += O * (I / 4.0) * (4.0 + 1.0);
        k.useful += 32.0 * inputs_of(s, l) * outputs_of(s, l);
        k.chain_operations += turns * (I / 4.0 + 4.0);
        k.chain_shared += turns * (turns_of_sum(I) + 1.0);
        k.chain_cold += turns * (turns_of_sum(I) + 1.0);
        k.shared_bytes += 32.0 * 4.0 * (I + 4.0);
    }
    k.memory_bytes = n * 4.0 * (LM_PIXELS + LM_CLASSES);
    k.cache_bytes = k.memory_bytes + k.blocks * 4.0 * lm_padded_network(s);
    k.barriers = 3.0;
    k.registers = 48.0;
    return k;
}

/* lm_quick_kernel: a block of 8 warps and 16 samples, twice; a warp two samples, a lane a neuron. A lane loads its part
 * of the network into registers (22 loads of 16 bytes) while the pixels cross the link. */
static struct lm_kernel quick_kernel(double n)
{
    const double warps = 8.0, turns = 2.0, terms = 64.0 + 16.0 + 8.0;
    struct lm_kernel k = {.name = "quick", .launches = 1.0, .threads = 256.0, .blocks = lm_up(n / 32.0)};
    k.operations = 256.0 * turns * 2.0 * (terms + 12.0);
    k.global = 256.0 * (22.0 + turns * 2.0);
    k.shared = 256.0 * turns * 2.0 * (terms / 4.0 + 3.0);
    k.instructions = warps * (30.0 + turns * 2.0 * (terms * 1.25 + 40.0));
    k.wavefronts = warps * turns * 2.0 * (terms / 4.0 + 6.0);
    k.useful = 32.0 * 2800.0;
    k.cache_bytes = k.blocks * 4.0 * 2863.0;
    k.chain_operations = turns * (2.0 * 16.0 + 8.0 + 4.0 + 12.0);
    k.chain_shared = turns * 8.0;
    k.chain_global = 2.0;
    k.barriers = 2.0 * turns;
    k.registers = 128.0;
    k.shared_bytes = warps * 2.0 * 4.0 * (64.0 + 32.0 + 16.0) + 16.0 * 60.0;
    return k;
}

/* lm_tile_kernel: the lab's shape alone. A block of 8 warps; a warp 64 samples a turn; a lane 8 samples x 8 neurons of
 * layer 1 and 4 x 8 of layers 2 and 3, so J inputs are 64 J (32 J) multiply-adds and, by 16 bytes, 4 J (3 J) loads of 2
 * wavefronts. 32 loads of pixels, 128 stores that transpose them; activations and scores go through shared memory
 * again.
 */
static struct lm_kernel tile_kernel(double n, double multiprocessors)
{
    const double warps = 8.0, samples = 64.0;
    double blocks = lm_smaller(lm_up(n / (warps * samples)), lm_larger(multiprocessors, 1.0));
    double turns = lm_up(n / (blocks * warps * samples)); /* of one warp */
    double multiply_adds = 64.0 * 64 + 32.0 * 32 + 16.0 * 32, loads = 64.0 * 4 + 32.0 * 3 + 16.0 * 3;
    double sums = 4.0 * (64 + 32 + 32), stage = 3136.0;
    double moved = 32.0 + 128.0 + 16.0 + 8.0 + 32.0 + 60.0; /* pixels in, transposed; activations; scores twice */
    struct lm_kernel k = {.name = "tile", .launches = 1.0, .threads = 256.0, .blocks = blocks};
    k.operations = 32.0 * warps * turns * (multiply_adds + sums);
    k.global = stage + 32.0 * warps * turns * (32.0 + 30.0);
    k.shared = stage + 32.0 * warps * turns * (loads + moved - 62.0);
    k.instructions = warps * turns * (multiply_adds + sums + loads + 2.0 * moved) + stage / WARP * 8.0;
    k.wavefronts = warps * turns * (2.0 * loads + 128.0 + 4.0 * 24.0 + 60.0) + stage / WARP;
    k.useful = warps * samples * turns * 2800.0;
    k.memory_bytes = n * 4.0 * (LM_PIXELS + LM_CLASSES);
    k.cache_bytes = k.memory_bytes + blocks * 4.0 * stage;
    k.chain_operations = turns * (multiply_adds / 8.0); /* a lane's 64 sums are independent: issue is the limit */
    k.chain_shared = turns * (loads / 4.0);
    k.chain_global = 3.0 + turns;
    k.barriers = 1.0;
    k.registers = 255.0;
    k.shared_bytes = 4.0 * (stage + warps * samples * LM_PIXELS);
    return k;
}

int lm_kernels_score(enum lm_score_way way, struct lm_shape s, double n, double multiprocessors,
                     struct lm_kernel kernel[LM_MOST_KERNELS])
{
    int count = 0;
    if (way == LM_SCORE_FUSED)
        kernel[count++] = fused_kernel(s, n);
    else if (way == LM_SCORE_PIPE)
        kernel[count++] = tile_kernel(n, multiprocessors);
    else if (way == LM_SCORE_QUICK)
        kernel[count++] = quick_kernel(n);
    else
        for (int l = 0; l < LM_LAYERS; l++)
            kernel[count++] = way == LM_SCORE_SHARED ? shared_kernel(s, l, n) : forward_kernel(s, l, n, INFER_BLOCK);
    return count;
}

/* A thread a sample, its activations in registers: 64 columns of 32 rows, 32 of 16 and 16 of 15, a load of 16 bytes for
 * four of them, which all lanes share; three additions a sum, and bias and ReLU. Then one thread adds up the block's
 * 128 losses, in double: a chain in which nobody helps. The network is staged before, 23 words a thread. The registers
 * are a guess. */
struct lm_kernel lm_kernel_metrics(double networks, double n)
{
    double multiply_adds = 64.0 * 32 + 32.0 * 16 + 16.0 * 15, loads = multiply_adds / 4.0, sums = 5.0 * (32 + 16 + 15);
    double block = 128.0, rounds = lm_up(n / block), warps = block / WARP, stage = 23.0;
    struct lm_kernel k = {.name = "metrics", .launches = 1.0, .threads = block, .blocks = networks};
    k.operations = n * (multiply_adds + sums);
    k.global = block * stage + n * 17.0;
    k.shared = block * stage + n * (loads + 4.0);
    k.instructions =
        rounds * (warps * (multiply_adds + loads + sums + 2.0 * AROUND) + 4.0 * block) + warps * 3.0 * stage;
    k.wavefronts = rounds * (warps * loads + 2.0 * block) + warps * stage;
    k.useful = n * multiply_adds;
    k.memory_bytes = networks * (4.0 * 2863.0 + 12.0);
    k.cache_bytes = k.memory_bytes + networks * n * (4.0 * LM_PIXELS + 1.0);
    k.chain_operations = rounds * (64.0 / 4.0 + 32.0 / 4.0 + 16.0 / 4.0 + 2.0 * block);
    k.chain_shared = rounds * 8.0;
    k.chain_global = rounds + 1.0;
    k.barriers = 2.0 * rounds + 1.0;
    k.registers = 168.0;
    k.shared_bytes = 4.0 * (2048 + 32 + 512 + 16 + 256 + 16 + 2.0 * block);
    return k;
}

/* ---- the stages of a step ---- */

/* lm_block_hidden, lm_block_errors: four lanes a neuron, I / 4 terms each, two loads a term; two shuffles join them. */
static struct lm_stage forward_stage(double I, double O, double block)
{
    double rounds = lm_up(O / (block / 4.0)), warps = lm_up(4.0 * O / WARP);
    return (struct lm_stage){.chain_operations = rounds * (I / 4.0 + 5.0),
                             .chain_shared = rounds * 4.0, /* the first terms, two shuffles, the store */
                             .instructions = warps * (0.75 * I + AROUND) + block / WARP * 6.0 * rounds,
                             .wavefronts = warps * (0.5 * I + 4.0)};
}

/* lm_block_deltas: a thread a neuron, down a column of O rows. */
static struct lm_stage delta_stage(double width, double rows, double block)
{
    double rounds = lm_up(width / block), warps = lm_up(width / WARP);
    return (struct lm_stage){.chain_operations = rounds * (rows / 4.0 + 4.0),
                             .chain_shared =
                                 rounds * (turns_of_sum(rows) + 2.0), /* the activation, the sum, the store */
                             .instructions = warps * (2.25 * rows + AROUND) + block / WARP * 4.0,
                             .wavefronts = warps * (1.25 * rows + 4.0)};
}

/* lm_block_update: a row has as many lanes as its groups of four columns, rounded up to a power of two; a thread goes
 * down the rows, four at a time. Loads and stores of 16 bytes: 4 wavefronts each a warp. */
static struct lm_stage update_stage(double I, double O, double block)
{
    double groups = 1.0, rows;
    while (groups < I / 4.0)
        groups *= 2.0;
    rows = lm_larger(1.0, block / groups);
    double turns = lm_up(O / rows), batches = lm_up(turns / 4.0), warps = lm_up(O * groups / WARP);
    return (struct lm_stage){.chain_operations = batches * 6.0,
                             .chain_shared = batches * 2.0 + turns / 4.0,
                             .instructions = warps * 16.0 + block / WARP * 8.0 * batches,
                             .wavefronts = warps * 10.0};
}

static struct lm_stage both(struct lm_stage a, struct lm_stage b)
{
    return (struct lm_stage){a.chain_operations + b.chain_operations, a.chain_shared + b.chain_shared,
                             a.instructions + b.instructions, a.wavefronts + b.wavefronts};
}

void lm_stages_of_step(struct lm_shape s, double block, struct lm_stage stage[LM_STAGES])
{
    double h1 = round4(s.hidden1), h2 = round4(s.hidden2), c = round4(LM_CLASSES);
    struct lm_stage bring = {.instructions = lm_up(16.0 / WARP) * 12.0, .wavefronts = 4.0}; /* the next sample */
    struct lm_stage loss = {.instructions = 40.0, .wavefronts = 8.0};
    stage[0] = both(forward_stage(LM_PIXELS, h1, block), bring);
    stage[1] = forward_stage(h1, h2, block);
    stage[2] = forward_stage(h2, LM_CLASSES, block);
    stage[3] = both(delta_stage(h2, c, block), loss);
    stage[4] = both(delta_stage(h1, h2, block), update_stage(h2, LM_CLASSES, block));
    stage[5] = both(update_stage(h1, h2, block), update_stage(LM_PIXELS, h1, block));
}
