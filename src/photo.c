/* photo.c: see photo.h. */
#include "photo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "picture.h"
#include "voc.h"

static int check_voc(const char *path, const struct lm_voc *voc, const struct lm_picture *picture, struct lm_error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (picture->orientation != 1)
        return lm_fail(
            err, LM_BAD_INPUT,
            "EXIF turns this picture (orientation %d), and nobody says which way up the box of %s was drawn: "
            "save it upright, or use --whole",
            picture->orientation, name);
    if ((voc->width && voc->width != picture->width) || (voc->height && voc->height != picture->height))
        return lm_fail(err, LM_BAD_INPUT, "it has %u x %u pixels, and %s speaks of one of %u x %u", picture->width,
                       picture->height, name, voc->width, voc->height);
    return LM_OK;
}

static void write_note(const struct lm_picture *picture, char *note, size_t size)
{
    const char *gap = "";
    size_t used = 0;
    *note = '\0';
    if (picture->orientation != 1) {
        used = (size_t)snprintf(note, size, "turned upright as EXIF says (orientation %d)", picture->orientation);
        gap = "; ";
    }
    if (picture->opaque_alpha)
        snprintf(note + used, size - used, "%salpha channel dropped: it is opaque throughout", gap);
}

int lm_photo_load(const char *path, const char *voc_path, struct lm_photo *out, struct lm_error *err)
{
    struct lm_picture picture;
    struct lm_voc voc;
    *out = (struct lm_photo){.boxed = voc_path != NULL};
    int code = voc_path ? lm_voc_load(voc_path, &voc, err) : LM_OK;
    if (code != LM_OK || (code = lm_picture_load(path, &picture, err)) != LM_OK)
        return code;
    struct lm_box box = {0, 0, picture.width, picture.height};
    if (voc_path) {
        box = voc.box;
        code = check_voc(voc_path, &voc, &picture, err);
    }
    if (code == LM_OK)
        code = lm_shrink(&picture, &box, out->pixel, err);
    write_note(&picture, out->note, sizeof out->note);
    lm_picture_free(&picture);
    return code == LM_OK ? LM_OK : lm_fail_within(err, "%s: ", path);
}

const char *lm_voc_extension(int k)
{
    static const char *const extension[LM_VOC_EXTENSIONS] = {".xml", ".XML", ".Xml", ".xMl",
                                                             ".xmL", ".XMl", ".XmL", ".xML"};
    return extension[k];
}

int lm_photo_find_voc(const char *picture, char **voc, struct lm_error *err)
{
    const char *name = strrchr(picture, '/'), *dot = strrchr(picture, '.');
    int stem = dot && dot > (name ? name + 1 : picture) ? (int)(dot - picture) : (int)strlen(picture);
    struct stat about;
    for (int k = 0; k < LM_VOC_EXTENSIONS; k++) {
        if (asprintf(voc, "%.*s%s", stem, picture, lm_voc_extension(k)) < 0) {
            *voc = NULL;
            return lm_fail_memory(err, (unsigned long long)stem + 5, "a path");
        }
        if (lstat(*voc, &about) == 0 || (errno != ENOENT && errno != ENOTDIR))
            return LM_OK;
        free(*voc);
    }
    *voc = NULL;
    return LM_OK;
}
