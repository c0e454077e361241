/* shard.h: who scores which samples, and in what pieces they travel. Numbers alone, so that sizes beyond any memory at
 * hand can be tested. */
#ifndef LM_SHARD_H
#define LM_SHARD_H

#include <stdint.h>

struct lm_range {
    uint64_t first, count;
};

/* Rank r's samples of n: contiguous, in order, all of them, sizes differing by at most one; the first n % ranks ranks
 * have one more. */
struct lm_range lm_shard(uint64_t n, int ranks, int r);
/* The rank that has sample k. */
int lm_shard_owner(uint64_t n, int ranks, uint64_t k);

/* `chosen` of n samples, evenly spread, in order, all different, sample 0 among them; chosen <= n, and chosen < 2^32
 * unless it is n. The j-th of them, and the first j whose sample is not below `first` (chosen, if there is none). */
uint64_t lm_spread(uint64_t n, uint64_t chosen, uint64_t j);
uint64_t lm_spread_from(uint64_t n, uint64_t chosen, uint64_t first);

/* Messages carry at most LM_PIECE_BYTES, far below what an int can count. */
#define LM_PIECE_BYTES (UINT64_C(1) << 26)
uint64_t lm_pieces(uint64_t bytes);                       /* how many messages that makes; 0 for nothing */
struct lm_range lm_piece(uint64_t bytes, uint64_t index); /* the index-th, in bytes */

#endif
