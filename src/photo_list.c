/* photo_list.c: see photo_list.h.
 *
 * All entries of a letter's folder are sorted by their names, so that finding X.xml for X.jpg is a search, and nothing
 * depends on the order in which the file system gives them.
 */
#include "photo_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "photo.h"

/* ---- names ---- */

/* The last run of digits before the extension, without leading zeros; length 0: there is none (a 0 is one digit). */
static const char *number_in(const char *name, size_t *length)
{
    const char *dot = strrchr(name, '.');
    const char *end = dot && dot != name ? dot : name + strlen(name);
    while (end > name && (end[-1] < '0' || end[-1] > '9'))
        end--;
    const char *begin = end;
    while (begin > name && begin[-1] >= '0' && begin[-1] <= '9')
        begin--;
    while (begin < end - 1 && *begin == '0')
        begin++;
    *length = (size_t)(end - begin);
    return begin;
}

int lm_photo_order(const char *a, const char *b)
{
    size_t n, m;
    const char *x = number_in(a, &n), *y = number_in(b, &m);
    int order = 0;
    if (n != m)
        return n == 0 ? 1 : m == 0 ? -1 : n < m ? -1 : 1;
    if (n)
        order = memcmp(x, y, n);
    return order ? order : strcmp(a, b);
}

static int by_order(const void *a, const void *b)
{
    return lm_photo_order(*(char *const *)a, *(char *const *)b);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum kind { PICTURE, VOC, OTHER };

static enum kind kind_of(const char *name)
{
    static const char *const pictures[] = {".jpg", ".jpeg", ".png", ".pgm", ".ppm", ".pnm"};
    const char *dot = strrchr(name, '.');
    if (!dot || dot == name)
        return OTHER;
    for (size_t k = 0; k < sizeof pictures / sizeof *pictures; k++)
        if (strcasecmp(dot, pictures[k]) == 0)
            return PICTURE;
    return strcasecmp(dot, ".xml") == 0 ? VOC : OTHER;
}

/* ---- a folder's entries ---- */

struct entries {
    char **name; /* owned, each, too */
    size_t n, room;
};

static void free_entries(struct entries *e)
{
    for (size_t k = 0; k < e->n; k++)
        free(e->name[k]);
    free(e->name);
    *e = (struct entries){0};
}

static int add_entry(struct entries *e, const char *name, struct lm_error *err)
{
    if (e->n == e->room) {
        size_t room = e->room ? 2 * e->room : 64;
        char **larger = realloc(e->name, room * sizeof *larger);
        if (!larger)
            return lm_fail_memory(err, room * sizeof *larger, "a folder's names");
        e->name = larger;
        e->room = room;
    }
    e->name[e->n] = strdup(name);
    if (!e->name[e->n])
        return lm_fail_memory(err, strlen(name) + 1, "a folder's names");
    e->n++;
    return LM_OK;
}

/* Sorted by their bytes; hidden ones are left out. */
static int read_folder(const char *dir, struct entries *out, struct lm_error *err)
{
    DIR *folder = opendir(dir);
    struct dirent *entry;
    int code = LM_OK;
    *out = (struct entries){0};
    if (!folder)
        return lm_fail(err, LM_BAD_INPUT, "%s: %s", dir, errno == ENOTDIR ? "this is no folder" : strerror(errno));
    while (code == LM_OK && (errno = 0, entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            code = add_entry(out, entry->d_name, err);
    if (code == LM_OK && errno)
        code = lm_fail(err, LM_FAILED, "%s: cannot read the folder: %s", dir, strerror(errno));
    closedir(folder);
    if (code == LM_OK && out->n)
        qsort(out->name, out->n, sizeof *out->name, by_bytes);
    if (code != LM_OK)
        free_entries(out);
    return code;
}

/* ---- the list ---- */

struct building {
    struct lm_photo_list *list;
    uint64_t photo_room, stray_room, names_room;
    struct lm_error *err;
};

/* Room for one more of `size` bytes; doubled where there is none. */
static int grow(void *array, uint64_t used, uint64_t more, uint64_t *room, size_t size, struct lm_error *err)
{
    void *old, *larger;
    if (used + more <= *room)
        return LM_OK;
    uint64_t wanted = 2 * (used + more) + 64;
    memcpy(&old, array, sizeof old);
    if (!(larger = realloc(old, wanted * size)))
        return lm_fail_memory(err, wanted * size, "the list of pictures");
    memcpy(array, &larger, sizeof larger);
    *room = wanted;
    return LM_OK;
}

/* "folder/name", or with a reason "folder/name: reason", as a text of the list. */
static int add_name(struct building *b, const char *folder, const char *name, const char *reason, uint64_t *at)
{
    struct lm_photo_list *list = b->list;
    size_t bytes = strlen(folder) + strlen(name) + (reason ? strlen(reason) + 2 : 0) + 2;
    int code = grow(&list->names, list->names_bytes, bytes, &b->names_room, 1, b->err);
    if (code != LM_OK)
        return code;
    *at = list->names_bytes;
    int used = snprintf(list->names + *at, bytes, "%s%s%s%s%s", folder, *folder && *name ? "/" : "", name,
                        reason ? ": " : "", reason ? reason : "");
    list->names_bytes += (uint64_t)used + 1;
    return LM_OK;
}

static int add_stray(struct building *b, const char *folder, const char *name, const char *reason)
{
    struct lm_photo_list *list = b->list;
    int code = grow(&list->stray, list->n_strays, 1, &b->stray_room, sizeof *list->stray, b->err);
    if (code == LM_OK && (code = add_name(b, folder, name, reason, &list->stray[list->n_strays])) == LM_OK)
        list->n_strays++;
    return code;
}

static char *find(const struct entries *e, char *name)
{
    char **found = e->n ? bsearch(&name, e->name, e->n, sizeof *e->name, by_bytes) : NULL;
    return found ? *found : NULL;
}

/* name with another extension, if there is such an entry; NULL otherwise, or with *code where memory is out. */
static char *beside(const struct entries *e, const char *name, const char *extension, int *code, struct lm_error *err)
{
    char *wanted;
    if (asprintf(&wanted, "%.*s%s", (int)(strrchr(name, '.') - name), name, extension) < 0) {
        *code = lm_fail_memory(err, strlen(name), "a name");
        return NULL;
    }
    char *found = find(e, wanted);
    free(wanted);
    return found;
}

static int add_photo(struct building *b, const struct entries *e, const char *folder, const char *name, int label)
{
    struct lm_photo_list *list = b->list;
    int code = grow(&list->photo, list->n, 1, &b->photo_room, sizeof *list->photo, b->err);
    if (code != LM_OK)
        return code;
    struct lm_photo_entry *photo = &list->photo[list->n];
    *photo = (struct lm_photo_entry){.voc = LM_NO_NAME, .label = (uint64_t)label};
    const char *voc = NULL;
    for (int k = 0; k < LM_VOC_EXTENSIONS && code == LM_OK; k++) {
        const char *found = beside(e, name, lm_voc_extension(k), &code, b->err);
        if (found && voc)
            code = add_stray(b, folder, found, "another XML file of this picture was taken");
        voc = voc ? voc : found;
    }
    if (code == LM_OK)
        code = add_name(b, folder, name, NULL, &photo->picture);
    if (code == LM_OK && voc)
        code = add_name(b, folder, voc, NULL, &photo->voc);
    list->n += code == LM_OK;
    return code;
}

/* Names that begin with "X." stand side by side. */
static int has_picture(const struct entries *e, const char *voc)
{
    size_t stem = (size_t)(strrchr(voc, '.') - voc) + 1, low = 0, high = e->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strncmp(e->name[middle], voc, stem) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < e->n && strncmp(e->name[low], voc, stem) == 0; low++)
        if (!strchr(e->name[low] + stem, '.') && kind_of(e->name[low]) == PICTURE)
            return 1;
    return 0;
}

/* The pictures of one letter, in their order; then what is none. */
static int list_letter(struct building *b, const char *dir, const char *folder, int label)
{
    struct entries e, pictures = {0};
    char *path;
    if (asprintf(&path, "%s/%s", dir, folder) < 0)
        return lm_fail_memory(b->err, strlen(dir) + 8, "a path");
    int code = read_folder(path, &e, b->err);
    free(path);
    if (code != LM_OK)
        return code;
    for (size_t k = 0; k < e.n && code == LM_OK; k++)
        if (kind_of(e.name[k]) == PICTURE)
            code = add_entry(&pictures, e.name[k], b->err);
    if (pictures.n)
        qsort(pictures.name, pictures.n, sizeof *pictures.name, by_order);
    for (size_t k = 0; k < pictures.n && code == LM_OK; k++)
        code = add_photo(b, &e, folder, pictures.name[k], label);
    for (size_t k = 0; k < e.n && code == LM_OK; k++) {
        enum kind kind = kind_of(e.name[k]);
        if (kind == OTHER)
            code = add_stray(b, folder, e.name[k], "no .jpg, .jpeg, .png, .pgm, .ppm or .pnm, and no .xml");
        else if (kind == VOC && !has_picture(&e, e.name[k]))
            code = add_stray(b, folder, e.name[k], "no picture of this name lies beside it");
    }
    free_entries(&pictures);
    free_entries(&e);
    return code;
}

/* ---- the folder of letters ---- */

static int is_folder(const char *dir, const char *name)
{
    char *path;
    struct stat about;
    if (asprintf(&path, "%s/%s", dir, name) < 0)
        return 0;
    int is = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    free(path);
    return is;
}

/* The letter that a folder is named by, -1: none. */
static int letter_of(const char *name)
{
    const char *found = name[0] && !name[1] ? strchr(LM_LETTERS, name[0] & ~0x20) : NULL;
    int is_letter = (name[0] >= 'A' && name[0] <= 'Z') || (name[0] >= 'a' && name[0] <= 'z');
    return found && is_letter ? (int)(found - LM_LETTERS) : -1;
}

static int find_folders(const char *dir, const struct entries *e, const char *folder[LM_CLASSES], struct building *b)
{
    for (size_t k = 0; k < e->n; k++) {
        int c = letter_of(e->name[k]);
        int there = is_folder(dir, e->name[k]);
        int code = LM_OK;
        if (c >= 0 && there && folder[c])
            return lm_fail(b->err, LM_BAD_INPUT, "%s: both %s and %s are there; one folder a letter was expected", dir,
                           folder[c], e->name[k]);
        if (c >= 0 && there)
            folder[c] = e->name[k];
        else if (there)
            code = add_stray(b, "", e->name[k], "a folder that is named by none of the letters " LM_LETTERS);
        else if (kind_of(e->name[k]) != OTHER)
            code = add_stray(b, "", e->name[k], "not in a letter's folder");
        if (code != LM_OK)
            return code;
    }
    return LM_OK;
}

static int no_letters(const char *dir, const struct entries *e, struct lm_error *err)
{
    for (size_t k = 0; k < e->n; k++) {
        char *path;
        if (asprintf(&path, "%s/%s", dir, e->name[k]) < 0)
            break;
        int there = is_folder(path, "A") || is_folder(path, "a");
        if (there)
            lm_fail(err, LM_BAD_INPUT, "%s: no folder here is named by a letter; %s has such folders", dir, path);
        free(path);
        if (there)
            return LM_BAD_INPUT;
    }
    return lm_fail(err, LM_BAD_INPUT,
                   "%s: no folder here is named by a letter (%s); the pictures of A are expected in %s/A", dir,
                   LM_LETTERS, dir);
}

int lm_photo_list_make(const char *dir, struct lm_photo_list *out, struct lm_error *err)
{
    const char *folder[LM_CLASSES] = {NULL};
    struct building b = {.list = out, .err = err};
    struct entries e;
    int folders = 0;
    *out = (struct lm_photo_list){0};
    int code = read_folder(dir, &e, err);
    if (code != LM_OK)
        return code;
    code = find_folders(dir, &e, folder, &b);
    for (int c = 0; c < LM_CLASSES && code == LM_OK; c++)
        if (folder[c]) {
            folders++;
            code = list_letter(&b, dir, folder[c], c);
        }
    if (code == LM_OK && folders == 0)
        code = no_letters(dir, &e, err);
    free_entries(&e);
    if (code != LM_OK)
        lm_photo_list_free(out);
    return code;
}

void lm_photo_list_free(struct lm_photo_list *list)
{
    free(list->photo);
    free(list->names);
    free(list->stray);
    *list = (struct lm_photo_list){0};
}
