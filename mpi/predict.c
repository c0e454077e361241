/* predict.c: `libras_mpi predict RESULTS.h5 PICTURE...`: single pictures under stored weights, for people to look at.
 *
 * On rank 0 alone, by the reference: a few pictures are a few microseconds. Each is cut and shrunk as `import` does it,
 * so the network sees what it would see in a data set; that 8 x 8 is drawn, since a wrong answer is mostly a wrong box.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "cpu_backend.h"
#include "evaluate.h"
#include "json.h"
#include "photo.h"
#include "report.h"
#include "stored.h"

struct predict {
    const struct lm_call *call;
    struct lm_stored stored;
    uint64_t trial;
    struct lm_shape shape;
    float *parameters;
    struct lm_problem nothing; /* a session wants a problem */
    void *session;
    int colours;
    struct lm_json json;
};

struct reading {
    const char *path;
    char name[sizeof(((struct lm_error *)0)->text)]; /* path as one line of UTF-8 */
    struct lm_photo photo;
    float score[LM_CLASSES];
    int order[LM_CLASSES]; /* classes, the largest score first */
};

/* ---- the network ---- */

static int load(struct predict *p, struct lm_error *err)
{
    const struct lm_options *options = p->call->options;
    int code = lm_stored_open(options->operand[0], &p->stored, err);
    if (code != LM_OK)
        return code;
    if ((code = lm_stored_choose(&p->stored, options, &p->trial, err)) != LM_OK ||
        (code = lm_stored_network(&p->stored, p->trial, &p->shape, &p->parameters, err)) != LM_OK)
        return lm_fail_within(err, "%s: ", options->operand[0]);
    return lm_backend_cpu_ref.open(&p->nothing, &p->session, err);
}

/* ---- a picture ---- */

static void sort_classes(struct reading *r)
{
    for (int c = 0; c < LM_CLASSES; c++) {
        int at = c;
        for (; at > 0 && r->score[r->order[at - 1]] < r->score[c]; at--)
            r->order[at] = r->order[at - 1];
        r->order[at] = c;
    }
}

static int read_picture(struct predict *p, struct reading *r, struct lm_error *err)
{
    double pixel[LM_PIXELS];
    float x[LM_PIXELS];
    char *voc = NULL;
    int code = p->call->options->whole ? LM_OK : lm_photo_find_voc(r->path, &voc, err);
    if (code == LM_OK)
        code = lm_photo_load(r->path, voc, &r->photo, err);
    free(voc);
    if (code != LM_OK)
        return code;
    for (int k = 0; k < LM_PIXELS; k++)
        pixel[k] = r->photo.pixel[k];
    lm_scaler_apply(&p->stored.results.scaler, pixel, x);
    if ((code = lm_backend_cpu_ref.infer(p->session, p->shape, p->parameters, x, 1, r->score, err)) != LM_OK)
        return code;
    sort_classes(r);
    return LM_OK;
}

static char letter_of(const struct reading *r)
{
    return LM_LETTERS[lm_predict(r->score)];
}

/* ---- for people ---- */

/* A row of the 8 x 8, two columns a pixel, since a terminal's are twice as high as wide. In colours: the greys as they
 * are. In characters, of which there are ten: from the picture's darkest pixel to its brightest. */
static void draw_row(const struct predict *p, const struct reading *r, int y, FILE *f)
{
    static const char ramp[] = " .:-=+*#%@";
    int least = 255, most = 0;
    for (int k = 0; k < LM_PIXELS; k++) {
        least = r->photo.pixel[k] < least ? r->photo.pixel[k] : least;
        most = r->photo.pixel[k] > most ? r->photo.pixel[k] : most;
    }
    for (int x = 0; x < LM_SIDE; x++) {
        int grey = r->photo.pixel[y * LM_SIDE + x];
        char c = ramp[most > least ? (grey - least) * 9 / (most - least) : 0];
        if (p->colours)
            fprintf(f, "\033[48;5;%dm  ", 232 + grey * 23 / 255);
        else
            fprintf(f, "%c%c", c, c);
    }
    fputs(p->colours ? "\033[0m" : "", f);
}

static void print_score(const struct reading *r, int place, FILE *f)
{
    if (place < LM_CLASSES)
        fprintf(f, "   %c %8.4f", LM_LETTERS[r->order[place]], (double)r->score[r->order[place]]);
}

static void print_text(const struct predict *p, const struct reading *r, FILE *f)
{
    if (p->call->options->quiet) {
        fprintf(f, "%s: %c\n", r->name, letter_of(r));
        return;
    }
    fprintf(f, "%s: %c, %s%s%s\n", r->name, letter_of(r), r->photo.boxed ? "by its labelled box" : "the whole picture",
            *r->photo.note ? "; " : "", r->photo.note);
    for (int y = 0; y < LM_SIDE; y++) {
        fputs("  |", f);
        draw_row(p, r, y, f);
        fputc('|', f);
        print_score(r, y, f);
        print_score(r, y + LM_SIDE, f);
        fputc('\n', f);
    }
    fputc('\n', f);
}

/* ---- for programs ---- */

static void print_json(struct predict *p, const struct reading *r)
{
    char letter[2] = {letter_of(r), '\0'};
    lm_json_text(&p->json, "letter", letter);
    lm_json_text(&p->json, "cut", r->photo.boxed ? "box" : "whole");
    lm_json_text(&p->json, "note", r->photo.note);
    lm_json_open(&p->json, "scores", '{');
    for (int c = 0; c < LM_CLASSES; c++) {
        letter[0] = LM_LETTERS[c];
        lm_json_float(&p->json, letter, r->score[c]);
    }
    lm_json_close(&p->json, '}');
    lm_json_open(&p->json, "pixels", '[');
    for (int k = 0; k < LM_PIXELS; k++)
        lm_json_whole(&p->json, NULL, r->photo.pixel[k]);
    lm_json_close(&p->json, ']');
}

/* ---- all ---- */

/* A picture that cannot be read is told, and the others are read. Returns its code. */
static int show(struct predict *p, const char *path)
{
    int json = p->call->options->format == LM_FORMAT_JSON;
    struct reading r = {.path = path};
    struct lm_error err;
    lm_fail(&err, LM_OK, "%s", path); /* makes one line of UTF-8 of it */
    memcpy(r.name, err.text, sizeof r.name);
    if (json) {
        lm_json_open(&p->json, NULL, '{');
        lm_json_text(&p->json, "picture", r.name);
    }
    int code = read_picture(p, &r, &err);
    if (code != LM_OK)
        lm_say(p->call->world, "%s", err.text);
    if (code != LM_OK && json)
        lm_json_text(&p->json, "error", err.text);
    if (code == LM_OK && json)
        print_json(p, &r);
    else if (code == LM_OK)
        print_text(p, &r, stdout);
    if (json)
        lm_json_close(&p->json, '}');
    return code;
}

static int show_all(struct predict *p)
{
    const struct lm_options *options = p->call->options;
    int json = options->format == LM_FORMAT_JSON, worst = LM_OK;
    struct lm_error err;
    /* A launcher gives its processes a terminal of their own, wherever its own output goes. */
    p->colours = isatty(STDOUT_FILENO) && !p->call->world->launched && !getenv("NO_COLOR");
    if (json) {
        lm_json_begin(&p->json, stdout);
        lm_json_open(&p->json, NULL, '{');
        lm_json_text(&p->json, "results", options->operand[0]);
        lm_json_whole(&p->json, "trial", (int64_t)p->trial);
        lm_json_open(&p->json, "pictures", '[');
    }
    for (size_t k = 1; k < options->operands; k++) {
        int code = show(p, options->operand[k]);
        worst = code > worst ? code : worst;
    }
    if (json) {
        lm_json_close(&p->json, ']');
        lm_json_close(&p->json, '}');
    }
    if (lm_flush_stdout(&err) != LM_OK) {
        lm_say(p->call->world, "%s", err.text);
        worst = worst ? worst : err.code;
    }
    return worst;
}

int lm_command_predict(const struct lm_call *call)
{
    struct predict p = {.call = call};
    const struct lm_world *world = call->world;
    struct lm_error err;
    int code = lm_agree(world, world->rank == 0 ? load(&p, &err) : LM_OK, &err);
    if (code == LM_OK) {
        code = world->rank == 0 ? show_all(&p) : LM_OK; /* which has told its failures */
        lm_broadcast(world, &code, sizeof code);
    }
    if (p.session)
        lm_backend_cpu_ref.close(p.session);
    lm_stored_close(&p.stored);
    free(p.parameters);
    return code;
}
