/* h5read.c: see h5read.h; columns and texts are in h5read_column.c. */
#include "h5read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filesystem.h"
#include "h5util.h"

/* The best that HDF5's compressions can do, about: a bound on what a file may claim, for files that were repacked. */
#define MOST_COMPRESSION 1032

/* ---- the file ---- */

static uint64_t little_endian(const unsigned char *bytes, int n)
{
    uint64_t value = 0;
    for (int i = n - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

/* The superblock, before HDF5 sees it: of one with impossible sizes HDF5 1.10 believes each, and asks for gigabytes. It
 * has the version, the bytes of an address and of a length, and, further on in each version, the address that all count
 * from, and the file's end. */
static int check_superblock(int fd, uint64_t bytes, struct lm_error *err)
{
    unsigned char block[64] = {0};
    ssize_t n = pread(fd, block, sizeof block, 0);
    if (n < (ssize_t)sizeof block)
        return lm_fail(err, LM_BAD_INPUT, "damaged: truncated: it ends within its first 64 bytes");
    int version = block[8], old = version < 2;
    const unsigned char *sizes = old ? block + 13 : block + 9, *base = old ? block + 24 + 4 * version : block + 12;
    const unsigned char *end = base + 16;
    if (version > 3)
        return lm_fail(err, LM_BAD_INPUT, "damaged: it is an HDF5 file of an unknown version, %d", version);
    if (sizes[0] != 8 || sizes[1] != 8 || little_endian(base, 8) != 0)
        return lm_fail(err, LM_BAD_INPUT, "it is an HDF5 file, but not laid out as a results file");
    if (little_endian(end, 8) > bytes)
        return lm_fail(err, LM_BAD_INPUT, "damaged: truncated: it has %llu bytes, and says that it has %llu",
                       (unsigned long long)bytes, (unsigned long long)little_endian(end, 8));
    if (old && little_endian(end + 8, 8) != UINT64_MAX)
        return lm_fail(err, LM_BAD_INPUT, "damaged: it names a driver, which a results file has none of");
    return LM_OK;
}

static int open_plain(const char *path, int *fd, uint64_t *bytes, struct lm_error *err)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n'};
    unsigned char begin[sizeof signature];
    struct stat about;
    *bytes = 0;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* not to wait for the other end of a pipe */
    if (*fd < 0)
        return lm_fail(err, LM_BAD_INPUT, "%s", strerror(errno));
    int status = LM_OK;
    if (fstat(*fd, &about) != 0)
        status = lm_fail(err, LM_FAILED, "%s", strerror(errno));
    else if (S_ISDIR(about.st_mode))
        status = lm_fail(err, LM_BAD_INPUT, "it is a folder, not a results file");
    else if (!S_ISREG(about.st_mode))
        status = lm_fail(err, LM_BAD_INPUT, "it is no plain file");
    else if (pread(*fd, begin, sizeof begin, 0) != (ssize_t)sizeof begin || memcmp(begin, signature, sizeof begin) != 0)
        status = lm_fail(err, LM_BAD_INPUT, "it is no HDF5 file");
    *bytes = (uint64_t)about.st_size;
    if (status == LM_OK)
        status = check_superblock(*fd, *bytes, err);
    if (status != LM_OK)
        close(*fd);
    return status;
}

static int fail_open(const char *path, struct lm_error *err)
{
    int number = lm_h5_lock_failure();
    if (lm_filesystem_lacks_locks(number)) {
        char name[32];
        lm_filesystem_name(path, name, sizeof name);
        return lm_fail(err, LM_FAILED,
                       "HDF5 cannot lock it: %s; its file system (%s) has no file locks: set "
                       "HDF5_USE_FILE_LOCKING=FALSE",
                       strerror(number), name);
    }
    if (number == EAGAIN)
        return lm_fail(err, LM_FAILED,
                       "another program is writing it, or its file system's locks do not work: if none is, set "
                       "HDF5_USE_FILE_LOCKING=FALSE");
    return lm_h5_fail(err, LM_BAD_INPUT, -1, NULL, "damaged: HDF5 cannot open it");
}

/* Texts are followed by hand (h5heap.h), which needs addresses of 8 bytes that count from the file's begin. */
static int check_addresses(hid_t file, struct lm_error *err)
{
    hsize_t before = 1;
    size_t address = 0, size = 0;
    int status = LM_OK;
    hid_t properties = H5Fget_create_plist(file);
    if (properties < 0 || H5Pget_userblock(properties, &before) < 0 || H5Pget_sizes(properties, &address, &size) < 0)
        status = lm_h5_fail(err, LM_BAD_INPUT, -1, NULL, "damaged");
    else if (before != 0 || address != 8 || size != 8)
        status = lm_fail(err, LM_BAD_INPUT, "it is an HDF5 file, but not laid out as a results file");
    return lm_h5_close(properties, status, err);
}

int lm_h5_source_open(const char *path, struct lm_h5_source *out, struct lm_error *err)
{
    int fd;
    uint64_t bytes;
    int status = open_plain(path, &fd, &bytes, err);
    if (status != LM_OK)
        return status;
    *out = (struct lm_h5_source){.file = -1, .reference = -1};
    status = lm_h5_heap_begin(fd, bytes, &out->heap, err);
    if (status == LM_OK) {
        out->file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
        status = out->file < 0 ? fail_open(path, err) : check_addresses(out->file, err);
    }
    if (status == LM_OK)
        status = lm_h5_reference_type(&out->reference, err);
    if (status != LM_OK)
        lm_h5_source_close(out);
    return status;
}

void lm_h5_source_close(struct lm_h5_source *source)
{
    struct lm_error ignored; /* nothing was written: a close that fails loses nothing */
    lm_h5_close(source->reference, LM_FAILED, &ignored);
    lm_h5_close(source->file, LM_FAILED, &ignored);
    close(source->heap.fd);
    lm_h5_heap_end(&source->heap);
}

/* ---- groups and data sets ---- */

/* Other kinds of links lead to other files, or in circles. */
static int check_link(hid_t loc, const char *name, const char *what, struct lm_error *err)
{
    H5L_info_t link;
    htri_t there = H5Lexists(loc, name, H5P_DEFAULT);
    if (there == 0) {
        char path[LM_H5_PATH];
        return lm_fail(err, LM_BAD_INPUT, "there is no %s %s", what, lm_h5_path(loc, name, path));
    }
    if (there < 0 || H5Lget_info(loc, name, &link, H5P_DEFAULT) < 0)
        return lm_h5_fail(err, LM_BAD_INPUT, loc, name, "damaged");
    if (link.type != H5L_TYPE_HARD)
        return lm_fail(err, LM_BAD_INPUT, "'%s' is a link to another place", name);
    return LM_OK;
}

int lm_h5_open_group(hid_t loc, const char *name, hid_t *out, struct lm_error *err)
{
    *out = -1;
    int status = check_link(loc, name, "group", err);
    if (status != LM_OK)
        return status;
    *out = H5Gopen2(loc, name, H5P_DEFAULT);
    return *out >= 0 ? LM_OK : lm_h5_fail(err, LM_BAD_INPUT, loc, name, "damaged");
}

static int type_matches(hid_t type, enum lm_kind kind)
{
    if (lm_kind_is_text(kind))
        return H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) > 0;
    return H5Tequal(type, lm_kind_in_file(kind)) > 0;
}

/* Bytes that the elements take in the file, without compression; 0 if they cannot be counted. */
static uint64_t claimed_bytes(int rank, const hsize_t *dims, enum lm_kind kind)
{
    uint64_t bytes = lm_kind_is_text(kind) ? LM_H5_REFERENCE_BYTES : lm_kind_bytes(kind);
    for (int d = 0; d < rank; d++) {
        if (__builtin_mul_overflow(bytes, (uint64_t)dims[d], &bytes))
            return UINT64_MAX;
    }
    return bytes;
}

/* Not beside the file (external, virtual), and not more of it than the file can hold. */
static const char *layout_fault(const struct lm_h5_source *source, hid_t properties, int rank, const hsize_t *dims,
                                enum lm_kind kind)
{
    hsize_t chunk[LM_H5_MAX_RANK] = {0};
    int filters = H5Pget_nfilters(properties);
    H5D_layout_t layout = H5Pget_layout(properties);
    if (filters < 0 || (layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED && layout != H5D_COMPACT))
        return "its layout is not one of a results file";
    if (H5Pget_external_count(properties) != 0)
        return "its values are in another file";
    uint64_t most = source->heap.bytes;
    if (filters > 0 && __builtin_mul_overflow(most, (uint64_t)MOST_COMPRESSION, &most))
        most = UINT64_MAX;
    if (claimed_bytes(rank, dims, kind) > most)
        return "it claims to be larger than the file";
    if (layout == H5D_CHUNKED && claimed_bytes(rank, dims, kind) > 0 &&
        (H5Pget_chunk(properties, rank, chunk) != rank || claimed_bytes(rank, chunk, kind) > most))
        return "its chunks claim to be larger than the file";
    return NULL;
}

static const char *shape_fault(hid_t space, int rank, uint64_t *wanted, hsize_t *dims)
{
    H5S_class_t class = H5Sget_simple_extent_type(space);
    if (class != (rank == 0 ? H5S_SCALAR : H5S_SIMPLE) || H5Sget_simple_extent_ndims(space) != rank)
        return "it has a wrong number of dimensions";
    if (H5Sget_simple_extent_dims(space, dims, NULL) != rank)
        return "it has no shape";
    for (int d = 0; d < rank; d++) {
        if (wanted[d] != LM_H5_ANY && wanted[d] != dims[d])
            return "its length differs from the data sets it belongs to";
        wanted[d] = dims[d];
    }
    return NULL;
}

static int check_array(const struct lm_h5_source *source, hid_t data_set, enum lm_kind kind, int rank, uint64_t *dims,
                       struct lm_error *err)
{
    int status = LM_OK;
    hsize_t found[LM_H5_MAX_RANK] = {0};
    hid_t type = H5Dget_type(data_set), space = H5Dget_space(data_set), properties = H5Dget_create_plist(data_set);
    if (type < 0 || space < 0 || properties < 0) {
        status = lm_h5_fail(err, LM_BAD_INPUT, data_set, NULL, "damaged");
    } else {
        const char *fault = type_matches(type, kind) ? NULL : "it has a wrong type";
        if (!fault)
            fault = shape_fault(space, rank, dims, found);
        if (!fault)
            fault = layout_fault(source, properties, rank, found, kind);
        if (fault) {
            char path[LM_H5_PATH];
            status = lm_fail(err, LM_BAD_INPUT, "%s: %s", lm_h5_path(data_set, NULL, path), fault);
        }
    }
    status = lm_h5_close(properties, status, err);
    status = lm_h5_close(space, status, err);
    return lm_h5_close(type, status, err);
}

int lm_h5_open_array(const struct lm_h5_source *source, hid_t group, const char *name, enum lm_kind kind, int rank,
                     uint64_t *dims, hid_t *out, struct lm_error *err)
{
    *out = -1;
    int status = check_link(group, name, "data set", err);
    if (status != LM_OK)
        return status;
    *out = H5Dopen2(group, name, H5P_DEFAULT);
    if (*out < 0)
        return lm_h5_fail(err, LM_BAD_INPUT, group, name, "damaged");
    status = check_array(source, *out, kind, rank, dims, err);
    if (status != LM_OK) {
        status = lm_h5_close(*out, status, err);
        *out = -1;
    }
    return status;
}

int lm_h5_get_array(const struct lm_h5_source *source, hid_t group, const char *name, enum lm_kind kind, int rank,
                    const uint64_t *dims, void *values, struct lm_error *err)
{
    uint64_t wanted[LM_H5_MAX_RANK];
    for (int d = 0; d < rank; d++)
        wanted[d] = dims[d];
    hid_t data_set;
    int status = lm_h5_open_array(source, group, name, kind, rank, wanted, &data_set, err);
    hid_t memory = lm_kind_is_text(kind) ? source->reference : lm_kind_in_memory(kind);
    if (status == LM_OK && H5Dread(data_set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        status = lm_h5_fail(err, LM_BAD_INPUT, group, name, "cannot read");
    return lm_h5_close(data_set, status, err);
}
