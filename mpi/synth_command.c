/* synth_command.c: `libras_mpi synth DIR`, or with --packed `synth FILE`: drawn hands, or a folder's images in one
 * file.
 *
 * A folder is made by rank 0 alone. A packed file is made in bounded memory: the ranks take its blocks in turn and draw
 * them (30,000 images a second a core: it is the drawing that takes time), and rank 0 receives and writes them in
 * order. One process writes: file systems shared by several hosts do not all bear several writers of one page.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "pack.h"
#include "report.h"
#include "synth.h"

enum { TAG_BLOCK = 40 };

static void counts_of(const struct lm_options *options, uint64_t count[LM_CLASSES])
{
    for (int c = 0; c < LM_CLASSES; c++)
        count[c] = options->samples ? options->samples : lm_synth_default_count[c];
}

/* ---- a folder ---- */

static int make_folder(const struct lm_call *call, struct lm_error *err)
{
    const struct lm_options *options = call->options;
    uint64_t count[LM_CLASSES];
    struct lm_dataset data;
    counts_of(options, count);
    int code = lm_synth(count, options->synth_seed, &data, err);
    if (code != LM_OK)
        return code;
    code = lm_dataset_save(&data, options->operand[0], options->force, err);
    if (code == LM_OK && !options->quiet)
        printf("%zu images of %d letters in %s; SHA-256 %s\n", data.samples, LM_CLASSES, options->operand[0],
               data.digest);
    lm_dataset_free(&data);
    return code == LM_OK ? lm_flush_stdout(err) : code;
}

/* ---- a packed file ---- */

struct packing {
    const struct lm_call *call;
    struct lm_packed_layout layout;
    struct lm_packed_writer *writer; /* rank 0 */
    unsigned char *block;            /* a block's pixels, and its labels behind them */
    size_t pixel_bytes;              /* of a whole block */
    uint64_t count[LM_CLASSES];
    struct lm_dataset data; /* rank 0, with --data */
    uint64_t rounded;
};

static uint8_t *labels_of(const struct packing *p)
{
    return p->block + p->pixel_bytes;
}

static int put(struct packing *p, uint64_t b, struct lm_error *err)
{
    return lm_packed_put(p->writer, b, p->block, labels_of(p), err);
}

/* All ranks. Rank 0's failure to write ends the job: nobody else would know. */
static void draw_blocks(struct packing *p)
{
    const struct lm_world *world = p->call->world;
    const uint64_t bytes = p->pixel_bytes + p->layout.block;
    struct lm_error err;
    for (uint64_t b = 0; b < lm_packed_blocks(&p->layout); b++) {
        int owner = (int)(b % (uint64_t)world->size);
        if (owner == world->rank)
            lm_pack_drawn(p->count, p->call->options->synth_seed, &p->layout, b, p->block, labels_of(p));
        if (owner == world->rank && owner != 0)
            lm_send_bytes(world, p->block, bytes, 0, TAG_BLOCK);
        if (world->rank != 0)
            continue;
        if (owner != 0)
            lm_receive_bytes(world, p->block, bytes, owner, TAG_BLOCK);
        if (put(p, b, &err) != LM_OK) {
            lm_packed_abandon(p->writer);
            lm_abort(world, &err);
        }
    }
}

static int pack_blocks(struct packing *p, struct lm_error *err)
{
    int code = LM_OK;
    for (uint64_t b = 0; b < lm_packed_blocks(&p->layout) && code == LM_OK; b++) {
        code = lm_pack_dataset(&p->data, &p->layout, b, p->block, labels_of(p), &p->rounded, err);
        if (code == LM_OK)
            code = put(p, b, err);
    }
    if (code == LM_OK && p->rounded)
        lm_note(p->call->world,
                "%llu values are no float32 and went to the nearest: scores may differ from those of %s",
                (unsigned long long)p->rounded, p->data.path);
    return code;
}

/* Rank 0: what goes into the file, and the file itself. */
static int begin(struct packing *p, struct lm_error *err)
{
    const struct lm_options *options = p->call->options;
    int code = options->data ? lm_dataset_load(options->data, &p->data, err) : LM_OK;
    if (code == LM_OK && options->data)
        p->layout.samples = p->data.samples;
    if (code == LM_OK)
        code = lm_packed_create(options->operand[0], &p->layout, options->force, &p->writer, err);
    return code;
}

static int allocate(struct packing *p, struct lm_error *err)
{
    const struct lm_options *options = p->call->options;
    counts_of(options, p->count);
    p->layout = (struct lm_packed_layout){.type = options->packed == LM_PACKING_U8 ? LM_PACKED_U8 : LM_PACKED_F32,
                                          .block = LM_PACKED_BLOCK,
                                          .labelled = !options->no_labels};
    for (int c = 0; c < LM_CLASSES; c++)
        p->layout.samples += p->count[c];
    p->pixel_bytes = (size_t)LM_PACKED_BLOCK * LM_PIXELS * lm_packed_pixel_bytes(p->layout.type);
    p->block = calloc(1, p->pixel_bytes + LM_PACKED_BLOCK);
    return p->block ? LM_OK : lm_fail_memory(err, p->pixel_bytes + LM_PACKED_BLOCK, "a block");
}

static int finish(struct packing *p, struct lm_error *err)
{
    const struct lm_options *options = p->call->options;
    struct lm_packed *file;
    char digest[LM_SHA256_HEX];
    int code = lm_packed_finish(p->writer, err);
    p->writer = NULL;
    if (code != LM_OK || options->quiet)
        return code;
    if ((code = lm_packed_open(options->operand[0], &file, err)) != LM_OK)
        return code;
    code = lm_packed_digest(file, digest, err);
    if (code == LM_OK)
        printf("%llu images%s in %s, %llu bytes; SHA-256 %s\n", (unsigned long long)p->layout.samples,
               p->layout.labelled ? "" : " without labels", options->operand[0],
               (unsigned long long)lm_packed_offset(&p->layout, lm_packed_blocks(&p->layout)), digest);
    lm_packed_close(file);
    return code == LM_OK ? lm_flush_stdout(err) : code;
}

static int make_packed(const struct lm_call *call)
{
    const struct lm_world *world = call->world;
    struct packing p = {.call = call};
    struct lm_error err;
    int code = lm_agree_once(world, allocate(&p, &err), &err);
    if (code == LM_OK)
        code = lm_agree(world, world->rank == 0 ? begin(&p, &err) : LM_OK, &err);
    if (code == LM_OK && call->options->data)
        code = lm_agree(world, world->rank == 0 ? pack_blocks(&p, &err) : LM_OK, &err);
    else if (code == LM_OK)
        draw_blocks(&p);
    if (code == LM_OK)
        code = lm_agree(world, world->rank == 0 ? finish(&p, &err) : LM_OK, &err);
    lm_packed_abandon(p.writer);
    lm_dataset_free(&p.data);
    free(p.block);
    return code;
}

int lm_command_synth(const struct lm_call *call)
{
    struct lm_error err;
    if (call->options->packed != LM_PACKING_NONE)
        return make_packed(call);
    return lm_agree(call->world, call->world->rank == 0 ? make_folder(call, &err) : LM_OK, &err);
}
