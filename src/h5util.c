/* h5util.c: see h5util.h.
 *
 * What every function here takes care of, because somebody was bitten:
 *   - On a full disk it is not the write of a small data set that fails, but its close. So closes are checked.
 *   - Attribute creation order is tracked on every object. That is of little use in itself, but it makes HDF5 write
 *     object headers of version 2, which have checksums (and which HDF5 1.8 reads): a flipped bit in them is a message
 *     and not a crash. The superblock stays at version 0.
 *   - No times are stored: two runs with the same answer differ only where they really differ.
 *   - Text is never written as it comes: see lm_utf8_mend.
 */
#include "h5util.h"

#include <hdf5_hl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

#define CHUNK_BYTES ((hsize_t)1 << 20)
#define NAME_BYTES  200

void lm_hdf5_setup(void)
{
    (void)H5dont_atexit(); /* fails only where it was called before */
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* ---- errors ---- */

struct innermost {
    char text[800];
};

static herr_t take_first(unsigned n, const H5E_error2_t *entry, void *into)
{
    struct innermost *found = into;
    if (n == 0 && entry->desc)
        snprintf(found->text, sizeof found->text, "%s", entry->desc);
    return 0;
}

static void innermost_error(struct innermost *found)
{
    found->text[0] = '\0';
    if (H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, found) < 0 || found->text[0] == '\0')
        snprintf(found->text, sizeof found->text, "no reason given by HDF5");
    for (char *c = found->text; *c; c++) {
        if ((unsigned char)*c < ' ')
            *c = ' ';
    }
}

/* HDF5 tells a failed system call with the time, the descriptor, the buffer's address: the reason is what counts. */
static void keep_reason(struct innermost *found)
{
    static const char mark[] = "error message = '";
    char *begin = strstr(found->text, mark);
    char *end = begin ? strchr(begin + sizeof mark - 1, '\'') : NULL;
    if (end) {
        *end = '\0';
        memmove(found->text, begin + sizeof mark - 1, (size_t)(end - begin) - (sizeof mark - 1) + 1);
    }
}

const char *lm_h5_path(hid_t loc, const char *name, char path[LM_H5_PATH])
{
    path[0] = '\0';
    if (loc >= 0 && H5Iget_name(loc, path, LM_H5_PATH) < 0)
        path[0] = '\0';
    size_t n = strlen(path);
    if (name)
        snprintf(path + n, LM_H5_PATH - n, "%s%s", n > 0 && path[n - 1] == '/' ? "" : "/", name);
    return path;
}

int lm_h5_fail(struct lm_error *err, int code, hid_t loc, const char *name, const char *verb)
{
    struct innermost found;
    char path[LM_H5_PATH];
    innermost_error(&found); /* first: the next HDF5 call clears the stack */
    keep_reason(&found);
    if (loc < 0 && name == NULL)
        return lm_fail(err, code, "%s: %s", verb, found.text);
    return lm_fail(err, code, "%s: %s: %s", lm_h5_path(loc, name, path), verb, found.text);
}

int lm_h5_lock_failure(void)
{
    struct innermost found;
    innermost_error(&found);
    const char *number = strstr(found.text, "errno = ");
    if (!strstr(found.text, "lock") || !number)
        return 0;
    return (int)strtol(number + strlen("errno = "), NULL, 10);
}

int lm_h5_close(hid_t id, int status, struct lm_error *err)
{
    if (id < 0)
        return status;
    char path[LM_H5_PATH] = "";
    H5I_type_t type = H5Iget_type(id);
    if (type == H5I_DATASET || type == H5I_GROUP)
        lm_h5_path(id, NULL, path); /* for the message below */
    herr_t closed = -1;
    switch (type) {
    case H5I_FILE:
        closed = H5Fclose(id);
        break;
    case H5I_GROUP:
        closed = H5Gclose(id);
        break;
    case H5I_DATASET:
        closed = H5Dclose(id);
        break;
    case H5I_DATASPACE:
        closed = H5Sclose(id);
        break;
    case H5I_DATATYPE:
        closed = H5Tclose(id);
        break;
    case H5I_ATTR:
        closed = H5Aclose(id);
        break;
    default:
        closed = H5Pclose(id);
        break;
    }
    if (closed >= 0 || status != LM_OK)
        return status;
    lm_h5_fail(err, LM_FAILED, -1, NULL, "cannot complete");
    return path[0] ? lm_fail_within(err, "%s: ", path) : err->code;
}

/* ---- layout ---- */

int lm_chunk(int rank, const hsize_t *dims, size_t element_bytes, hsize_t *chunk)
{
    for (int d = 0; d < rank; d++) {
        if (dims[d] == 0)
            return 0;
    }
    hsize_t room = element_bytes < CHUNK_BYTES ? CHUNK_BYTES / element_bytes : 1;
    for (int d = rank - 1; d >= 0; d--) {
        hsize_t pieces = dims[d] / room + (dims[d] % room != 0);
        chunk[d] = dims[d] / pieces + (dims[d] % pieces != 0);
        room = room / chunk[d] > 0 ? room / chunk[d] : 1;
    }
    return rank > 0;
}

int lm_h5_order_properties(hid_t property_class, hid_t *out, struct lm_error *err)
{
    const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
    *out = H5Pcreate(property_class);
    herr_t failed = *out < 0 ? -1 : H5Pset_attr_creation_order(*out, order);
    if (failed >= 0 && property_class != H5P_DATASET_CREATE)
        failed = H5Pset_link_creation_order(*out, order);
    if (failed >= 0)
        failed = H5Pset_obj_track_times(*out, 0);
    if (failed >= 0)
        return LM_OK;
    int status = lm_h5_fail(err, LM_FAILED, -1, NULL, "cannot set properties");
    status = lm_h5_close(*out, status, err);
    *out = -1;
    return status;
}

int lm_h5_make_group(hid_t loc, const char *name, hid_t *out, struct lm_error *err)
{
    hid_t properties;
    *out = -1;
    int status = lm_h5_order_properties(H5P_GROUP_CREATE, &properties, err);
    if (status != LM_OK)
        return status;
    *out = H5Gcreate2(loc, name, H5P_DEFAULT, properties, H5P_DEFAULT);
    if (*out < 0)
        status = lm_h5_fail(err, LM_FAILED, loc, name, "cannot make the group");
    return lm_h5_close(properties, status, err);
}

int lm_h5_text_type(hid_t *out, struct lm_error *err)
{
    *out = H5Tcopy(H5T_C_S1);
    if (*out >= 0 && H5Tset_size(*out, H5T_VARIABLE) >= 0 && H5Tset_cset(*out, H5T_CSET_UTF8) >= 0)
        return LM_OK;
    int status = lm_h5_fail(err, LM_FAILED, -1, NULL, "cannot make the type of text");
    status = lm_h5_close(*out, status, err);
    *out = -1;
    return status;
}

/* ---- attributes ---- */

static int put_attribute(hid_t object, const char *name, hid_t type, hid_t memory, const void *value,
                         struct lm_error *err)
{
    int status = LM_OK;
    hid_t attribute = -1, space = H5Screate(H5S_SCALAR);
    if (space >= 0)
        attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, memory, value) < 0) {
        status = lm_h5_fail(err, LM_FAILED, object, NULL, "cannot write an attribute");
        lm_fail_within(err, "attribute %s of ", name);
    }
    status = lm_h5_close(attribute, status, err);
    return lm_h5_close(space, status, err);
}

int lm_h5_put_text_attribute(hid_t object, const char *name, const char *value, struct lm_error *err)
{
    char *text = strdup(value);
    if (!text)
        return lm_fail_memory(err, strlen(value) + 1, name);
    lm_utf8_mend(text);
    hid_t type;
    int status = lm_h5_text_type(&type, err);
    if (status == LM_OK)
        status = put_attribute(object, name, type, type, &text, err);
    free(text);
    return lm_h5_close(type, status, err);
}

int lm_h5_put_number_attribute(hid_t object, const char *name, uint32_t value, struct lm_error *err)
{
    return put_attribute(object, name, H5T_STD_U32LE, H5T_NATIVE_UINT32, &value, err);
}

/* ---- arrays ---- */

static int array_properties(const struct lm_h5_array *array, hid_t *out, struct lm_error *err)
{
    int status = lm_h5_order_properties(H5P_DATASET_CREATE, out, err);
    hsize_t chunk[LM_H5_MAX_RANK];
    if (status != LM_OK || !array->fill || !lm_chunk(array->rank, array->dims, H5Tget_size(array->type), chunk))
        return status;
    /* Room at once and no filling: each element is written once, by us, and the disk is not written twice. */
    if (H5Pset_chunk(*out, array->rank, chunk) >= 0 && H5Pset_fill_value(*out, array->type, array->fill) >= 0 &&
        H5Pset_alloc_time(*out, H5D_ALLOC_TIME_EARLY) >= 0 && H5Pset_fill_time(*out, H5D_FILL_TIME_NEVER) >= 0)
        return LM_OK;
    status = lm_h5_fail(err, LM_FAILED, -1, array->name, "cannot set its layout");
    status = lm_h5_close(*out, status, err);
    *out = -1;
    return status;
}

/* A chunk that is not in HDF5's cache would be read before a part of it is written, so rows in any order would move a
 * megabyte each. Without a cache the part alone is written. */
static hid_t access_properties(const struct lm_h5_array *array)
{
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    if (access >= 0 && array->fill && H5Pset_chunk_cache(access, 0, 0, 1.0) < 0) {
        H5Pclose(access);
        return -1;
    }
    return access;
}

static int attach_axes(hid_t group, const struct lm_h5_array *array, hid_t data_set, struct lm_error *err)
{
    int status = LM_OK;
    for (int d = 0; d < array->rank && status == LM_OK; d++) {
        if (strcmp(array->axis[d], array->name) == 0) {
            if (H5DSset_scale(data_set, array->name) < 0)
                status = lm_h5_fail(err, LM_FAILED, group, array->name, "cannot make it a scale");
            continue;
        }
        hid_t scale = H5Dopen2(group, array->axis[d], H5P_DEFAULT);
        if (scale < 0 || H5DSattach_scale(data_set, scale, (unsigned)d) < 0)
            status = lm_h5_fail(err, LM_FAILED, group, array->name, "cannot attach a scale");
        status = lm_h5_close(scale, status, err);
    }
    return status;
}

static int describe(const struct lm_h5_array *array, hid_t data_set, struct lm_error *err)
{
    int status = LM_OK;
    if (array->long_name)
        status = lm_h5_put_text_attribute(data_set, "long_name", array->long_name, err);
    if (status == LM_OK && array->units)
        status = lm_h5_put_text_attribute(data_set, "units", array->units, err);
    return status;
}

int lm_h5_make_array(hid_t group, const struct lm_h5_array *array, hid_t *out, struct lm_error *err)
{
    hid_t properties;
    *out = -1;
    int status = array_properties(array, &properties, err);
    if (status != LM_OK)
        return status;
    hid_t access = access_properties(array);
    hid_t space = array->rank > 0 ? H5Screate_simple(array->rank, array->dims, NULL) : H5Screate(H5S_SCALAR);
    if (access >= 0 && space >= 0)
        *out = H5Dcreate2(group, array->name, array->type, space, H5P_DEFAULT, properties, access);
    if (*out < 0)
        status = lm_h5_fail(err, LM_FAILED, group, array->name, "cannot make the data set");
    status = lm_h5_close(space, status, err);
    status = lm_h5_close(access, status, err);
    status = lm_h5_close(properties, status, err);
    if (status == LM_OK)
        status = attach_axes(group, array, *out, err);
    if (status == LM_OK)
        status = describe(array, *out, err);
    if (status != LM_OK) {
        status = lm_h5_close(*out, status, err);
        *out = -1;
    }
    return status;
}

int lm_h5_put_scale(hid_t group, const char *name, const char *long_name, int64_t first, uint64_t n,
                    struct lm_error *err)
{
    int64_t *value = malloc((n ? n : 1) * sizeof *value);
    if (!value)
        return lm_fail_memory(err, n * sizeof *value, name);
    for (uint64_t i = 0; i < n; i++)
        value[i] = first + (int64_t)i;
    const struct lm_h5_array array = {
        .name = name, .long_name = long_name, .type = H5T_STD_I64LE, .rank = 1, .dims = {n}, .axis = {name}};
    hid_t data_set;
    int status = lm_h5_make_array(group, &array, &data_set, err);
    if (status == LM_OK && H5Dwrite(data_set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) < 0)
        status = lm_h5_fail(err, LM_FAILED, group, name, "cannot write");
    free(value);
    return lm_h5_close(data_set, status, err);
}
