/* test_host_kernels.cpp: every kernel of cuda/, run on the host and compared bit for bit with the reference.
 * timeout: 600
 *
 * Where there is no GPU this is what stands between a fault in a kernel and the users: host_cuda.h runs a block's
 * threads in three orders, under AddressSanitizer too (make sanitize). The first tests plant faults in kernels of their
 * own and demand that they are seen: a check that cannot fail proves nothing.
 */
#include "host_made.h"

#include "infer_kernels.cuh"
#include "layer_kernels.cuh"
#include "train_kernel.cuh"

/* ---- planted faults ---- */

struct planted {
    float *out;
    uint32_t n;
    int fault;
};
enum { NO_FAULT, NO_BARRIER, WRONG_INDEX, HALF_A_BARRIER, TWO_BARRIERS, EARLY_RETURN, MISSING_LANE, UNWRITTEN };

/* Turns n numbers round through shared memory. */
static void planted_kernel(struct planted p)
{
    LM_ARENA(arena);
    uint32_t t = threadIdx.x;
    if (p.fault == EARLY_RETURN && t == 5)
        return;
    if (p.fault != UNWRITTEN || t != 3)
        arena[t] = (float)t;
    if (p.fault == HALF_A_BARRIER) {
        if (t < p.n / 2)
            __syncthreads();
    } else if (p.fault == TWO_BARRIERS && t % 2) {
        __syncthreads();
    } else if (p.fault != NO_BARRIER) {
        __syncthreads();
    }
    float v = arena[p.fault == WRONG_INDEX ? p.n - t : p.n - 1 - t];
    if (p.fault != MISSING_LANE || t % 32 != 7)
        v = __fadd_rn(v, __shfl_xor_sync(LM_ALL_LANES, v, 1));
    p.out[t] = v;
}

/* What a launch with this fault shows in one of the three orders: a complaint, or "other bits", or "". */
static std::string planted_launch(int fault)
{
    const uint32_t n = 64;
    std::vector<float> out(n), right(n);
    std::string seen;
    for (uint32_t t = 0; t < n; t++)
        right[t] = (float)(n - 1 - t) + (float)(n - 1 - (t ^ 1));
    for (int order = 0; order < HOST_ORDERS && seen.empty(); order++) {
        struct planted p = {out.data(), n, fault};
        const char *problem = host_launch(planted_kernel, 1, n, n * sizeof(float), (host_order)order, p);
        seen = problem ? problem : memcmp(out.data(), right.data(), n * sizeof(float)) ? "other bits" : "";
    }
    return seen;
}

static void test_planted_faults()
{
    struct {
        int fault;
        const char *name, *text;
    } const wanted[] = {
        {NO_BARRIER, "a missing barrier", "other bits"},
        {UNWRITTEN, "shared memory that nobody wrote", "other bits"},
        {HALF_A_BARRIER, "a barrier for half of the block", "divergent barrier"},
        {TWO_BARRIERS, "two barriers for one", "another one"},
        {EARLY_RETURN, "a return before a barrier", "has ended"},
        {MISSING_LANE, "a lane missing at a shuffle", "has ended"},
    };
    report(planted_launch(NO_FAULT).empty(), "planted: a kernel without a fault passes");
    for (const auto &w : wanted) {
        std::string seen = planted_launch(w.fault);
        report(seen.find(w.text) != std::string::npos, std::string("planted: ") + w.name + " is seen: " + seen);
    }
    /* One float beyond shared memory: without AddressSanitizer it is only likely to show, with it the program ends. */
    if (!HOST_CUDA_ASAN)
        report(planted_launch(WRONG_INDEX) == "other bits", "planted: a wrong index is seen");
}

static void shuffles_kernel(struct planted p)
{
    unsigned t = threadIdx.x, lane = t % 32;
    float v = (float)t;
    float *out = p.out + 4 * t;
    out[0] = __shfl_xor_sync(LM_ALL_LANES, v, 5);
    out[1] = __shfl_down_sync(LM_ALL_LANES, v, 3);
    __syncwarp();
    out[2] = __shfl_sync(LM_ALL_LANES, v, 9);
    if (lane < 4) /* four lanes among themselves */
        out[3] = __shfl_up_sync(0xfu, v, 1u);
}

static void test_shuffles()
{
    bool same = true;
    for (int order = 0; order < HOST_ORDERS; order++) {
        std::vector<float> out(4 * 64);
        struct planted p = {out.data(), 64, NO_FAULT};
        same = same && !host_launch(shuffles_kernel, 1, 64u, 0, (host_order)order, p);
        for (unsigned t = 0; t < 64; t++) {
            unsigned lane = t % 32, warp = t - lane;
            same = same && out[4 * t] == (float)(t ^ 5) && out[4 * t + 1] == (float)(lane < 29 ? t + 3 : t) &&
                   out[4 * t + 2] == (float)(warp + 9);
            same = same && (lane >= 4 || out[4 * t + 3] == (float)(lane ? t - 1 : t));
        }
    }
    report(same, "shuffles give each lane its neighbour's value");
}

/* ---- shapes ---- */

static const struct lm_shape shapes[] = {{1, 1}, {5, 3}, {7, 15}, {32, 16}, {33, 17}, {128, 128}};
static const unsigned blocks[] = {32, 64, 96, 128, 256, 1024};

static std::string name_of(struct lm_shape shape)
{
    return std::to_string(shape.hidden1) + "-" + std::to_string(shape.hidden2);
}

static struct lm_trial trial_of(struct lm_shape shape, float rate)
{
    return {rate, 0.75f, 0.15f, 2, 1337, 32, shape};
}

static std::vector<float> start_of(const struct lm_trial &trial)
{
    std::vector<float> parameters(lm_network_floats(trial.shape)), packed(lm_gpu_layout_of(trial.shape).floats);
    lm_network_initialise(trial.shape, trial.seed, trial.initial_range, parameters.data());
    lm_gpu_pack(trial.shape, parameters.data(), packed.data());
    return packed;
}

/* The parameters are the reference's and the padding is +0. */
static bool same_network(struct lm_shape shape, const std::vector<float> &packed, const std::vector<float> &wanted)
{
    std::vector<float> parameters(wanted.size()), again(packed.size());
    lm_gpu_unpack(shape, packed.data(), parameters.data());
    lm_gpu_pack(shape, parameters.data(), again.data());
    return memcmp(parameters.data(), wanted.data(), wanted.size() * sizeof(float)) == 0 &&
           memcmp(packed.data(), again.data(), packed.size() * sizeof(float)) == 0;
}

/* ---- the training kernel ---- */

/* Trains in launches of at most `piece` steps that do not cross more ends of epochs than they may (a part of an epoch,
 * or whole ones), and compares with the reference. */
static bool trains_like(const struct made &made, const struct lm_trial &trial, const struct trained &wanted,
                        unsigned block, uint32_t piece, host_order order,
                        void (*kernel)(struct lm_gpu_training) = lm_train_kernel)
{
    const uint32_t n = (uint32_t)made.problem.train.n, all = n * wanted.epochs_run;
    std::vector<float> packed = start_of(trial);
    std::vector<uint32_t> index = orders_of(made, trial);
    std::vector<double> loss(trial.epochs + 1, 0.0);
    float rate = trial.learning_rate;
    bool ok = true;
    for (uint32_t s = 0; s < all && ok;) {
        uint32_t first = s % n, steps = piece < n ? std::min(piece, n - first) : std::min(piece / n * n, all - s);
        struct lm_gpu_training t = {};
        t.layout = lm_gpu_layout_of(trial.shape);
        t.parameters = packed.data();
        t.x = made.x.data();
        t.label = made.label.data();
        t.order = index.data() + s;
        t.n = n;
        t.first = first;
        t.steps = steps;
        t.rate = rate;
        t.decay = trial.decay;
        t.loss = loss.data() + s / n;
        ok = launched(host_launch(kernel, 1, block, lm_gpu_training_bytes_of(&t.layout), order, t));
        for (uint32_t k = (first + steps) / n; k > 0; k--)
            rate = rate * trial.decay;
        s += steps;
    }
    for (uint32_t epoch = 0; epoch < wanted.epochs_run && ok; epoch++)
        ok = loss[epoch] / (double)n == wanted.loss[epoch];
    return ok && same_network(trial.shape, packed, wanted.parameters);
}

/* The kernel with the lab's widths as constants: the layout it has in mind is the layout, and it trains like it. */
static void test_lab_training(const struct made &made)
{
    struct lm_gpu_layout layout = lm_gpu_layout_of({32, 16}), constant = lm_lab_layout();
    report(memcmp(&layout, &constant, sizeof layout) == 0, "the lab's layout as constants");
    struct lm_trial trial = trial_of({32, 16}, 0.02f);
    struct trained wanted = reference(made, trial);
    for (unsigned block : blocks) {
        bool ok = true;
        complaint.clear();
        for (int order = 0; order < HOST_ORDERS && ok; order++)
            ok = trains_like(made, trial, wanted, block, 18, (host_order)order, lm_train_lab_kernel);
        report(ok, "train with the lab's constants, block " + std::to_string(block) + complaint);
    }
}

static void test_training()
{
    struct made made(9);
    for (struct lm_shape shape : shapes) {
        struct lm_trial trial = trial_of(shape, 0.02f);
        struct trained wanted = reference(made, trial);
        for (unsigned block : blocks) {
            bool ok = wanted.epochs_run == trial.epochs;
            complaint.clear();
            for (int order = 0; order < HOST_ORDERS && ok; order++)
                ok = trains_like(made, trial, wanted, block, 18, (host_order)order);
            report(ok, "train " + name_of(shape) + " block " + std::to_string(block) + complaint);
        }
    }
    test_lab_training(made);
    struct lm_trial trial = trial_of({7, 15}, 0.02f);
    struct trained wanted = reference(made, trial);
    for (uint32_t piece : {1u, 4u, 9u, 17u})
        report(trains_like(made, trial, wanted, 64, piece, HOST_SHUFFLED),
               "train in launches of " + std::to_string(piece) + " steps" + complaint);
}

/* A loss that is not finite: the kernel stops behind that epoch, and has told the losses before it. */
static void test_divergence()
{
    struct made made(9);
    struct lm_trial trial = trial_of({5, 3}, 0.1f);
    trial.epochs = 40;
    trial.decay = 1.3f; /* the rate grows until the losses do */
    struct trained wanted = reference(made, trial);
    std::vector<float> packed = start_of(trial);
    std::vector<uint32_t> index = orders_of(made, trial);
    std::vector<double> loss(trial.epochs, -1.0);
    struct lm_gpu_training t = {};
    t.layout = lm_gpu_layout_of(trial.shape);
    t.parameters = packed.data();
    t.x = made.x.data();
    t.label = made.label.data();
    t.order = index.data();
    t.n = 9;
    t.steps = 9 * trial.epochs;
    t.rate = trial.learning_rate;
    t.decay = trial.decay;
    t.loss = loss.data();
    bool ok = launched(host_launch(lm_train_kernel, 1, 64u, lm_gpu_training_bytes_of(&t.layout), HOST_FORWARD, t));
    report(wanted.epochs_run > 0 && wanted.epochs_run < trial.epochs, "divergence: the reference diverges on the way");
    for (uint32_t epoch = 0; epoch < wanted.epochs_run; epoch++)
        ok = ok && loss[epoch] / 9.0 == wanted.loss[epoch];
    report(ok && !std::isfinite(loss[wanted.epochs_run]), "divergence: in the reference's epoch");
    ok = true;
    for (uint32_t epoch = wanted.epochs_run + 1; epoch < trial.epochs; epoch++)
        ok = ok && loss[epoch] == -1.0;
    report(ok, "divergence: nothing comes after it");
}

/* ---- a kernel a layer ---- */

static unsigned blocks_for(unsigned threads, unsigned block)
{
    return (threads + block - 1) / block;
}

struct layered {
    struct lm_gpu_layout layout;
    std::vector<float> packed, activation[LM_LAYERS], delta[LM_LAYERS];
    unsigned block;
    host_order order;

    bool forward(int l, const float *x, uint32_t n, int kind, float *out, uint32_t columns)
    {
        struct lm_gpu_forward f = {};
        f.layer = layout.layer[l];
        f.parameters = packed.data();
        f.x = x;
        f.out = out;
        f.n = n;
        f.x_pitch = l ? LM_ROUND4(f.layer.inputs) : LM_PIXELS;
        f.columns = columns;
        f.activation = kind;
        return launched(host_launch(lm_forward_kernel, blocks_for(n * columns, block), block, 0, order, f));
    }
    bool backward(int l)
    {
        struct lm_gpu_delta d = {layout.layer[l + 1], packed.data(), delta[l + 1].data(), activation[l].data(),
                                 delta[l].data()};
        return launched(host_launch(lm_delta_kernel, blocks_for(LM_ROUND4(d.next.inputs), block), block, 0, order, d));
    }
    bool update(int l, const float *x, float rate)
    {
        struct lm_gpu_update u = {layout.layer[l], packed.data(), delta[l].data(), x, rate};
        return launched(host_launch(lm_update_kernel, blocks_for(u.layer.outputs * (u.layer.inputs + 1), block), block,
                                    0, order, u));
    }
    bool step(const float *x, int label, float rate)
    {
        bool ok =
            forward(0, x, 1, LM_GPU_RELU, activation[0].data(), (uint32_t)activation[0].size()) &&
            forward(1, activation[0].data(), 1, LM_GPU_RELU, activation[1].data(), (uint32_t)activation[1].size()) &&
            forward(2, activation[1].data(), 1, LM_GPU_LINEAR, activation[2].data(), LM_CLASSES);
        for (int c = 0; c < LM_CLASSES; c++)
            delta[2][(size_t)c] = activation[2][(size_t)c] - (c == label ? 1.0f : 0.0f);
        return ok && backward(1) && backward(0) && update(2, activation[1].data(), rate) &&
               update(1, activation[0].data(), rate) && update(0, x, rate);
    }
};

static bool layers_train_like(const struct made &made, const struct lm_trial &trial, const struct trained &wanted,
                              unsigned block, host_order order)
{
    struct layered net = {};
    net.layout = lm_gpu_layout_of(trial.shape);
    net.packed = start_of(trial);
    net.block = block;
    net.order = order;
    for (int l = 0; l < LM_LAYERS; l++) {
        size_t width = LM_ROUND4(net.layout.layer[l].outputs);
        net.activation[l].assign(l == 2 ? LM_CLASSES : width, __uint_as_float(LM_NAN_BITS));
        net.delta[l].assign(width, l == 2 ? 0.0f : __uint_as_float(LM_NAN_BITS));
    }
    std::vector<uint32_t> index = orders_of(made, trial);
    size_t n = made.problem.train.n;
    float rate = trial.learning_rate;
    bool ok = true;
    for (size_t s = 0; s < index.size() && ok; s++) {
        if (s && s % n == 0)
            rate = rate * trial.decay;
        ok = net.step(made.x.data() + index[s] * LM_PIXELS, made.label[index[s]], rate);
    }
    return ok && same_network(trial.shape, net.packed, wanted.parameters);
}

static void test_layers()
{
    struct made made(4);
    for (struct lm_shape shape : shapes) {
        struct lm_trial trial = trial_of(shape, 0.02f);
        struct trained wanted = reference(made, trial);
        for (unsigned block : {32u, 96u, 1024u}) {
            bool ok = true;
            complaint.clear();
            for (int order = 0; order < HOST_ORDERS && ok; order++)
                ok = layers_train_like(made, trial, wanted, block, (host_order)order);
            report(ok, "a kernel a layer " + name_of(shape) + " block " + std::to_string(block) + complaint);
        }
    }
}

/* ---- inference ---- */

enum { GLOBAL, SHARED, FUSED, VARIANTS };
static const char *const variant_name[VARIANTS] = {"global", "shared", "fused"};

static bool score_layers(int variant, const struct lm_gpu_layout &layout, const float *packed, const float *x,
                         uint32_t n, host_order order, float *scores)
{
    std::vector<float> hidden[2];
    bool ok = true;
    for (int l = 0; l < LM_LAYERS && ok; l++) {
        struct lm_gpu_forward f = {};
        f.layer = layout.layer[l];
        f.parameters = packed;
        f.x = l ? hidden[l - 1].data() : x;
        f.n = n;
        f.x_pitch = l ? LM_ROUND4(f.layer.inputs) : LM_PIXELS;
        f.columns = l < 2 ? LM_ROUND4(f.layer.outputs) : LM_CLASSES;
        f.activation = l < 2 ? LM_GPU_RELU : LM_GPU_SCORES;
        if (l < 2)
            hidden[l].assign((size_t)n * f.columns, __uint_as_float(LM_NAN_BITS));
        f.out = l < 2 ? hidden[l].data() : scores;
        if (variant == GLOBAL)
            ok = launched(host_launch(lm_forward_kernel, blocks_for(n * f.columns, LM_GPU_INFER_BLOCK),
                                      LM_GPU_INFER_BLOCK, 0, order, f));
        else
            ok = launched(host_launch(
                lm_shared_kernel,
                dim3(blocks_for(n, LM_GPU_SHARED_SAMPLES), blocks_for(LM_ROUND4(f.layer.outputs), LM_GPU_SHARED_ROWS)),
                LM_GPU_INFER_BLOCK, lm_gpu_shared_bytes_of(f.layer), order, f));
    }
    return ok;
}

static bool scores_like(int variant, struct lm_shape shape, const std::vector<float> &parameters,
                        const std::vector<float> &x, uint32_t n, host_order order, const std::vector<float> &wanted)
{
    struct lm_gpu_layout layout = lm_gpu_layout_of(shape);
    std::vector<float> packed(layout.floats), scores(wanted.size());
    bool ok;
    lm_gpu_pack(shape, parameters.data(), packed.data());
    if (variant == FUSED) {
        struct lm_gpu_fused f = {layout, packed.data(), x.data(), scores.data(), n};
        ok = launched(host_launch(lm_fused_kernel, blocks_for(n, LM_GPU_FUSED_SAMPLES), LM_GPU_INFER_BLOCK,
                                  lm_gpu_fused_bytes_of(&layout), order, f));
    } else {
        ok = score_layers(variant, layout, packed.data(), x.data(), n, order, scores.data());
    }
    return ok && memcmp(scores.data(), wanted.data(), wanted.size() * sizeof(float)) == 0;
}

/* Infinities and NaNs among the pixels, too: a network that knows no ReLU for them gives other bits. */
static void test_inference()
{
    const struct lm_problem nothing = {};
    struct lm_error err;
    void *session;
    lm_backend_cpu_ref.open(&nothing, &session, &err);
    for (struct lm_shape shape : shapes)
        for (uint32_t n : {1u, 33u, 70u}) {
            std::vector<float> parameters = made_floats(lm_network_floats(shape), 5, 0.5f);
            std::vector<float> x = made_floats((size_t)n * LM_PIXELS, 6, 3.0f), wanted((size_t)n * LM_CLASSES);
            x[n * LM_PIXELS - 1] = INFINITY;
            if (n > 40)
                x[40 * LM_PIXELS] = NAN;
            lm_backend_cpu_ref.infer(session, shape, parameters.data(), x.data(), n, wanted.data(), &err);
            for (int variant = 0; variant < VARIANTS; variant++) {
                bool ok = true;
                complaint.clear();
                for (int order = 0; order < HOST_ORDERS && ok; order++)
                    ok = scores_like(variant, shape, parameters, x, n, (host_order)order, wanted);
                report(ok, std::string("score, ") + variant_name[variant] + ", " + name_of(shape) + ", " +
                               std::to_string(n) + " samples" + complaint);
            }
        }
    lm_backend_cpu_ref.close(session);
}

int main()
{
    test_planted_faults();
    test_shuffles();
    test_training();
    test_divergence();
    test_layers();
    test_inference();
    return finish();
}
