/* h5heap.c: see h5heap.h. */
#include "h5heap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "h5util.h"

#define OBJECTS           65536u /* an index has 16 bits */
#define COLLECTION_HEADER 16     /* "GCOL", version, 3 bytes of nothing, size */
#define OBJECT_HEADER     16     /* index, count of references, 4 bytes of nothing, size */

static uint64_t little_endian(const unsigned char *bytes, int n)
{
    uint64_t value = 0;
    for (int i = n - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

int lm_h5_heap_begin(int fd, uint64_t bytes, struct lm_h5_heap *out, struct lm_error *err)
{
    *out = (struct lm_h5_heap){.fd = fd, .bytes = bytes};
    out->object = calloc(OBJECTS, sizeof *out->object);
    return out->object ? LM_OK : lm_fail_memory(err, OBJECTS * sizeof *out->object, "the index of a heap");
}

void lm_h5_heap_end(struct lm_h5_heap *heap)
{
    free(heap->collection);
    free(heap->object);
    *heap = (struct lm_h5_heap){.fd = -1};
}

/* ---- references out of HDF5 ---- */

/* The "conversion" of a variable-length text to 16 opaque bytes: they stay what they are in the file. */
static herr_t keep_reference(hid_t from, hid_t to, H5T_cdata_t *data, size_t n, size_t stride, size_t back_stride,
                             void *buffer, void *background, hid_t properties)
{
    (void)from, (void)to, (void)n, (void)stride, (void)back_stride, (void)buffer, (void)background, (void)properties;
    if (data->command == H5T_CONV_INIT)
        data->need_bkg = H5T_BKG_NO;
    return 0;
}

int lm_h5_reference_type(hid_t *type, struct lm_error *err)
{
    hid_t text;
    *type = -1;
    int status = lm_h5_text_type(&text, err);
    if (status != LM_OK)
        return status;
    *type = H5Tcreate(H5T_OPAQUE, LM_H5_REFERENCE_BYTES);
    H5T_cdata_t *data;
    /* HDF5's table of conversions is the process's; ours is put in once. */
    if (*type < 0 || (H5Tfind(text, *type, &data) != keep_reference &&
                      H5Tregister(H5T_PERS_SOFT, "lm_reference", text, *type, keep_reference) < 0))
        status = lm_h5_fail(err, LM_FAILED, -1, NULL, "cannot register a conversion of text");
    return lm_h5_close(text, status, err);
}

/* ---- following them ---- */

static int read_exactly(int fd, void *into, size_t n, uint64_t offset)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, (char *)into + done, n - done, (off_t)(offset + done));
        if (got <= 0)
            return 0;
        done += (size_t)got;
    }
    return 1;
}

static int damaged(struct lm_error *err, const char *what)
{
    return lm_fail(err, LM_BAD_INPUT, "damaged text (%s)", what);
}

/* Notes where each object of the collection in memory begins. */
static int index_objects(struct lm_h5_heap *heap, struct lm_error *err)
{
    memset(heap->object, 0, (heap->last + 1) * sizeof *heap->object);
    heap->last = 0;
    size_t at = COLLECTION_HEADER;
    while (heap->size - at >= OBJECT_HEADER) {
        unsigned index = (unsigned)little_endian(heap->collection + at, 2);
        uint64_t bytes = little_endian(heap->collection + at + 8, 8);
        if (index == 0) /* the free space at the end */
            return LM_OK;
        uint64_t room = heap->size - at - OBJECT_HEADER;
        if (bytes > room)
            return damaged(err, "an object of its heap does not fit");
        heap->object[index] = at;
        heap->last = index > heap->last ? index : heap->last;
        uint64_t padded = (bytes + 7) & ~UINT64_C(7);
        at += OBJECT_HEADER + (size_t)(padded < room ? padded : room);
    }
    return LM_OK;
}

static int load_collection(struct lm_h5_heap *heap, uint64_t address, struct lm_error *err)
{
    unsigned char header[COLLECTION_HEADER];
    heap->address = 0;
    if (address == 0 || address > heap->bytes || heap->bytes - address < sizeof header ||
        !read_exactly(heap->fd, header, sizeof header, address))
        return damaged(err, "its heap lies beyond the end of the file");
    if (memcmp(header, "GCOL\1", 5) != 0)
        return damaged(err, "no heap where it should be");
    uint64_t size = little_endian(header + 8, 8);
    if (size < sizeof header || size > heap->bytes - address)
        return damaged(err, "its heap has a wrong size");
    if (size > heap->room) {
        unsigned char *bigger = realloc(heap->collection, size);
        if (!bigger)
            return lm_fail_memory(err, size, "a heap of text");
        heap->collection = bigger;
        heap->room = (size_t)size;
    }
    heap->size = (size_t)size;
    if (!read_exactly(heap->fd, heap->collection, heap->size, address))
        return damaged(err, "its heap cannot be read");
    int status = index_objects(heap, err);
    if (status == LM_OK)
        heap->address = address;
    return status;
}

int lm_h5_heap_find(struct lm_h5_heap *heap, const unsigned char reference[LM_H5_REFERENCE_BYTES], const char **text,
                    size_t *length, struct lm_error *err)
{
    uint64_t wanted = little_endian(reference, 4);
    uint64_t address = little_endian(reference + 4, 8);
    uint64_t index = little_endian(reference + 12, 4);
    *text = "";
    *length = 0;
    if (wanted == 0)
        return LM_OK;
    int status = address == heap->address && address != 0 ? LM_OK : load_collection(heap, address, err);
    if (status != LM_OK)
        return status;
    if (index == 0 || index >= OBJECTS || heap->object[index] == 0)
        return damaged(err, "it is not in its heap");
    const unsigned char *object = heap->collection + heap->object[index];
    if (wanted > little_endian(object + 8, 8))
        return damaged(err, "it is longer than its room");
    *text = (const char *)object + OBJECT_HEADER;
    const char *end = memchr(*text, '\0', (size_t)wanted);
    *length = end ? (size_t)(end - *text) : (size_t)wanted;
    return LM_OK;
}
