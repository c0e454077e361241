/* test_host_scores.cpp: the kernels of gpu:fast that score, on the host: tiles and small batches against the reference,
 * 8-bit pixels against their table, bit for bit. timeout: 300
 */
#include "host_made.h"

#include "grey_kernel.cuh"
#include "quick_kernel.cuh"
#include "tile_kernel.cuh"

/* Words behind the scores that nobody may touch. */
static const size_t GUARD = 16;

struct batch {
    struct made made;
    std::vector<float> network, wanted, scores;

    /* NaN and infinities among the pixels, -0 and subnormals everywhere. */
    explicit batch(size_t n)
        : made(n), network(made_floats(LM_REPLICA_FLOATS, 5, 0.4f)), wanted(n * LM_CLASSES),
          scores(n * LM_CLASSES + GUARD, 12345.0f)
    {
        if (n > 3) {
            made.x[3 * LM_PIXELS + 5] = INFINITY;
            made.x[2 * LM_PIXELS + 1] = NAN;
        }
        void *session;
        struct lm_error err;
        lm_backend_cpu_ref.open(&made.problem, &session, &err);
        lm_backend_cpu_ref.infer(session, {32, 16}, network.data(), made.x.data(), n, wanted.data(), &err);
        lm_backend_cpu_ref.close(session);
    }
    bool right() const
    {
        bool ok = memcmp(scores.data(), wanted.data(), wanted.size() * sizeof(float)) == 0;
        for (size_t k = wanted.size(); k < scores.size(); k++)
            ok = ok && scores[k] == 12345.0f;
        return ok;
    }
};

/* Full tiles, and one that ends early. */
static void test_tiles(size_t n, unsigned blocks, unsigned warps, host_order order)
{
    struct batch b(n);
    struct lm_gpu_tile t = {};
    t.layout = lm_gpu_layout_of({32, 16});
    std::vector<float> packed(t.layout.floats);
    lm_gpu_pack({32, 16}, b.network.data(), packed.data());
    t.parameters = packed.data();
    t.x = b.made.x.data();
    t.scores = b.scores.data();
    t.n = n;
    bool ok = launched(host_launch(lm_tile_kernel, blocks, 32 * warps, LM_TILE_BYTES(warps), order, t));
    report(ok && b.right(), "tiles of " + std::to_string(n) + " samples" + complaint);
}

/* Pairs of samples, and one alone at the end; more samples than the blocks take at once. */
static void test_quick(size_t n, unsigned blocks, host_order order)
{
    struct batch b(n);
    std::vector<float> packed(LM_QUICK_FLOATS);
    std::vector<uint32_t> done(blocks + 1);
    lm_quick_pack(b.network.data(), packed.data());
    struct lm_gpu_quick q = {packed.data(), b.made.x.data(), b.scores.data(), done.data(), (uint32_t)n};
    bool ok = launched(host_launch(lm_quick_kernel, blocks, LM_QUICK_BLOCK, LM_QUICK_BYTES, order, q)) && b.right();
    for (unsigned k = 0; k <= blocks; k++)
        ok = ok && done[k] == (k < blocks);
    report(ok, "a small batch of " + std::to_string(n) + " samples" + complaint);
}

/* Every value of every pixel. */
static void test_grey(size_t n, unsigned blocks, host_order order)
{
    std::vector<float> table = made_floats(LM_PIXELS * 256, 9, 5.0f), x(n * LM_PIXELS + GUARD, 12345.0f);
    std::vector<uint8_t> pixel(n * LM_PIXELS);
    bool ok = true;
    for (size_t k = 0; k < pixel.size(); k++)
        pixel[k] = (uint8_t)(k / LM_PIXELS + 37 * (k % LM_PIXELS / 3));
    struct lm_gpu_grey g = {table.data(), pixel.data(), x.data(), n};
    ok = launched(host_launch(lm_grey_kernel, blocks, LM_GREY_BLOCK, LM_GREY_BYTES, order, g));
    for (size_t k = 0; k < pixel.size(); k++)
        ok = ok && memcmp(&x[k], &table[k % LM_PIXELS * 256 + pixel[k]], sizeof(float)) == 0;
    for (size_t k = pixel.size(); k < x.size(); k++)
        ok = ok && x[k] == 12345.0f;
    report(ok, std::to_string(n) + " samples of 8 bits" + complaint);
}

int main()
{
    test_tiles(1, 1, 1, HOST_FORWARD);
    test_tiles(64, 1, 8, HOST_BACKWARD);
    test_tiles(700, 1, 8, HOST_SHUFFLED);
    test_tiles(1100, 2, 3, HOST_FORWARD);
    test_tiles(1100, 1, 2, HOST_BACKWARD);
    for (int order = 0; order < HOST_ORDERS; order++) {
        test_quick(1, 1, (host_order)order);
        test_quick(31, 1, (host_order)order);
        test_quick(33, 2, (host_order)order);
    }
    test_quick(878, 28, HOST_SHUFFLED);
    test_quick(130, 3, HOST_BACKWARD);
    test_grey(1, 1, HOST_FORWARD);
    test_grey(256, 3, HOST_BACKWARD);
    test_grey(301, 2, HOST_SHUFFLED);
    return finish();
}
