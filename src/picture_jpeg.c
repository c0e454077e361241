/* picture_jpeg.c: JPEG by libjpeg (or libjpeg-turbo, which has the same interface).
 *
 * libjpeg reports by two functions that are ours: an error jumps back here (the library would end the process), a
 * warning is kept (it would be printed). Both mean a damaged file, and the picture is refused: libjpeg goes on after a
 * warning and fills what is missing with grey, which is no photograph. Only bytes before a marker that belong to
 * nothing change no pixel, and pass.
 *
 * A progressive file may ask for the whole picture to be gone over again with every few bytes: passes are limited, more
 * so for a large picture.
 */
#include "picture_codec.h"

#ifdef LM_HAVE_JPEG

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

/* An encoder writes about ten. */
#define LEAST_SCANS 16
#define MOST_SCANS  200
#define MOST_WORK   (UINT64_C(1) << 30) /* pixels times scans */

struct reading {
    struct jpeg_decompress_struct jpeg; /* first: what libjpeg hands back points to it */
    struct jpeg_error_mgr reports;
    struct jpeg_progress_mgr passes;
    jmp_buf back;
    char text[JMSG_LENGTH_MAX]; /* the first warning, or the error */
    int out_of_memory;
    int code; /* where it is not libjpeg that refuses */
    uint8_t *row;
    struct lm_picture *out;
    struct lm_error *err;
};

static struct reading *reading_of(j_common_ptr jpeg)
{
    return (struct reading *)(void *)jpeg;
}

static void stop(j_common_ptr jpeg)
{
    struct reading *r = reading_of(jpeg);
    jpeg->err->format_message(jpeg, r->text);
    r->out_of_memory = jpeg->err->msg_code == JERR_OUT_OF_MEMORY;
    longjmp(r->back, 1);
}

static void warn(j_common_ptr jpeg, int level)
{
    struct reading *r = reading_of(jpeg);
    if (level < 0 && jpeg->err->msg_code != JWRN_EXTRANEOUS_DATA) { /* other levels are traces */
        jpeg->err->format_message(jpeg, r->text);
        longjmp(r->back, 1);
    }
}

static void print_nothing(j_common_ptr jpeg)
{
    (void)jpeg;
}

static void count_passes(j_common_ptr jpeg)
{
    struct reading *r = reading_of(jpeg);
    uint64_t most = MOST_WORK / ((uint64_t)r->jpeg.image_width * r->jpeg.image_height);
    most = most < LEAST_SCANS ? LEAST_SCANS : most > MOST_SCANS ? MOST_SCANS : most;
    if ((uint64_t)r->jpeg.input_scan_number > most) {
        snprintf(r->text, sizeof r->text, "more than %d scans", (int)most);
        longjmp(r->back, 1);
    }
}

/* What a file of this kind may not be. Returns 0 where it may. */
static int refused(struct reading *r)
{
    const struct jpeg_decompress_struct *jpeg = &r->jpeg;
    if (jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK)
        r->code = lm_fail(r->err, LM_BAD_INPUT, "a JPEG in CMYK, for printing: save it as RGB");
    else if (jpeg->data_precision != 8)
        r->code = lm_fail(r->err, LM_BAD_INPUT, "a JPEG of %d bits a channel; 8 were expected", jpeg->data_precision);
    else if (jpeg->jpeg_color_space == JCS_UNKNOWN)
        r->code = lm_fail(r->err, LM_BAD_INPUT, "a JPEG of %d channels; 1 (grey) or 3 (RGB) were expected",
                          jpeg->num_components);
    return r->code;
}

static int orientation_of(const struct jpeg_decompress_struct *jpeg)
{
    static const char head[6] = "Exif\0";
    for (jpeg_saved_marker_ptr m = jpeg->marker_list; m; m = m->next)
        if (m->marker == JPEG_APP0 + 1 && m->data_length > sizeof head && memcmp(m->data, head, sizeof head) == 0)
            return lm_exif_orientation(m->data + sizeof head, m->data_length - sizeof head);
    return 0;
}

static int read_head(struct reading *r, const uint8_t *bytes, size_t n)
{
    struct jpeg_decompress_struct *jpeg = &r->jpeg;
    jpeg_mem_src(jpeg, (unsigned char *)(uintptr_t)bytes, (unsigned long)n); /* older ones take no const */
    jpeg_save_markers(jpeg, JPEG_APP0 + 1, 0xFFFF);
    jpeg_read_header(jpeg, TRUE);
    if (refused(r))
        return r->code;
    if ((r->code = lm_picture_allocate(r->out, jpeg->image_width, jpeg->image_height, r->err)) != LM_OK)
        return r->code;
    r->out->orientation = orientation_of(jpeg);
    jpeg->out_color_space = jpeg->jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
    jpeg->dct_method = JDCT_ISLOW; /* the exact one */
    jpeg_start_decompress(jpeg);
    return LM_OK;
}

static void read_rows(struct reading *r)
{
    struct jpeg_decompress_struct *jpeg = &r->jpeg;
    const size_t width = r->out->width;
    while (jpeg->output_scanline < jpeg->output_height) {
        uint8_t *grey = r->out->grey + (size_t)jpeg->output_scanline * width;
        JSAMPROW row = jpeg->output_components == 1 ? grey : r->row;
        if (jpeg_read_scanlines(jpeg, &row, 1) == 1 && jpeg->output_components == 3)
            lm_picture_grey(r->row, width, grey);
    }
    jpeg_finish_decompress(jpeg);
}

/* All that may jump back, and nothing that lives on: what must be freed lies in *r. */
static int read_guarded(struct reading *r, const uint8_t *bytes, size_t n)
{
    if (setjmp(r->back)) {
        if (r->out_of_memory)
            return lm_fail_memory(r->err, 3ull * r->out->width * r->out->height, "a JPEG");
        return lm_fail(r->err, LM_BAD_INPUT, "a damaged JPEG: %s", r->text);
    }
    jpeg_create_decompress(&r->jpeg);
    r->jpeg.progress = &r->passes;
    if (read_head(r, bytes, n) != LM_OK)
        return r->code;
    r->row = malloc((size_t)3 * r->out->width);
    if (!r->row)
        return lm_fail_memory(r->err, 3ull * r->out->width, "a row of pixels");
    read_rows(r);
    return LM_OK;
}

int lm_picture_read_jpeg(const uint8_t *bytes, size_t n, struct lm_picture *out, struct lm_error *err)
{
    struct reading *r = calloc(1, sizeof *r);
    if (!r)
        return lm_fail_memory(err, sizeof *r, "a JPEG's reader");
    r->out = out;
    r->err = err;
    r->jpeg.err = jpeg_std_error(&r->reports);
    r->reports.error_exit = stop;
    r->reports.emit_message = warn;
    r->reports.output_message = print_nothing;
    r->passes.progress_monitor = count_passes;
    int code = read_guarded(r, bytes, n);
    if (r->jpeg.mem)
        jpeg_destroy_decompress(&r->jpeg);
    free(r->row);
    free(r);
    return code;
}

void lm_picture_jpeg_version(char *text, size_t size)
{
#ifdef LIBJPEG_TURBO_VERSION
#define WORDS(x)  #x
#define WORDS2(x) WORDS(x)
    snprintf(text, size, "libjpeg-turbo %s (libjpeg %d)", WORDS2(LIBJPEG_TURBO_VERSION), JPEG_LIB_VERSION);
#else
    snprintf(text, size, "libjpeg %d", JPEG_LIB_VERSION);
#endif
}

#else

int lm_picture_read_jpeg(const uint8_t *bytes, size_t n, struct lm_picture *out, struct lm_error *err)
{
    (void)bytes, (void)n, (void)out;
    return lm_fail(err, LM_UNAVAILABLE, "a JPEG, and this program was built without libjpeg (libjpeg-dev)");
}

void lm_picture_jpeg_version(char *text, size_t size)
{
    (void)size;
    *text = '\0';
}

#endif
