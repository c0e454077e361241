/* checkpoint.c: see checkpoint.h.
 *
 * Records wait in a buffer until there is a quarter of a MiB of them, or somebody asks for them on disk. A kill of the
 * process loses the buffer, a crash of the machine what was not flushed: in both cases the file ends with whole records
 * and perhaps a torn one.
 *
 * A state that was replaced by a later one is garbage in the log. Where garbage is most of a large file, the living
 * records are copied into a new one, which takes its name.
 */
#include "checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint_index.h"
#include "checkpoint_record.h"
#include "crc32c.h"

#define MAGIC        "LIBRASCK"
#define VERSION      1
#define HEADER       128
#define BUFFER       ((size_t)256 << 10)
#define MUCH_GARBAGE ((uint64_t)256 << 20)

struct lm_checkpoint {
    char *path; /* owned */
    int fd;
    struct lm_checkpoint_of of;
    struct lm_checkpoint_index index;
    struct lm_checkpoint_facts facts;
    uint64_t written; /* bytes of the file that are in it */
    uint64_t living;  /* bytes of records that count */
    unsigned char *buffer;
    size_t used, room;
    unsigned char *record; /* owned: the one that was read last */
    size_t record_room;
};

static int fail_file(const struct lm_checkpoint *c, const char *what, struct lm_error *err)
{
    return lm_fail(err, LM_FAILED, "'%s': cannot %s: %s", c->path, what, strerror(errno));
}

/* ---- reading ---- */

static int read_at(struct lm_checkpoint *c, uint64_t offset, void *bytes, size_t n, size_t *got, struct lm_error *err)
{
    *got = 0;
    while (*got < n) {
        ssize_t r = pread(c->fd, (char *)bytes + *got, n - *got, (off_t)(offset + *got));
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return fail_file(c, "read", err);
        if (r == 0)
            break;
        *got += (size_t)r;
    }
    return LM_OK;
}

static int record_room(struct lm_checkpoint *c, size_t bytes, struct lm_error *err)
{
    if (bytes <= c->record_room)
        return LM_OK;
    unsigned char *more = realloc(c->record, bytes);
    if (!more)
        return lm_fail_memory(err, bytes, "a record of the checkpoint");
    c->record = more;
    c->record_room = bytes;
    return LM_OK;
}

enum read_result { READ_WHOLE, READ_DAMAGED, READ_END };

/* The record at offset into c->record. READ_END: no whole record begins there; READ_DAMAGED: one with a wrong sum,
 * *bytes long. */
static int read_record(struct lm_checkpoint *c, uint64_t offset, uint32_t *bytes, enum read_result *result,
                       struct lm_error *err)
{
    struct lm_record_head head;
    size_t got;
    *result = READ_END;
    int code = read_at(c, offset, &head, sizeof head, &got, err);
    if (code != LM_OK || got < sizeof head || head.word != LM_RECORD_WORD ||
        head.bytes < sizeof head + sizeof(struct lm_record_body) || head.bytes > LM_MOST_RECORD || head.bytes % 8 != 0)
        return code;
    struct stat about;
    if (fstat(c->fd, &about) != 0)
        return fail_file(c, "ask for its size", err);
    if (offset + head.bytes > (uint64_t)about.st_size)
        return LM_OK;
    if ((code = record_room(c, head.bytes, err)) != LM_OK ||
        (code = read_at(c, offset, c->record, head.bytes, &got, err)) != LM_OK || got < head.bytes)
        return code;
    *bytes = head.bytes;
    *result = READ_WHOLE;
    if (lm_crc32c(0, c->record + sizeof head, head.bytes - sizeof head) != head.sum)
        *result = READ_DAMAGED;
    return LM_OK;
}

/* A record that the index speaks of. */
static int get(struct lm_checkpoint *c, uint64_t offset, struct lm_record *record, struct lm_error *err)
{
    enum read_result result;
    uint32_t bytes;
    if (offset >= c->written) { /* still in the buffer */
        const unsigned char *at = c->buffer + (offset - c->written);
        memcpy(&bytes, at + 4, sizeof bytes);
        if (record_room(c, bytes, err) != LM_OK)
            return err->code;
        memcpy(c->record, at, bytes);
        result = READ_WHOLE;
    } else if (read_record(c, offset, &bytes, &result, err) != LM_OK)
        return err->code;
    if (result != READ_WHOLE || !lm_record_parse(c->record, record))
        return lm_fail(err, LM_FAILED, "'%s': byte %llu: the record there has changed under our hands", c->path,
                       (unsigned long long)offset);
    return LM_OK;
}

/* ---- the index ---- */

static int same_training(const struct lm_trial *a, const struct lm_trial *b)
{
    struct lm_trial c = *a;
    c.epochs = b->epochs;
    return lm_trial_equal(&c, b);
}

/* The place of exactly this trial's end, or of its state; NULL: none. A trial can have both: one that has ended may be
 * trained again for its weights, and what is known of it must not be lost to a state on that way. */
static int find_place(struct lm_checkpoint *c, const struct lm_trial *trial, int ended,
                      struct lm_checkpoint_place **out, struct lm_record *record, struct lm_error *err)
{
    uint32_t hash = lm_checkpoint_hash(trial);
    size_t at = 0;
    *out = NULL;
    for (struct lm_checkpoint_place *p; (p = lm_checkpoint_index_next(&c->index, hash, &at)) != NULL;) {
        if (p->epochs != trial->epochs || p->ended != ended)
            continue;
        int code = get(c, p->offset, record, err);
        if (code != LM_OK)
            return code;
        if (lm_trial_equal(&record->trial, trial)) {
            *out = p;
            return LM_OK;
        }
    }
    return LM_OK;
}

static void count(struct lm_checkpoint *c, const struct lm_checkpoint_place *place, int by)
{
    uint64_t *number = place->ended ? &c->facts.ended : &c->facts.states;
    *number += (uint64_t)(int64_t)by;
}

/* The record at offset, bytes long, is the newest of its trial. */
static int enter(struct lm_checkpoint *c, const struct lm_record *record, uint64_t offset, uint32_t bytes,
                 struct lm_error *err)
{
    struct lm_checkpoint_place *old, place = {.offset = offset,
                                              .hash = lm_checkpoint_hash(&record->trial),
                                              .epochs = record->trial.epochs,
                                              .epochs_run = record->outcome.epochs_run,
                                              .ended = record->outcome.status != LM_TRIAL_NOT_RUN,
                                              .has_parameters = record->parameters != NULL};
    struct lm_record before;
    int code = find_place(c, &record->trial, place.ended, &old, &before, err);
    if (code == LM_OK && !old && place.ended) /* the first end takes the place of the state */
        code = find_place(c, &record->trial, 0, &old, &before, err);
    if (code != LM_OK)
        return code;
    c->living += bytes;
    if (!old) {
        count(c, &place, 1);
        return lm_checkpoint_index_add(&c->index, &place, err);
    }
    uint64_t reason = strlen(before.outcome.reason);
    c->living -= lm_record_bytes(reason, before.outcome.epochs_run, lm_record_floats(&before));
    count(c, old, -1);
    count(c, &place, 1);
    *old = place;
    return LM_OK;
}

/* ---- the header ---- */

static void make_header(const struct lm_checkpoint_of *of, unsigned char header[HEADER])
{
    const uint32_t number[4] = {VERSION, of->arithmetic_version, of->split, of->split_seed};
    memset(header, 0, HEADER);
    memcpy(header, MAGIC, 8);
    memcpy(header + 8, number, sizeof number);
    memcpy(header + 24, &of->holdout, sizeof of->holdout);
    memcpy(header + 32, of->data_digest, 64);
    uint32_t sum = lm_crc32c(0, header, HEADER - 4);
    memcpy(header + HEADER - 4, &sum, sizeof sum);
}

static int other_number(const struct lm_checkpoint *c, const char *what, uint32_t theirs, uint32_t ours,
                        struct lm_error *err)
{
    return lm_fail(err, LM_BAD_INPUT,
                   "'%s' is the checkpoint of another sweep: its %s is %lu, this one's %lu; choose another --out, or "
                   "drop it with --force",
                   c->path, what, (unsigned long)theirs, (unsigned long)ours);
}

static int check_header(const struct lm_checkpoint *c, const unsigned char header[HEADER], struct lm_error *err)
{
    uint32_t number[4], sum;
    double holdout;
    memcpy(number, header + 8, sizeof number);
    memcpy(&holdout, header + 24, sizeof holdout);
    memcpy(&sum, header + HEADER - 4, sizeof sum);
    if (memcmp(header, MAGIC, 8) != 0 || sum != lm_crc32c(0, header, HEADER - 4))
        return lm_fail(err, LM_BAD_INPUT, "'%s' is no checkpoint, or one whose first bytes are damaged; remove it",
                       c->path);
    if (number[0] != VERSION)
        return lm_fail(err, LM_BAD_INPUT, "'%s' is of checkpoint version %lu; this program reads %d", c->path,
                       (unsigned long)number[0], VERSION);
    if (memcmp(header + 32, c->of.data_digest, 64) != 0)
        return lm_fail(err, LM_BAD_INPUT,
                       "'%s' was made with other data: SHA-256 %.16s..., and these are %.16s...; choose another --out, "
                       "or drop it with --force",
                       c->path, (const char *)header + 32, c->of.data_digest);
    if (number[1] != c->of.arithmetic_version)
        return other_number(c, "arithmetic version", number[1], c->of.arithmetic_version, err);
    if (number[2] != c->of.split)
        return other_number(c, "kind of split", number[2], c->of.split, err);
    if (number[3] != c->of.split_seed)
        return other_number(c, "split seed", number[3], c->of.split_seed, err);
    if (holdout != c->of.holdout)
        return lm_fail(err, LM_BAD_INPUT,
                       "'%s' is the checkpoint of another sweep: its hold-out is %.9g, this one's %.9g; choose another "
                       "--out, or drop it with --force",
                       c->path, holdout, c->of.holdout);
    return LM_OK;
}

/* ---- writing ---- */

static int write_all(const struct lm_checkpoint *c, int fd, const void *bytes, size_t n, uint64_t offset,
                     struct lm_error *err)
{
    for (size_t done = 0; done < n;) {
        ssize_t r = pwrite(fd, (const char *)bytes + done, n - done, (off_t)(offset + done));
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return fail_file(c, "write", err);
        done += (size_t)r;
    }
    return LM_OK;
}

static int empty_buffer(struct lm_checkpoint *c, struct lm_error *err)
{
    int code = write_all(c, c->fd, c->buffer, c->used, c->written, err);
    if (code != LM_OK)
        return code;
    c->written += c->used;
    c->used = 0;
    return LM_OK;
}

static int buffer_room(struct lm_checkpoint *c, size_t more, struct lm_error *err)
{
    if (c->used > 0 && c->used + more > BUFFER && empty_buffer(c, err) != LM_OK)
        return err->code;
    if (c->used + more <= c->room)
        return LM_OK;
    size_t room = c->used + more > BUFFER ? c->used + more : BUFFER;
    unsigned char *bytes = realloc(c->buffer, room);
    if (!bytes)
        return lm_fail_memory(err, room, "the checkpoint's buffer");
    c->buffer = bytes;
    c->room = room;
    return LM_OK;
}

/* ---- a new file without the garbage ---- */

/* Behind bytes that are no record: the next whole one, or the end of the file. */
static int find_next(struct lm_checkpoint *c, uint64_t from, uint64_t size, uint64_t *next, struct lm_error *err)
{
    unsigned char block[1 << 16];
    size_t got = 0;
    for (uint64_t first = from; first < size; first += got ? got / 8 * 8 : 8) {
        int code = read_at(c, first, block, sizeof block, &got, err);
        if (code != LM_OK)
            return code;
        for (size_t k = 0; k + 8 <= got; k += 8) {
            const uint32_t word = LM_RECORD_WORD;
            enum read_result result;
            uint32_t bytes;
            if (memcmp(block + k, &word, sizeof word) != 0)
                continue;
            if ((code = read_record(c, first + k, &bytes, &result, err)) != LM_OK)
                return code;
            if (result == READ_WHOLE) {
                *next = first + k;
                return LM_OK;
            }
        }
        if (got < 8)
            break;
    }
    *next = size;
    return LM_OK;
}

static int copy_living(struct lm_checkpoint *c, int fd, struct lm_checkpoint_index *index, uint64_t *end,
                       struct lm_error *err)
{
    struct lm_record record;
    for (uint64_t from = HEADER; from < c->written;) {
        enum read_result result;
        uint32_t bytes;
        struct lm_checkpoint_place *place;
        int code = read_record(c, from, &bytes, &result, err);
        if (code == LM_OK && result != READ_WHOLE) {
            if ((code = find_next(c, from + 8, c->written, &from, err)) == LM_OK)
                continue;
        }
        if (code != LM_OK)
            return code;
        if (lm_record_parse(c->record, &record)) {
            struct lm_trial trial = record.trial;
            int ended = record.outcome.status != LM_TRIAL_NOT_RUN;
            if ((code = find_place(c, &trial, ended, &place, &record, err)) != LM_OK)
                return code;
            if (place && place->offset == from) { /* find_place has read it once more */
                struct lm_checkpoint_place moved = *place;
                moved.offset = *end;
                if ((code = write_all(c, fd, c->record, bytes, *end, err)) != LM_OK ||
                    (code = lm_checkpoint_index_add(index, &moved, err)) != LM_OK)
                    return code;
                *end += bytes;
            }
        }
        from += bytes;
    }
    return LM_OK;
}

static int compact_into(struct lm_checkpoint *c, const char *path, struct lm_error *err)
{
    struct lm_checkpoint_index index = {.room = 0};
    unsigned char header[HEADER];
    uint64_t end = HEADER;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail_file(c, "be made anew", err);
    make_header(&c->of, header);
    int code = lm_checkpoint_index_begin(&index, err);
    if (code == LM_OK)
        code = write_all(c, fd, header, HEADER, 0, err);
    if (code == LM_OK)
        code = copy_living(c, fd, &index, &end, err);
    if (code == LM_OK && fsync(fd) != 0)
        code = fail_file(c, "be flushed", err);
    if (code == LM_OK && rename(path, c->path) != 0)
        code = fail_file(c, "be replaced", err);
    if (code != LM_OK) {
        unlink(path);
        close(fd);
        lm_checkpoint_index_end(&index);
        return code;
    }
    close(c->fd);
    lm_checkpoint_index_end(&c->index);
    c->fd = fd;
    c->index = index;
    c->written = end;
    c->living = end - HEADER;
    return LM_OK;
}

static int compact_if_worth_it(struct lm_checkpoint *c, uint64_t much, struct lm_error *err)
{
    char *path = NULL;
    uint64_t garbage = c->written - HEADER > c->living ? c->written - HEADER - c->living : 0;
    if (c->used > 0 || garbage < much || garbage < c->living)
        return LM_OK;
    if (asprintf(&path, "%s.new", c->path) < 0)
        return lm_fail_memory(err, strlen(c->path), "a name");
    int code = compact_into(c, path, err);
    free(path);
    return code;
}

/* ---- opening ---- */

/* The record at `at`, if a whole one is there, into the index. *next: where to go on; at itself: nowhere. */
static int take_record(struct lm_checkpoint *c, uint64_t at, uint64_t size, uint64_t *next, struct lm_error *err)
{
    enum read_result result;
    struct lm_record record;
    uint32_t bytes;
    *next = at;
    c->written = at; /* what the index may speak of */
    int code = read_record(c, at, &bytes, &result, err);
    if (code != LM_OK)
        return code;
    if (result != READ_WHOLE) { /* its own length is not to be believed */
        uint64_t behind;
        if ((code = find_next(c, at + 8, size, &behind, err)) == LM_OK && behind < size) {
            c->facts.damaged++;
            *next = behind;
        }
        return code;
    }
    c->written = *next = at + bytes;
    if (!lm_record_parse(c->record, &record)) {
        c->facts.damaged++;
        return LM_OK;
    }
    /* What enter() compares it with is read into the same place: its arrays are not needed any more. */
    return enter(c, &record, at, bytes, err);
}

static int scan(struct lm_checkpoint *c, uint64_t size, struct lm_error *err)
{
    uint64_t at = HEADER, next;
    for (;; at = next) {
        int code = take_record(c, at, size, &next, err);
        if (code != LM_OK)
            return code;
        if (next == at)
            break;
    }
    c->facts.torn_bytes = size - at;
    if (size > at && ftruncate(c->fd, (off_t)at) != 0)
        return fail_file(c, "cut off its torn end", err);
    return LM_OK;
}

static int begin_file(struct lm_checkpoint *c, struct lm_error *err)
{
    unsigned char header[HEADER];
    make_header(&c->of, header);
    if (ftruncate(c->fd, 0) != 0)
        return fail_file(c, "begin", err);
    c->written = HEADER;
    return write_all(c, c->fd, header, HEADER, 0, err);
}

static int open_file(struct lm_checkpoint *c, struct lm_error *err)
{
    unsigned char header[HEADER];
    struct stat about;
    size_t got;
    c->fd = open(c->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (c->fd < 0 && (errno == EISDIR || errno == ELOOP))
        return lm_fail(err, LM_BAD_INPUT, "'%s' is in the way (it is no plain file): remove it", c->path);
    if (c->fd < 0 && errno == EACCES)
        return lm_fail(err, LM_BAD_INPUT, "'%s': cannot open: %s; choose another --out", c->path, strerror(errno));
    if (c->fd < 0 || fstat(c->fd, &about) != 0)
        return fail_file(c, "open", err);
    if (!S_ISREG(about.st_mode))
        return lm_fail(err, LM_BAD_INPUT, "'%s' is in the way (it is no plain file): remove it", c->path);
    int code = read_at(c, 0, header, HEADER, &got, err);
    if (code == LM_OK && got < HEADER && memcmp(header, MAGIC, got < 8 ? got : 8) == 0)
        return begin_file(c, err); /* new, or its writer died in its first moment */
    if (code == LM_OK && got < HEADER)
        return lm_fail(err, LM_BAD_INPUT, "'%s' is no checkpoint; remove it, or choose another --out", c->path);
    if (code == LM_OK)
        code = check_header(c, header, err);
    if (code == LM_OK)
        code = scan(c, (uint64_t)about.st_size, err);
    return code == LM_OK ? compact_if_worth_it(c, (uint64_t)1 << 20, err) : code;
}

int lm_checkpoint_open(const char *path, const struct lm_checkpoint_of *of, struct lm_checkpoint **out,
                       struct lm_error *err)
{
    struct lm_checkpoint *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c)
        return lm_fail_memory(err, sizeof *c, "a checkpoint");
    c->fd = -1;
    c->of = *of;
    c->path = strdup(path);
    int code = c->path ? lm_checkpoint_index_begin(&c->index, err) : lm_fail_memory(err, strlen(path), "a path");
    if (code == LM_OK)
        code = open_file(c, err);
    if (code != LM_OK)
        lm_checkpoint_close(c);
    else
        *out = c;
    return code;
}

void lm_checkpoint_close(struct lm_checkpoint *c)
{
    if (!c)
        return;
    if (c->fd >= 0)
        close(c->fd);
    lm_checkpoint_index_end(&c->index);
    free(c->path);
    free(c->buffer);
    free(c->record);
    free(c);
}

/* ---- the rest ---- */

struct lm_checkpoint_facts lm_checkpoint_facts(const struct lm_checkpoint *c)
{
    struct lm_checkpoint_facts facts = c->facts;
    facts.bytes = c->written + c->used;
    return facts;
}

int lm_checkpoint_put(struct lm_checkpoint *c, const struct lm_record *record, struct lm_error *err)
{
    size_t bytes =
        lm_record_bytes(strlen(record->outcome.reason), record->outcome.epochs_run, lm_record_floats(record));
    if (bytes > LM_MOST_RECORD)
        return lm_fail(err, LM_FAILED, "'%s': a record of %zu bytes is more than the format holds", c->path, bytes);
    if (buffer_room(c, bytes, err) != LM_OK)
        return err->code;
    lm_record_make(record, bytes, c->buffer + c->used);
    uint64_t offset = c->written + c->used;
    c->used += bytes;
    return enter(c, record, offset, (uint32_t)bytes, err);
}

int lm_checkpoint_flush(struct lm_checkpoint *c, struct lm_error *err)
{
    int code = empty_buffer(c, err);
    if (code == LM_OK && fdatasync(c->fd) != 0)
        return fail_file(c, "flush", err);
    return code == LM_OK ? compact_if_worth_it(c, MUCH_GARBAGE, err) : code;
}

int lm_checkpoint_find(struct lm_checkpoint *c, const struct lm_trial *trial, struct lm_record *record, int *found,
                       struct lm_error *err)
{
    struct lm_checkpoint_place *place;
    int code = find_place(c, trial, 1, &place, record, err);
    *found = code == LM_OK && place;
    return code;
}

int lm_checkpoint_find_start(struct lm_checkpoint *c, const struct lm_trial *trial, struct lm_record *record,
                             int *found, struct lm_error *err)
{
    uint32_t hash = lm_checkpoint_hash(trial), most = 0;
    uint64_t best = 0;
    size_t at = 0;
    *found = 0;
    for (const struct lm_checkpoint_place *p; (p = lm_checkpoint_index_next(&c->index, hash, &at)) != NULL;) {
        if (!p->has_parameters || p->epochs_run <= most || p->epochs_run > trial->epochs)
            continue;
        int code = get(c, p->offset, record, err);
        if (code != LM_OK)
            return code;
        if (same_training(&record->trial, trial)) {
            best = p->offset;
            most = p->epochs_run;
        }
    }
    if (!best)
        return LM_OK;
    *found = 1;
    return get(c, best, record, err);
}
