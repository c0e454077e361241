/* pack.c: see pack.h. */
#include "pack.h"

#include <math.h>
#include <string.h>

#include "synth.h"

/* ---- turns ---- */

/* Images in the first `rounds` rounds. */
static uint64_t before(const uint64_t count[LM_CLASSES], uint64_t rounds)
{
    uint64_t sum = 0;
    for (int c = 0; c < LM_CLASSES; c++)
        sum += count[c] < rounds ? count[c] : rounds;
    return sum;
}

/* The round is the last one that does not begin after i: halves are searched. */
struct lm_turn lm_turn_of(const uint64_t count[LM_CLASSES], uint64_t i)
{
    uint64_t low = 0, high = i + 1;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (before(count, middle) <= i)
            low = middle;
        else
            high = middle;
    }
    uint64_t left = i - before(count, low);
    for (int c = 0; c < LM_CLASSES; c++) {
        if (count[c] <= low)
            continue;
        if (left == 0)
            return (struct lm_turn){c, low};
        left--;
    }
    return (struct lm_turn){0, low}; /* not reached for an i that is there */
}

struct lm_turn lm_turn_next(const uint64_t count[LM_CLASSES], struct lm_turn turn)
{
    for (int passed = 0; passed <= LM_CLASSES; passed++) {
        turn.letter = (turn.letter + 1) % LM_CLASSES;
        turn.k += turn.letter == 0;
        if (turn.k < count[turn.letter])
            break;
    }
    return turn;
}

/* ---- values ---- */

static void put_grey(enum lm_packed_type type, void *pixel, size_t at, double value)
{
    if (type == LM_PACKED_U8)
        ((uint8_t *)pixel)[at] = (uint8_t)value;
    else
        ((float *)pixel)[at] = (float)value;
}

void lm_pack_drawn(const uint64_t count[LM_CLASSES], uint32_t seed, const struct lm_packed_layout *layout, uint64_t b,
                   void *pixel, uint8_t *label)
{
    uint32_t n = lm_packed_count(layout, b);
    struct lm_turn turn = lm_turn_of(count, b * layout->block);
    for (uint32_t i = 0; i < n; i++, turn = lm_turn_next(count, turn)) {
        double drawn[LM_PIXELS];
        lm_synth_image(seed, turn.letter, turn.k, drawn);
        for (size_t p = 0; p < LM_PIXELS; p++)
            put_grey(layout->type, pixel, (size_t)i * LM_PIXELS + p, drawn[p]); /* whole numbers, 0 to 255 */
        label[i] = (uint8_t)turn.letter;
    }
}

static int refuse(const struct lm_dataset *data, uint64_t sample, int p, const char *what, struct lm_error *err)
{
    return lm_fail(err, LM_BAD_INPUT, "letter %c, sample %llu of the data set, value %d: %.17g %s",
                   LM_LETTERS[data->label[sample]], (unsigned long long)sample + 1, p + 1,
                   data->pixel[sample * LM_PIXELS + (size_t)p], what);
}

static int is_grey(double value)
{
    return value >= 0 && value <= 255 && value == (double)(int)value && !signbit(value);
}

int lm_pack_dataset(const struct lm_dataset *data, const struct lm_packed_layout *layout, uint64_t b, void *pixel,
                    uint8_t *label, uint64_t *rounded, struct lm_error *err)
{
    const uint64_t first = b * layout->block;
    uint32_t n = lm_packed_count(layout, b);
    for (uint32_t i = 0; i < n; i++)
        for (int p = 0; p < LM_PIXELS; p++) {
            double value = data->pixel[(first + i) * LM_PIXELS + (size_t)p];
            if (layout->type == LM_PACKED_U8 && !is_grey(value))
                return refuse(data, first + i, p, "is no whole number from 0 to 255; --packed f32 takes it", err);
            if (layout->type == LM_PACKED_F32) {
                if (!isfinite((float)value))
                    return refuse(data, first + i, p, "is beyond float32", err);
                *rounded += (double)(float)value != value;
            }
            put_grey(layout->type, pixel, (size_t)i * LM_PIXELS + (size_t)p, value);
        }
    memcpy(label, data->label + first, n);
    return LM_OK;
}
