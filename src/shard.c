/* shard.c: see shard.h. */
#include "shard.h"

struct lm_range lm_shard(uint64_t n, int ranks, int r)
{
    uint64_t each = n / (uint64_t)ranks, more = n % (uint64_t)ranks, k = (uint64_t)r;
    return (struct lm_range){.first = each * k + (k < more ? k : more), .count = each + (k < more)};
}

int lm_shard_owner(uint64_t n, int ranks, uint64_t k)
{
    uint64_t each = n / (uint64_t)ranks, more = n % (uint64_t)ranks;
    uint64_t in_larger = more * (each + 1);
    return (int)(k < in_larger ? k / (each + 1) : more + (k - in_larger) / each);
}

/* floor(j n / chosen), with no product beyond 64 bits: the remainder is below chosen, and so is j. */
uint64_t lm_spread(uint64_t n, uint64_t chosen, uint64_t j)
{
    return j * (n / chosen) + j * (n % chosen) / chosen;
}

uint64_t lm_spread_from(uint64_t n, uint64_t chosen, uint64_t first)
{
    uint64_t low = 0, high = chosen;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (lm_spread(n, chosen, middle) < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t lm_pieces(uint64_t bytes)
{
    return bytes / LM_PIECE_BYTES + (bytes % LM_PIECE_BYTES != 0);
}

struct lm_range lm_piece(uint64_t bytes, uint64_t index)
{
    uint64_t first = index * LM_PIECE_BYTES;
    return (struct lm_range){first, bytes - first < LM_PIECE_BYTES ? bytes - first : LM_PIECE_BYTES};
}
