/* test_host_replicas.cpp: the kernels of gpu:fast on the host: orders and first weights against the library's,
 * trainings against the reference, losses and hits against src/evaluate.c, bit for bit. timeout: 600
 */
#include "host_made.h"

extern "C" {
#include "evaluate.h"
}

#include "metrics_kernel.cuh"
#include "order_kernel.cuh"
#include "replica_kernel.cuh"

/* ---- many replicas ---- */

/* The device's arrays of a group of trials, here. */
struct group {
    std::vector<struct lm_trial> trial;
    std::vector<struct lm_gpu_replica> replica;
    std::vector<float> packed, x;
    std::vector<double> loss;
    std::vector<uint32_t> words, used, order;
    uint32_t next;
    struct lm_gpu_replicas r;

    group(const struct made &made, const std::vector<struct lm_trial> &trials, uint32_t window)
        : trial(trials), packed(trials.size() * LM_REPLICA_PACKED), x(made.x.size() + 64), loss(trials.size() * window),
          words(trials.size() * LM_MT_WORDS), used(trials.size()),
          order(trials.size() * window * made.problem.train.n + LM_REPLICA_ORDER_SPARE), next(0), r()
    {
        for (const struct lm_trial &t : trials)
            replica.push_back({t.learning_rate, t.decay, t.initial_range, t.seed, 0, t.epochs});
        float *ordered = x.data() + (256 - reinterpret_cast<uintptr_t>(x.data()) % 256) / sizeof(float) % 64;
        for (size_t k = 0; k < made.x.size(); k++)
            ordered[k / 64 * 64 + k % 4 * 16 + k % 64 / 4] = made.x[k];
        r.replica = replica.data();
        r.packed = packed.data();
        r.loss = loss.data();
        r.words = words.data();
        r.used = used.data();
        r.order = order.data();
        r.next = &next;
        r.x = ordered;
        r.label = made.label.data();
        r.count = (uint32_t)trials.size();
        r.window = window;
        r.n = (uint32_t)made.problem.train.n;
        for (int c = 0; c < LM_CLASSES; c++)
            r.letters[c] = (uint32_t)made.problem.count[c];
    }
    group(const group &) = delete;
    std::vector<float> parameters(size_t k) const
    {
        std::vector<float> out(LM_REPLICA_FLOATS);
        struct lm_gpu_unpacking u = {packed.data() + k * LM_REPLICA_PACKED, out.data()};
        host_launch(lm_unpack_kernel, 1, 128u, 0, HOST_FORWARD, u);
        return out;
    }
};

static bool launch_orders(const struct lm_gpu_replicas &r, host_order order, bool shared)
{
    return launched(shared ? host_launch(lm_orders_kernel, r.count, 32u, LM_ORDERS_BYTES(r.n), order, r)
                           : host_launch(lm_long_orders_kernel, r.count, 32u, LM_ORDERS_BYTES(0), order, r));
}

/* First weights, and epochs of orders in windows, against the library's. n even and odd; letters that make the
 * generator reject and refill; more samples than one word can draw two positions for. */
static void test_orders(size_t n, uint32_t window, uint32_t epochs, bool shared, host_order way)
{
    struct made made(n);
    for (int c = 0; c < LM_CLASSES; c++)
        made.problem.count[c] = n / 2 + (uint64_t)c * 7;
    struct lm_trial a = {0.01f, 1.0f, 0.05f, epochs, 1337, 32, {32, 16}}, b = a;
    b.seed = 4294967295u;
    b.initial_range = 0.7f;
    struct group g(made, {a, b}, window);
    bool weights = launched(host_launch(lm_begin_kernel, 2, 32u, LM_BEGIN_BYTES, way, g.r)), orders = true;
    for (size_t k = 0; k < 2; k++) {
        std::vector<float> wanted(LM_REPLICA_FLOATS);
        lm_network_initialise({32, 16}, g.trial[k].seed, g.trial[k].initial_range, wanted.data());
        std::vector<float> found = g.parameters(k);
        weights = weights && memcmp(found.data(), wanted.data(), wanted.size() * sizeof(float)) == 0;
    }
    std::vector<uint32_t> wanted[2] = {orders_of(made, a), orders_of(made, b)};
    for (uint32_t begun = 0; begun < epochs && orders; begun += window) {
        orders = launch_orders(g.r, way, shared);
        for (uint32_t e = 0; e < window && begun + e < epochs; e++)
            for (size_t k = 0; k < 2 * n; k++) {
                uint32_t word = g.order[(k / n * window + e) * n + k % n];
                uint32_t index = wanted[k / n][(begun + e) * n + k % n];
                orders =
                    orders && (word & LM_REPLICA_INDEX) == index && word >> LM_REPLICA_LABEL_SHIFT == made.label[index];
            }
        for (struct lm_gpu_replica &replica : g.replica)
            replica.epoch += window;
    }
    std::string what = std::to_string(n) + " samples" + (shared ? "" : " in global memory") + complaint;
    report(weights, "first weights and generators on the device, " + what);
    report(orders, "sample orders on the device, " + what);
}

/* Replicas that go on after `begun` epochs, beside one that begins: orders from there on, and the weights that they
 * were given. pass: epochs that a launch passes over. */
static void test_going_on(size_t n, uint32_t window, uint32_t pass, bool shared, host_order way)
{
    const uint32_t begun[3] = {5, 0, 2}, epochs = 5 + window;
    struct made made(n);
    for (int c = 0; c < LM_CLASSES; c++)
        made.problem.count[c] = n / 2 + (uint64_t)c * 7;
    std::vector<struct lm_trial> trials(3, {0.01f, 1.0f, 0.05f, epochs, 1337, 32, {32, 16}});
    struct group g(made, trials, window);
    std::vector<float> start(3 * LM_REPLICA_FLOATS);
    for (size_t k = 0; k < start.size(); k++)
        start[k] = (float)k;
    for (size_t k = 0; k < 3; k++)
        g.replica[k].epoch = begun[k];
    g.r.start = start.data();
    g.r.pass = pass;
    bool ok = launched(host_launch(lm_begin_kernel, 3, 32u, LM_BEGIN_BYTES, way, g.r));
    for (g.r.passed = 0; g.r.passed < 5 && ok; g.r.passed += pass)
        ok = launched(shared ? host_launch(lm_pass_kernel, 3, 32u, LM_ORDERS_BYTES(n), way, g.r)
                             : host_launch(lm_long_pass_kernel, 3, 32u, LM_ORDERS_BYTES(0), way, g.r));
    ok = ok && launch_orders(g.r, way, shared);
    std::vector<uint32_t> all = orders_of(made, trials[0]);
    for (size_t k = 0; k < 3; k++) {
        std::vector<float> first(LM_REPLICA_FLOATS), found = g.parameters(k);
        lm_network_initialise({32, 16}, 1337, 0.05f, first.data());
        const float *wanted = begun[k] ? start.data() + k * LM_REPLICA_FLOATS : first.data();
        ok = ok && memcmp(found.data(), wanted, LM_REPLICA_FLOATS * sizeof(float)) == 0;
        for (size_t i = 0; i < window * n && ok; i++)
            ok = (g.order[k * window * n + i] & LM_REPLICA_INDEX) == all[begun[k] * n + i];
    }
    report(ok,
           "replicas that go on, " + std::to_string(n) + " samples" + (shared ? "" : " in global memory") + complaint);
}

/* Different rates, seeds, ranges, decays and numbers of epochs side by side, in windows of every length, against the
 * reference; one diverges, one has nothing to do in the last windows. */
static void test_replicas(size_t n, uint32_t window, host_order way, void (*kernel)(struct lm_gpu_replicas))
{
    struct made made(n);
    std::vector<struct lm_trial> trials;
    for (uint32_t k = 0; k < 4; k++)
        trials.push_back({0.01f + 0.01f * (float)k,
                          k == 1 ? 0.5f : 1.0f,
                          0.05f + 0.05f * (float)k,
                          3 + k % 3,
                          1337 + k,
                          32,
                          {32, 16}});
    trials[3].learning_rate = 30.0f;
    struct group g(made, trials, window);
    std::vector<std::vector<double>> loss(trials.size());
    bool ok = launched(host_launch(lm_begin_kernel, 4, 32u, LM_BEGIN_BYTES, way, g.r));
    for (bool going = true; going && ok;) {
        std::vector<struct lm_gpu_replica> before = g.replica;
        g.next = 0;
        ok = launch_orders(g.r, way, true) &&
             launched(host_launch(kernel, 2, 32u, sizeof(struct lm_warp_memory), way, g.r));
        going = false;
        for (size_t k = 0; k < trials.size(); k++) {
            for (uint32_t e = before[k].epoch; e < g.replica[k].epoch; e++)
                loss[k].push_back(g.loss[k * window + e - before[k].epoch] / (double)n);
            if (!loss[k].empty() && !std::isfinite(loss[k].back()))
                g.replica[k].epochs = g.replica[k].epoch;
            going = going || g.replica[k].epoch < g.replica[k].epochs;
        }
    }
    for (size_t k = 0; k < trials.size(); k++) {
        struct trained wanted = reference(made, trials[k]);
        bool diverges = wanted.epochs_run < trials[k].epochs;
        ok = ok && loss[k].size() == wanted.epochs_run + (size_t)diverges && diverges == (k == 3);
        for (uint32_t e = 0; e < wanted.epochs_run && ok; e++)
            ok = loss[k][e] == wanted.loss[e];
        std::vector<float> found = g.parameters(k);
        ok = ok && (diverges || memcmp(found.data(), wanted.parameters.data(), found.size() * sizeof(float)) == 0);
    }
    report(ok, "replicas of " + std::to_string(n) + " samples, windows of " + std::to_string(window) + complaint);
}

/* Loss and hits of two networks against src/evaluate.c. */
static void test_metrics(size_t n)
{
    struct made made(n);
    struct lm_shape lab = {32, 16};
    std::vector<float> networks = made_floats(2 * LM_REPLICA_FLOATS, 5, 0.4f), scores(n * LM_CLASSES);
    std::vector<double> loss(2);
    std::vector<uint32_t> hits(2);
    bool ok = true;
    for (int order = 0; order < HOST_ORDERS && ok; order++) {
        struct lm_gpu_metrics g = {networks.data(), made.x.data(), made.label.data(),
                                   loss.data(),     hits.data(),   (uint32_t)n};
        ok = launched(host_launch(lm_metrics_kernel, 2, LM_METRICS_BLOCK, sizeof(struct lm_metrics_memory),
                                  (host_order)order, g));
        for (size_t k = 0; k < 2; k++) {
            void *session;
            struct lm_error err;
            lm_backend_cpu_ref.open(&made.problem, &session, &err);
            lm_backend_cpu_ref.infer(session, lab, networks.data() + k * LM_REPLICA_FLOATS, made.x.data(), n,
                                     scores.data(), &err);
            lm_backend_cpu_ref.close(session);
            struct lm_tally tally = {};
            lm_tally_add(&tally, scores.data(), made.label.data(), n);
            ok = ok && tally.loss == loss[k] && tally.hits == hits[k];
        }
    }
    report(ok, "metrics of " + std::to_string(n) + " samples" + complaint);
}

int main()
{
    test_orders(36, 2, 5, true, HOST_FORWARD);
    test_orders(37, 1, 3, true, HOST_BACKWARD);
    test_orders(700, 3, 4, true, HOST_SHUFFLED);
    test_orders(701, 2, 3, false, HOST_FORWARD);
    test_orders(1, 1, 2, true, HOST_FORWARD);
    test_orders(2, 1, 2, false, HOST_FORWARD);
    test_orders(65536, 1, 1, false, HOST_FORWARD);
    test_going_on(37, 2, 1, true, HOST_FORWARD);
    test_going_on(36, 3, 2, false, HOST_BACKWARD);
    test_going_on(70, 1, 99, true, HOST_SHUFFLED);
    for (int order = 0; order < HOST_ORDERS; order++) {
        test_replicas(9, 1, (host_order)order, lm_many_replicas_kernel);
        test_replicas(40, 5, (host_order)order, lm_few_replicas_kernel);
    }
    test_replicas(64, 2, HOST_SHUFFLED, lm_many_replicas_kernel);
    test_replicas(33, 7, HOST_SHUFFLED, lm_many_replicas_kernel);
    test_metrics(1);
    test_metrics(129);
    return finish();
}
