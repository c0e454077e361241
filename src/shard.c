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

uint64_t lm_pieces(uint64_t bytes)
{
    return bytes / LM_PIECE_BYTES + (bytes % LM_PIECE_BYTES != 0);
}

struct lm_range lm_piece(uint64_t bytes, uint64_t index)
{
    uint64_t first = index * LM_PIECE_BYTES;
    return (struct lm_range){first, bytes - first < LM_PIECE_BYTES ? bytes - first : LM_PIECE_BYTES};
}
