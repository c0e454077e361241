// libstdcxx_reference.cpp: what the real libstdc++ draws, as text. libstdcxx_ours.c prints the same by our C, and
// test_libstdcxx.sh compares the two. Lines are the same, byte for byte, in both programs:
//
//     shuffle SEED N ROUND DIGEST      the order after ROUND cumulative shuffles of 0 ... N - 1
//     drawn SEED N NEXT                the generator's next word after these: the number of draws was the same too
//     below SEED RANGE DIGEST NEXT     10000 whole numbers in [0, RANGE)
//     uniform SEED LOW HIGH DIGEST     100000 floats, as bits
//     nearly_one BITS                  the canonical float of the largest draw
//
// A digest is 64-bit FNV-1a over the 32-bit words, low byte first.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

static std::uint64_t add(std::uint64_t digest, std::uint32_t word)
{
    for (int i = 0; i < 4; i++, word >>= 8)
        digest = (digest ^ (word & 0xff)) * 1099511628211u;
    return digest;
}

static const std::uint64_t begin = 14695981039346656037u;

static void shuffles(std::uint32_t seed, std::uint32_t n, int rounds)
{
    std::mt19937 generator(seed);
    std::vector<std::uint32_t> order(n);

    std::iota(order.begin(), order.end(), 0u);
    for (int round = 1; round <= rounds; round++) {
        std::shuffle(order.begin(), order.end(), generator);
        std::uint64_t digest = begin;
        for (std::uint32_t x : order)
            digest = add(digest, x);
        std::printf("shuffle %" PRIu32 " %" PRIu32 " %d %016" PRIx64 "\n", seed, n, round, digest);
    }
    std::printf("drawn %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", seed, n, std::uint32_t(generator()));
}

static void below(std::uint32_t seed, std::uint32_t range)
{
    std::mt19937 generator(seed);
    std::uniform_int_distribution<std::uint32_t> draw(0, range - 1);
    std::uint64_t digest = begin;

    for (int i = 0; i < 10000; i++)
        digest = add(digest, draw(generator));
    std::printf("below %" PRIu32 " %" PRIu32 " %016" PRIx64 " %" PRIu32 "\n", seed, range, digest,
                std::uint32_t(generator()));
}

static void uniform(std::uint32_t seed, float low, float high)
{
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> draw(low, high);
    std::uint64_t digest = begin;

    for (int i = 0; i < 100000; i++) {
        float x = draw(generator);
        std::uint32_t bits;
        std::memcpy(&bits, &x, sizeof bits);
        digest = add(digest, bits);
    }
    std::printf("uniform %" PRIu32 " %.9g %.9g %016" PRIx64 "\n", seed, double(low), double(high), digest);
}

// A generator that always gives its largest number: where the canonical float would round to 1.
struct largest {
    using result_type = std::uint_fast32_t;
    static constexpr result_type min()
    {
        return 0;
    }
    static constexpr result_type max()
    {
        return 0xffffffffu;
    }
    result_type operator()()
    {
        return 0xffffffffu;
    }
};

static void nearly_one()
{
    largest generator;
    std::uniform_real_distribution<float> draw(-0.05f, 0.05f);
    float x = draw(generator);
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    std::printf("nearly_one %08" PRIx32 "\n", bits);
}

int main()
{
    const std::uint32_t seeds[] = {0, 1, 1337, 5489, 123456789, 4294967295u};
    const std::uint32_t sizes[] = {1000, 3532, 65534, 65535, 65536, 65537, 70000, 200000};
    const std::uint32_t ranges[] = {1,     2,       3,           5,           255,         256,
                                    65537, 1000003, 2147483648u, 2147483649u, 3000000000u, 4294967295u};

    for (std::uint32_t seed : seeds) {
        for (std::uint32_t n = 1; n <= 40; n++)
            shuffles(seed, n, 5);
        for (std::uint32_t n : sizes)
            shuffles(seed, n, n < 10000 ? 51 : 3);
        for (std::uint32_t range : ranges)
            below(seed, range);
        uniform(seed, -0.05f, 0.05f);
        uniform(seed, 0.0f, 1.0f);
        uniform(seed, -3.0f, 100.1f);
    }
    nearly_one();
    return 0;
}
