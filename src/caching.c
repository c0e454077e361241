/* caching.c: see caching.h.
 *
 * The whole-number optimum. For a given A the ratio A B / ((A-a+1)(B-b+1)) falls as B grows, so B = T / A rounded down
 * is best, T = M_s / z elements. Were B not rounded, the ratio would be
 *     T / h(A),    h(A) = (A - a + 1)(T/A - b + 1) = T - (b-1) A - (a-1) T/A + (a-1)(b-1),
 * which is below every ratio with that A. h is concave with its top at A* = sqrt(T (a-1)/(b-1)): the bound only rises
 * on the way from A* outwards. So the search walks from A* in both directions and stops in each where the bound
 * exceeds the best ratio found: no A beyond can do better. Ratios are compared as fractions, in 64 bits.
 */
#include "caching.h"

#include <math.h>
#include <string.h>

#define MOST_ELEMENTS INT32_MAX

const char *lm_caching_text(enum lm_caching_why why)
{
    static const char *const text[] = {
        [LM_CACHING_PAYS] = "pays",
        [LM_CACHING_NO_REUSE] = "no two elements share a source element",
        [LM_CACHING_NO_ROOM] = "one window is larger than shared memory",
        [LM_CACHING_TOO_FEW] = "the best tile loads as much as is referred to",
    };
    return text[why];
}

struct tile {
    uint64_t a, b, elements;
};

static struct tile tile_of(struct lm_window w, uint64_t room, uint64_t a)
{
    struct tile t = {.a = a, .b = room / a};
    t.elements = (t.a - w.a + 1) * (t.b - w.b + 1);
    return t;
}

/* Is t's ratio less, or the same with less memory? Areas and elements are below 2^31, so products fit. */
static int is_better(const struct tile *t, const struct tile *best)
{
    uint64_t left = t->a * t->b * best->elements, right = best->a * best->b * t->elements;
    if (left != right)
        return left < right;
    uint64_t area = t->a * t->b, least = best->a * best->b;
    return area != least ? area < least : t->a < best->a;
}

/* No tile of this height has a smaller ratio. */
static double bound(struct lm_window w, double room, double a)
{
    double h = (a - w.a + 1.0) * (room / a - w.b + 1.0);
    return h > 0.0 ? room / h : HUGE_VAL;
}

static double ratio_of(const struct tile *t)
{
    return (double)(t->a * t->b) / (double)t->elements;
}

static struct tile search(struct lm_window w, uint64_t room)
{
    const double slack = 1.0 + 1e-12; /* rounding of the bound must not end the walk early */
    uint64_t least = w.a, most = room / w.b;
    double top = w.b > 1 ? sqrt((double)room * (w.a - 1.0) / (w.b - 1.0)) : (double)most;
    uint64_t start = top <= (double)least ? least : top >= (double)most ? most : (uint64_t)top;
    struct tile best = tile_of(w, room, start);
    for (uint64_t a = start; a-- > least;) {
        struct tile t = tile_of(w, room, a);
        if (is_better(&t, &best))
            best = t;
        if (bound(w, (double)room, (double)a) > ratio_of(&best) * slack)
            break;
    }
    for (uint64_t a = start + 1; a <= most; a++) {
        struct tile t = tile_of(w, room, a);
        if (is_better(&t, &best))
            best = t;
        /* At `start` itself the bound need not have risen yet: it does from A* on, and A* < start + 1. */
        if (bound(w, (double)room, (double)a) > ratio_of(&best) * slack)
            break;
    }
    return best;
}

struct lm_caching lm_caching_best(struct lm_window w, uint64_t shared_bytes)
{
    struct lm_caching out = {.why = LM_CACHING_NO_ROOM};
    uint64_t room = shared_bytes / w.bytes;
    room = room < MOST_ELEMENTS ? room : MOST_ELEMENTS;
    if (w.a == 1 && w.b == 1) {
        out.why = LM_CACHING_NO_REUSE;
        return out;
    }
    if ((uint64_t)w.a * w.b > room)
        return out;
    struct tile best = search(w, room);
    out.tile_a = (uint32_t)best.a;
    out.tile_b = (uint32_t)best.b;
    out.elements = (double)best.elements;
    out.per_element = ratio_of(&best);
    out.why = out.per_element < w.references ? LM_CACHING_PAYS : LM_CACHING_TOO_FEW;
    return out;
}

double lm_references_global(struct lm_window w, double elements)
{
    return w.references * elements;
}

double lm_references_cached(struct lm_window w, uint32_t tile_a, uint32_t tile_b, double elements)
{
    double served = (double)(tile_a - w.a + 1) * (double)(tile_b - w.b + 1);
    return ceil(elements / served) * (double)tile_a * (double)tile_b;
}

/* ---- several sources ---- */

struct block {
    uint64_t a, b;
    double per_element; /* references of all tiles, an element */
};

static double loads(struct lm_window w, const struct block *k)
{
    return (double)(k->a + w.a - 1) * (double)(k->b + w.b - 1) / ((double)k->a * (double)k->b);
}

/* For a given height the sum of the ratios falls as b grows, so the largest b that fits is best: all heights are tried.
 * b == 0: not even one element's windows fit. */
static struct block best_block(const struct lm_window *source, const int *kept, size_t n, uint64_t bytes)
{
    struct block best = {0, 0, HUGE_VAL};
    for (uint64_t a = 1; a <= MOST_ELEMENTS; a++) {
        uint64_t a_column = 0, fixed = 0; /* bytes of all tiles: fixed + b a_column */
        struct block k = {.a = a};
        for (size_t s = 0; s < n; s++)
            if (kept[s]) {
                a_column += (a + source[s].a - 1) * source[s].bytes;
                fixed += (a + source[s].a - 1) * (source[s].b - 1) * source[s].bytes;
            }
        if (a_column == 0 || fixed + a_column > bytes)
            break;
        k.b = (bytes - fixed) / a_column;
        for (size_t s = 0; s < n; s++)
            k.per_element += kept[s] ? loads(source[s], &k) : 0.0;
        if (k.per_element < best.per_element)
            best = k;
    }
    return best;
}

static struct lm_caching_shared describe(const struct lm_window *source, const int *kept, size_t n,
                                         const struct block *k)
{
    struct lm_caching_shared out = {.block_a = (uint32_t)k->a, .block_b = (uint32_t)k->b};
    for (size_t s = 0; s < n; s++)
        if (kept[s]) {
            out.cached[s] = 1;
            out.saved += source[s].references - loads(source[s], k);
            out.bytes += (k->a + source[s].a - 1) * (k->b + source[s].b - 1) * source[s].bytes;
        }
    return out;
}

/* Of the kept sources the one that saves least: in the block, or each alone where no block fits. n: there is none. */
static size_t least_saver(const struct lm_window *source, const int *kept, size_t n, const struct block *k,
                          uint64_t bytes)
{
    size_t least = n;
    double saves_least = HUGE_VAL;
    for (size_t s = 0; s < n; s++) {
        if (!kept[s])
            continue;
        double per = k->b ? loads(source[s], k) : lm_caching_best(source[s], bytes).per_element;
        if (least == n || source[s].references - per < saves_least) {
            least = s;
            saves_least = source[s].references - per;
        }
    }
    return least;
}

struct lm_caching_shared lm_caching_several(const struct lm_window *source, size_t n, uint64_t shared_bytes)
{
    struct lm_caching_shared best = {.saved = 0.0};
    int kept[LM_CACHING_SOURCES] = {0};
    n = n < LM_CACHING_SOURCES ? n : LM_CACHING_SOURCES;
    for (size_t s = 0; s < n; s++)
        kept[s] = lm_caching_best(source[s], shared_bytes).why == LM_CACHING_PAYS;
    for (;;) {
        struct block k = best_block(source, kept, n, shared_bytes);
        size_t goes = least_saver(source, kept, n, &k, shared_bytes);
        if (goes == n)
            return best;
        if (k.b) {
            struct lm_caching_shared found = describe(source, kept, n, &k);
            if (found.saved > best.saved)
                best = found;
        }
        kept[goes] = 0;
    }
}

/* ---- lists ---- */

/* mark[s]: the last element + 1 that refers to s, to find repeats; tile[s]: the last tile + 1 that holds it. */
struct lists {
    const uint64_t *first;
    const uint32_t *index;
    uint64_t *mark, *tile;
};

/* Different sources of element e that tile number `tile` lacks; they are put into it if take is set. */
static uint64_t lacking(struct lists *l, size_t e, uint64_t tile, int take)
{
    uint64_t lacks = 0, pass = 2 * (uint64_t)e + 1 + (uint64_t)take;
    for (uint64_t k = l->first[e]; k < l->first[e + 1]; k++) {
        uint32_t s = l->index[k];
        if (l->mark[s] == pass)
            continue;
        l->mark[s] = pass;
        if (l->tile[s] != tile)
            lacks++;
        if (take)
            l->tile[s] = tile;
    }
    return lacks;
}

static int has_reuse(struct lists *l, size_t n, uint32_t sources)
{
    memset(l->mark, 0, sources * sizeof *l->mark);
    for (size_t e = 0; e < n; e++)
        for (uint64_t k = l->first[e]; k < l->first[e + 1]; k++) {
            uint64_t *mark = &l->mark[l->index[k]];
            if (*mark && *mark != (uint64_t)e + 1)
                return 1;
            *mark = (uint64_t)e + 1;
        }
    return 0;
}

struct lm_caching_list lm_caching_of_list(const uint64_t *first, const uint32_t *index, size_t n, uint32_t sources,
                                          uint32_t bytes, uint64_t shared_bytes, uint64_t *scratch)
{
    struct lists l = {first, index, scratch, scratch + sources};
    struct lm_caching_list out = {.why = LM_CACHING_PAYS, .global = n ? (double)(first[n] - first[0]) : 0.0};
    uint64_t room = shared_bytes / bytes, used = 0;
    int reuse = has_reuse(&l, n, sources);
    memset(scratch, 0, 2 * (size_t)sources * sizeof *scratch);
    for (size_t e = 0; e < n; e++) {
        uint64_t lacks = lacking(&l, e, out.tiles, 0);
        if (out.tiles == 0 || used + lacks > room) { /* a new tile */
            out.tiles++;
            used = 0;
            lacks = lacking(&l, e, out.tiles, 1);
        } else
            lacking(&l, e, out.tiles, 1);
        used += lacks;
        out.cached += (double)lacks;
        if (used > room) {
            out.why = LM_CACHING_NO_ROOM;
            return out;
        }
    }
    if (!reuse)
        out.why = LM_CACHING_NO_REUSE;
    else if (out.cached >= out.global)
        out.why = LM_CACHING_TOO_FEW;
    return out;
}
