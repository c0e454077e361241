/* make_pictures: pictures for the tests of the program, and the fuzzers' first ones.
 *
 *   make_pictures tree DIR N        a folder a letter, N pictures in each, of all kinds, every second one with a box
 *   make_pictures corpus DIR        a small one of every kind
 *   make_pictures KIND FILE         one; KIND is a word of the table below
 *   make_pictures voc FILE W H XMIN YMIN XMAX YMAX
 *
 * Kinds whose library the build lacks are left out of tree and corpus (boxes, too); alone they end with 3.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dataset.h"
#include "made_pictures.h"

#define LACKING 3

#ifdef LM_HAVE_EXPAT
#define BOXES 1
#else
#define BOXES 0
#endif

/* With the frame's head changed to say 65500 x 65500. */
static struct made huge_jpeg(void)
{
    struct made made = made_jpeg((struct made_jpeg){40, 50, 3, 0, 0, 0});
    for (size_t k = 0; k + 9 < made.n; k++)
        if (made.bytes[k] == 0xFF && made.bytes[k + 1] == 0xC0)
            memcpy(made.bytes + k + 5, "\xFF\xDC\xFF\xDC", 4);
    return made;
}

static struct made cut(struct made made)
{
    made.n = made.n * 2 / 3;
    return made;
}

static const char *const kind[] = {
    "jpeg",     "jpeg-grey",   "jpeg-progressive", "jpeg-exif",  "jpeg-cmyk", "jpeg-cut", "jpeg-huge", "png",
    "png-grey", "png-palette", "png-interlaced",   "png-opaque", "png-hole",  "png-16",   "png-cut",   "pgm",
    "ppm",      "pgm-plain",   "ppm-plain",        "ppm-cut"};
#define KINDS (sizeof kind / sizeof *kind)

static struct made make(size_t k, uint32_t w, uint32_t h, unsigned seed)
{
    switch (k) {
    case 0:
        return made_jpeg((struct made_jpeg){w, h, 3, 0, 0, seed});
    case 1:
        return made_jpeg((struct made_jpeg){w, h, 1, 0, 0, seed});
    case 2:
        return made_jpeg((struct made_jpeg){w, h, 3, 1, 0, seed});
    case 3:
        return made_jpeg((struct made_jpeg){w, h, 3, 0, 6, seed});
    case 4:
        return made_jpeg((struct made_jpeg){w, h, 4, 0, 0, seed});
    case 5:
        return cut(made_jpeg((struct made_jpeg){w, h, 3, 0, 0, seed}));
    case 6:
        return huge_jpeg();
    case 7:
        return made_png((struct made_png){w, h, 2, 8, 0, MADE_OPAQUE, seed});
    case 8:
        return made_png((struct made_png){w, h, 0, 8, 0, MADE_OPAQUE, seed});
    case 9:
        return made_png((struct made_png){w, h, 3, 8, 0, MADE_OPAQUE, seed});
    case 10:
        return made_png((struct made_png){w, h, 2, 8, 1, MADE_OPAQUE, seed});
    case 11:
        return made_png((struct made_png){w, h, 6, 8, 0, MADE_OPAQUE, seed});
    case 12:
        return made_png((struct made_png){w, h, 6, 8, 0, MADE_HOLE, seed});
    case 13:
        return made_png((struct made_png){w, h, 2, 16, 0, MADE_OPAQUE, seed});
    case 14:
        return cut(made_png((struct made_png){w, h, 2, 8, 0, MADE_OPAQUE, seed}));
    case 15:
        return made_pnm(5, w, h, seed);
    case 16:
        return made_pnm(6, w, h, seed);
    case 17:
        return made_pnm(2, w, h, seed);
    case 18:
        return made_pnm(3, w, h, seed);
    default:
        return cut(made_pnm(6, w, h, seed));
    }
}

static const char *extension_of(size_t k)
{
    return strncmp(kind[k], "jpeg", 4) == 0 ? "jpg" : strncmp(kind[k], "png", 3) == 0 ? "png" : k % 2 ? "pgm" : "ppm";
}

/* Frees the picture. Returns the exit code. */
static int save(const char *path, struct made made)
{
    if (!made.bytes)
        return LACKING;
    FILE *f = fopen(path, "wb");
    int failed = !f || fwrite(made.bytes, 1, made.n, f) != made.n;
    failed |= f && fclose(f) != 0;
    free(made.bytes);
    if (failed)
        perror(path);
    return failed;
}

static int make_tree(const char *dir, unsigned n)
{
    static const size_t good[] = {0, 7, 1, 15, 2, 16, 10, 8, 9, 18};
    char path[1000];
    mkdir(dir, 0777);
    for (int c = 0; c < LM_CLASSES; c++) {
        snprintf(path, sizeof path, "%s/%c", dir, LM_LETTERS[c]);
        mkdir(path, 0777);
        for (unsigned i = 1; i <= n; i++) {
            unsigned seed = (unsigned)c * 1000 + i;
            uint32_t w = 30 + seed % 11, h = 34 + seed % 7;
            size_t k = good[(i - 1) % 10];
            struct made made = make(k, w, h, seed);
            if (!made.bytes)
                made = make(k = 16, w, h, seed);
            snprintf(path, sizeof path, "%s/%c/%c%u.%s", dir, LM_LETTERS[c], LM_LETTERS[c], i, extension_of(k));
            if (save(path, made))
                return 1;
            snprintf(path, sizeof path, "%s/%c/%c%u.xml", dir, LM_LETTERS[c], LM_LETTERS[c], i);
            if (BOXES && i % 2 && save(path, made_voc(w, h, 3 + i % 5, 2, 3 + i % 5 + 20, h)))
                return 1;
        }
    }
    return 0;
}

static int make_corpus(const char *dir)
{
    char path[1000];
    mkdir(dir, 0777);
    for (size_t k = 0; k < KINDS; k++) {
        snprintf(path, sizeof path, "%s/%s", dir, kind[k]);
        if (save(path, make(k, 11, 9, 0)) == 1)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "tree") == 0)
        return make_tree(argv[2], (unsigned)atoi(argv[3]));
    if (argc == 3 && strcmp(argv[1], "corpus") == 0)
        return make_corpus(argv[2]);
    if (argc == 9 && strcmp(argv[1], "voc") == 0)
        return save(argv[2], made_voc((uint32_t)atoi(argv[3]), (uint32_t)atoi(argv[4]), (uint32_t)atoi(argv[5]),
                                      (uint32_t)atoi(argv[6]), (uint32_t)atoi(argv[7]), (uint32_t)atoi(argv[8])));
    for (size_t k = 0; k < KINDS && argc == 3; k++)
        if (strcmp(argv[1], kind[k]) == 0)
            return save(argv[2], make(k, 40, 50, 0));
    fprintf(stderr, "usage: make_pictures tree DIR N | corpus DIR | KIND FILE | voc FILE W H XMIN YMIN XMAX YMAX\n");
    return 2;
}
