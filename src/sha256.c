/* sha256.c: SHA-256 in portable C.
 *
 * FIPS 180-4, section 6.2, one block of 64 bytes at a time. The message schedule is kept as a ring of 16 words, so that
 * all of it stays in the first cache level: word t is made from words t-16, t-15, t-7 and t-2, which are the ring's own
 * place and three others. The eight working variables are not moved from round to round: each round is written with
 * the names rotated by one place, and after eight rounds every name is back where it began.
 *
 * Where the processor has instructions for it, sha256_x86.c takes the place of the inner loop; a test compares the two.
 */
#include "sha256.h"

#include <string.h>

#include "sha256_blocks.h"

#define BLOCK 64

const uint32_t lm_sha256_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static inline uint32_t rotate_right(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static inline uint32_t load_big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static inline void store_big_endian(unsigned char *p, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--, value >>= 8)
        p[i] = (unsigned char)value;
}

/* The next word of the schedule takes the place, k, of the one 16 rounds older. k is a constant wherever this is used.
 */
static inline uint32_t schedule(uint32_t w[16], unsigned k)
{
    uint32_t w15 = w[(k + 1) & 15], w2 = w[(k + 14) & 15];
    uint32_t s0 = rotate_right(w15, 7) ^ rotate_right(w15, 18) ^ w15 >> 3;
    uint32_t s1 = rotate_right(w2, 17) ^ rotate_right(w2, 19) ^ w2 >> 10;
    return w[k] += s0 + w[(k + 9) & 15] + s1;
}

/* One round: d and h get new values, and serve as e and a of the next one. Choice is written as g ^ (e & (f ^ g)) and
 * majority as (a & b) | (c & (a | b)): an operation less each than in the standard. */
#define ROUND(a, b, c, d, e, f, g, h, k, word)                                                                         \
    do {                                                                                                               \
        uint32_t t1 = h + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) + (g ^ (e & (f ^ g))) +     \
                      constant[k] + (word);                                                                            \
        d += t1;                                                                                                       \
        h = t1 + (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) + ((a & b) | (c & (a | b)));         \
    } while (0)

#define EIGHT_ROUNDS(k, WORD)                                                                                          \
    do {                                                                                                               \
        ROUND(a, b, c, d, e, f, g, h, (k) + 0, WORD((k) + 0));                                                         \
        ROUND(h, a, b, c, d, e, f, g, (k) + 1, WORD((k) + 1));                                                         \
        ROUND(g, h, a, b, c, d, e, f, (k) + 2, WORD((k) + 2));                                                         \
        ROUND(f, g, h, a, b, c, d, e, (k) + 3, WORD((k) + 3));                                                         \
        ROUND(e, f, g, h, a, b, c, d, (k) + 4, WORD((k) + 4));                                                         \
        ROUND(d, e, f, g, h, a, b, c, (k) + 5, WORD((k) + 5));                                                         \
        ROUND(c, d, e, f, g, h, a, b, (k) + 6, WORD((k) + 6));                                                         \
        ROUND(b, c, d, e, f, g, h, a, (k) + 7, WORD((k) + 7));                                                         \
    } while (0)

#define FIRST_WORD(k) (w[k] = load_big_endian(block + 4 * (k)))
#define LATER_WORD(k) schedule(w, k)

static void compress(uint32_t state[8], const unsigned char *block)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    uint32_t w[16];
    const uint32_t *constant = lm_sha256_constant;

    EIGHT_ROUNDS(0, FIRST_WORD);
    EIGHT_ROUNDS(8, FIRST_WORD);
    for (int sixteen = 1; sixteen < 4; sixteen++) {
        constant += 16;
        EIGHT_ROUNDS(0, LATER_WORD);
        EIGHT_ROUNDS(8, LATER_WORD);
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void lm_sha256_blocks_plain(uint32_t state[8], const unsigned char *block, size_t n)
{
    for (; n > 0; n--, block += BLOCK)
        compress(state, block);
}

static void take_blocks(uint32_t state[8], const unsigned char *block, size_t n)
{
    if (lm_sha256_has_x86())
        lm_sha256_blocks_x86(state, block, n);
    else
        lm_sha256_blocks_plain(state, block, n);
}

void lm_sha256_begin(struct lm_sha256 *hash)
{
    static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    memcpy(hash->state, initial, sizeof initial);
    hash->length = 0;
}

void lm_sha256_add(struct lm_sha256 *hash, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    size_t held = hash->length % BLOCK;

    if (n == 0)
        return; /* bytes may be NULL */
    hash->length += n;
    if (held > 0) {
        size_t take = n < BLOCK - held ? n : BLOCK - held;
        memcpy(hash->block + held, p, take);
        p += take, n -= take;
        if (held + take < BLOCK)
            return;
        take_blocks(hash->state, hash->block, 1);
    }
    take_blocks(hash->state, p, n / BLOCK);
    memcpy(hash->block, p + n / BLOCK * BLOCK, n % BLOCK);
}

void lm_sha256_end(struct lm_sha256 *hash, char hex[LM_SHA256_HEX])
{
    static const char digit[] = "0123456789abcdef";
    size_t held = hash->length % BLOCK;

    /* A one bit, zeros, and the length in bits as the last 8 bytes of a block: of the next one where it lacks room. */
    hash->block[held++] = 0x80;
    if (held > BLOCK - 8) {
        memset(hash->block + held, 0, BLOCK - held);
        take_blocks(hash->state, hash->block, 1);
        held = 0;
    }
    memset(hash->block + held, 0, BLOCK - 8 - held);
    store_big_endian(hash->block + BLOCK - 8, hash->length * 8, 8);
    take_blocks(hash->state, hash->block, 1);

    for (int i = 0; i < 64; i++)
        hex[i] = digit[hash->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    hex[64] = '\0';
}
