/* import_command.c: `libras_mpi import IMAGES DIR`: photographs to samples; or with --packed FILE to a packed file.
 *
 * Rank 0 lists the pictures, in their order, and sends the list to all. Picture i belongs to rank i mod size, which
 * reads it; nothing but 64 values, or the reason why there are none, comes back. So the outcome is a function of the
 * folder alone, and a thousand ranks read no folder. A picture that cannot be read is left out and named; a machine
 * that cannot read (no memory, a disk's error, a host that does not see the file) ends the job: what is written never
 * depends on that.
 */
#include "import.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "pack.h"
#include "photo.h"
#include "progress.h"

/* Messages have a thousand bytes, and begin with a path. */
#define LONGEST_FOLDER 400

enum { TAG_PIXELS = 50, TAG_STATES, TAG_REMARK_BYTES, TAG_REMARKS };

/* ---- the list, to all ranks ---- */

static int prepare_on_rank_0(struct lm_import *import, struct lm_error *err)
{
    const struct lm_options *options = import->call->options;
    const char *target = options->operand[1];
    import->made_folder = options->packed == LM_PACKING_NONE && access(target, F_OK) != 0;
    if (strlen(options->operand[0]) > LONGEST_FOLDER)
        return lm_fail(err, LM_BAD_INPUT,
                       "the path of the pictures has %zu bytes, %d at most can be told of in a message: "
                       "go into a folder nearer to them",
                       strlen(options->operand[0]), LONGEST_FOLDER);
    int code = lm_photo_list_make(options->operand[0], &import->list, err);
    if (code != LM_OK)
        return code;
    return options->packed == LM_PACKING_NONE ? lm_dataset_check_target(target, options->force, err)
                                              : lm_packed_check_target(target, options->force, err);
}

static int share_list(struct lm_import *import)
{
    const struct lm_world *world = import->call->world;
    struct lm_photo_list *list = &import->list;
    struct lm_error err;
    int code = LM_OK;
    lm_broadcast(world, &list->n, sizeof list->n);
    lm_broadcast(world, &list->names_bytes, sizeof list->names_bytes);
    if (world->rank != 0) {
        list->photo = malloc((list->n + 1) * sizeof *list->photo);
        list->names = malloc(list->names_bytes + 1);
        if (!list->photo || !list->names)
            code = lm_fail_memory(&err, list->n * sizeof *list->photo + list->names_bytes, "the list of pictures");
    }
    if ((code = lm_agree(world, code, &err)) != LM_OK)
        return code;
    lm_broadcast(world, list->photo, list->n * sizeof *list->photo);
    lm_broadcast(world, list->names, list->names_bytes);
    return LM_OK;
}

/* ---- each rank's pictures ---- */

/* The pictures of rank r: r, r + size, r + 2 size, ... */
static uint64_t share_of(const struct lm_import *import, int r)
{
    uint64_t size = (uint64_t)import->call->world->size, rank = (uint64_t)r;
    return import->list.n > rank ? (import->list.n - rank - 1) / size + 1 : 0;
}

/* A remark is the picture's number, 8 bytes, and a text with its 0. */
static void remark(FILE *remarks, uint64_t i, const char *text)
{
    fwrite(&i, sizeof i, 1, remarks);
    fwrite(text, strlen(text) + 1, 1, remarks);
}

static uint8_t read_photo(const struct lm_import *import, uint64_t i, uint8_t pixel[LM_PIXELS], FILE *remarks)
{
    const struct lm_options *options = import->call->options;
    const struct lm_photo_entry *entry = &import->list.photo[i];
    const char *dir = options->operand[0], *names = import->list.names;
    struct lm_photo photo;
    struct lm_error err;
    char *picture = NULL, *voc = NULL;
    int code = asprintf(&picture, "%s/%s", dir, names + entry->picture) < 0 ? LM_FAILED : LM_OK;
    if (code == LM_OK && entry->voc != LM_NO_NAME && !options->whole)
        code = asprintf(&voc, "%s/%s", dir, names + entry->voc) < 0 ? LM_FAILED : LM_OK;
    if (code != LM_OK)
        lm_fail_memory(&err, strlen(dir) + 256, "a path");
    else
        code = lm_photo_load(picture, voc, &photo, &err);
    free(picture);
    free(voc);
    if (code != LM_OK && code != LM_BAD_INPUT && code != LM_UNAVAILABLE)
        lm_abort(import->call->world, &err);
    if (code != LM_OK) {
        /* It begins with the path; prepare_on_rank_0 has seen to it that the path leaves room for the reason. */
        size_t skip = strlen(dir) + 1;
        remark(remarks, i, strlen(err.text) > skip ? err.text + skip : err.text);
        return code == LM_UNAVAILABLE ? LM_IMPORT_NOT_BUILT_IN : LM_IMPORT_LEFT_OUT;
    }
    memcpy(pixel, photo.pixel, LM_PIXELS);
    if (*photo.note) {
        char text[sizeof err.text];
        snprintf(text, sizeof text, "%.800s: %s", names + entry->picture, photo.note);
        lm_fail(&err, LM_OK, "%s", text); /* one line of UTF-8, whatever the name is */
        remark(remarks, i, err.text);
    }
    return photo.boxed ? LM_IMPORT_BOXED : LM_IMPORT_WHOLE;
}

static int read_share(struct lm_import *import, struct lm_import_share *share, struct lm_error *err)
{
    const struct lm_world *world = import->call->world;
    const uint64_t n = share_of(import, world->rank);
    struct lm_progress progress;
    FILE *remarks = open_memstream(&share->remarks, &share->remark_bytes);
    share->pixel = calloc(n + 1, LM_PIXELS);
    share->state = calloc(n + 1, 1);
    if (!remarks || !share->pixel || !share->state) {
        if (remarks)
            fclose(remarks);
        return lm_fail_memory(err, n * (LM_PIXELS + 1), "the pictures");
    }
    lm_progress_begin(&progress, world, "pictures", import->list.n);
    for (uint64_t k = 0; k < n; k++) {
        uint64_t i = (uint64_t)world->rank + k * (uint64_t)world->size;
        share->state[k] = read_photo(import, i, share->pixel + k * LM_PIXELS, remarks);
        lm_progress_show(&progress, i + 1);
    }
    lm_progress_end(&progress);
    return fclose(remarks) == 0 ? LM_OK : lm_fail_memory(err, share->remark_bytes, "the remarks on pictures");
}

/* ---- all of them, on rank 0 ---- */

static int receive_share(const struct lm_import *import, int r, struct lm_import_share *share, struct lm_error *err)
{
    const struct lm_world *world = import->call->world;
    const uint64_t n = share_of(import, r);
    uint64_t bytes;
    lm_receive_bytes(world, &bytes, sizeof bytes, r, TAG_REMARK_BYTES);
    share->pixel = malloc((n + 1) * LM_PIXELS);
    share->state = malloc(n + 1);
    share->remarks = malloc(bytes + 1);
    if (!share->pixel || !share->state || !share->remarks)
        return lm_fail_memory(err, n * (LM_PIXELS + 1) + bytes, "the pictures");
    share->remark_bytes = (size_t)bytes;
    lm_receive_bytes(world, share->pixel, n * LM_PIXELS, r, TAG_PIXELS);
    lm_receive_bytes(world, share->state, n, r, TAG_STATES);
    lm_receive_bytes(world, share->remarks, bytes, r, TAG_REMARKS);
    return LM_OK;
}

static void send_share(const struct lm_import *import, const struct lm_import_share *share)
{
    const struct lm_world *world = import->call->world;
    const uint64_t n = share_of(import, world->rank), bytes = share->remark_bytes;
    lm_send_bytes(world, &bytes, sizeof bytes, 0, TAG_REMARK_BYTES);
    lm_send_bytes(world, share->pixel, n * LM_PIXELS, 0, TAG_PIXELS);
    lm_send_bytes(world, share->state, n, 0, TAG_STATES);
    lm_send_bytes(world, share->remarks, bytes, 0, TAG_REMARKS);
}

/* Picture i of the list is picture i / size of rank i mod size. */
static void sort_in(struct lm_import *import, const struct lm_import_share *share, int r)
{
    const uint64_t size = (uint64_t)import->call->world->size, n = share_of(import, r);
    for (uint64_t k = 0; k < n; k++) {
        uint64_t i = (uint64_t)r + k * size;
        memcpy(import->pixel + i * LM_PIXELS, share->pixel + k * LM_PIXELS, LM_PIXELS);
        import->state[i] = share->state[k];
    }
    for (size_t at = 0; at < share->remark_bytes;) {
        uint64_t i;
        memcpy(&i, share->remarks + at, sizeof i);
        import->remark[i] = share->remarks + at + sizeof i;
        at += sizeof i + strlen(import->remark[i]) + 1;
    }
}

static int gather(struct lm_import *import)
{
    const struct lm_world *world = import->call->world;
    const uint64_t n = import->list.n;
    struct lm_error err;
    int code = LM_OK;
    if (world->rank != 0) {
        send_share(import, &import->share[0]);
        return LM_OK;
    }
    import->pixel = malloc((n + 1) * LM_PIXELS);
    import->state = malloc(n + 1);
    import->remark = calloc(n + 1, sizeof *import->remark);
    if (!import->pixel || !import->state || !import->remark)
        code = lm_fail_memory(&err, n * (LM_PIXELS + 9), "the pictures");
    for (int r = 0; r < world->size && code == LM_OK; r++) {
        if (r > 0)
            code = receive_share(import, r, &import->share[r], &err);
        if (code == LM_OK)
            sort_in(import, &import->share[r], r);
    }
    if (code != LM_OK)
        lm_abort(world, &err); /* the others are sending */
    return LM_OK;
}

/* ---- the data set ---- */

static int write_folder(struct lm_import *import, struct lm_error *err)
{
    const struct lm_options *options = import->call->options;
    struct lm_dataset data;
    int code = lm_dataset_allocate(import->taken, &data, err);
    if (code != LM_OK)
        return code;
    double *to = data.pixel;
    for (uint64_t i = 0; i < import->list.n; i++)
        for (int p = 0; p < LM_PIXELS && import->state[i] >= LM_IMPORT_BOXED; p++)
            *to++ = import->pixel[i * LM_PIXELS + (uint64_t)p];
    lm_dataset_digest(&data);
    memcpy(import->digest, data.digest, sizeof import->digest);
    code = lm_dataset_save(&data, options->operand[1], options->force, err);
    lm_dataset_free(&data);
    return code;
}

static int put_block(struct lm_import *import, struct lm_packed_writer *writer, const struct lm_packed_layout *layout,
                     uint64_t b, uint64_t *at, struct lm_error *err)
{
    uint8_t *bytes = malloc((size_t)layout->block * LM_PIXELS), *label = malloc(layout->block);
    float *real = malloc((size_t)layout->block * LM_PIXELS * sizeof *real);
    int code = bytes && label && real ? LM_OK : lm_fail_memory(err, layout->block * 321ull, "a block");
    for (uint32_t k = 0; code == LM_OK && k < lm_packed_count(layout, b); (*at)++) {
        if (import->state[*at] < LM_IMPORT_BOXED)
            continue;
        memcpy(bytes + (size_t)k * LM_PIXELS, import->pixel + *at * LM_PIXELS, LM_PIXELS);
        label[k++] = (uint8_t)import->list.photo[*at].label;
    }
    if (code == LM_OK) {
        for (size_t i = 0; i < (size_t)lm_packed_count(layout, b) * LM_PIXELS; i++)
            real[i] = (float)bytes[i];
        const void *pixel = layout->type == LM_PACKED_U8 ? (const void *)bytes : (const void *)real;
        code = lm_packed_put(writer, b, pixel, label, err);
    }
    free(bytes);
    free(label);
    free(real);
    return code;
}

static int digest_of(const char *path, char digest[LM_SHA256_HEX], struct lm_error *err)
{
    struct lm_packed *file;
    int code = lm_packed_open(path, &file, err);
    if (code != LM_OK)
        return code;
    code = lm_packed_digest(file, digest, err);
    lm_packed_close(file);
    return code;
}

static int write_packed(struct lm_import *import, struct lm_error *err)
{
    const struct lm_options *options = import->call->options;
    struct lm_packed_layout layout = {.type = options->packed == LM_PACKING_U8 ? LM_PACKED_U8 : LM_PACKED_F32,
                                      .samples = import->n_taken,
                                      .block = LM_PACKED_BLOCK,
                                      .labelled = 1};
    struct lm_packed_writer *writer;
    uint64_t at = 0;
    int code = lm_packed_create(options->operand[1], &layout, options->force, &writer, err);
    if (code != LM_OK)
        return code;
    for (uint64_t b = 0; b < lm_packed_blocks(&layout) && code == LM_OK; b++)
        code = put_block(import, writer, &layout, b, &at, err);
    if (code != LM_OK) {
        lm_packed_abandon(writer);
        return code;
    }
    code = lm_packed_finish(writer, err);
    return code == LM_OK ? digest_of(options->operand[1], import->digest, err) : code;
}

/* Told first, so that a user who gets no data set sees why. */
static int finish_on_rank_0(struct lm_import *import, struct lm_error *err)
{
    const struct lm_options *options = import->call->options;
    lm_import_count(import);
    if (!options->quiet)
        lm_import_report(import, stdout);
    int code = lm_import_enough(import, err);
    if (code == LM_OK)
        code = options->packed == LM_PACKING_NONE ? write_folder(import, err) : write_packed(import, err);
    if (code == LM_OK && !options->quiet)
        printf("%llu images of %d letters in %s; SHA-256 %s\n", (unsigned long long)import->n_taken, import->letters,
               options->operand[1], import->digest);
    int flushed = options->quiet ? LM_OK : lm_flush_stdout(code == LM_OK ? err : &(struct lm_error){0});
    return code == LM_OK ? flushed : code;
}

static void end(struct lm_import *import, int code)
{
    const struct lm_world *world = import->call->world;
    if (code != LM_OK && world->rank == 0 && import->made_folder)
        (void)rmdir(import->call->options->operand[1]); /* empty: nothing was written */
    for (int r = 0; import->share && r < world->size; r++) {
        free(import->share[r].pixel);
        free(import->share[r].state);
        free(import->share[r].remarks);
    }
    free(import->share);
    free(import->pixel);
    free(import->state);
    free(import->remark);
    lm_photo_list_free(&import->list);
}

int lm_command_import(const struct lm_call *call)
{
    struct lm_import import = {.call = call};
    const struct lm_world *world = call->world;
    struct lm_error err;
    int code = lm_agree(world, world->rank == 0 ? prepare_on_rank_0(&import, &err) : LM_OK, &err);
    if (code == LM_OK)
        code = share_list(&import);
    if (code == LM_OK) {
        import.share = calloc((size_t)world->size, sizeof *import.share);
        code = import.share ? read_share(&import, &import.share[0], &err) : lm_fail_memory(&err, 64, "the pictures");
        code = lm_agree(world, code, &err);
    }
    if (code == LM_OK && (code = gather(&import)) == LM_OK)
        code = lm_agree(world, world->rank == 0 ? finish_on_rank_0(&import, &err) : LM_OK, &err);
    end(&import, code);
    return code;
}
