/* world.c: see world.h. */
#include "world.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ending.h"
#include "shard.h"

double lm_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- messages ---- */

static void write_whole(const char *line, size_t n)
{
    while (n > 0) {
        ssize_t done = write(STDERR_FILENO, line, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return; /* nobody to tell it to */
        line += done;
        n -= (size_t)done;
    }
}

static void say_line(const struct lm_world *world, const char *format, va_list args)
{
    char line[2048];
    int used = world->rank == 0 ? snprintf(line, sizeof line, "libras_mpi: ")
                                : snprintf(line, sizeof line, "libras_mpi[%d@%s]: ", world->rank, world->host);
    int more = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, args);
    size_t n = strlen(line);
    if (more < 0)
        return;
    for (size_t k = 0; k < n; k++)
        if (line[k] == '\n' || line[k] == '\r')
            line[k] = ' '; /* one line stays one line, whatever a file name holds */
    line[n] = '\n';
    write_whole(line, n + 1);
}

void lm_say(const struct lm_world *world, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_line(world, format, args);
    va_end(args);
}

void lm_note(const struct lm_world *world, const char *format, ...)
{
    if (world->rank != 0 || world->quiet)
        return;
    va_list args;
    va_start(args, format);
    say_line(world, format, args);
    va_end(args);
}

void lm_detail(const struct lm_world *world, const char *format, ...)
{
    if (!world->verbose)
        return;
    va_list args;
    va_start(args, format);
    say_line(world, format, args);
    va_end(args);
}

/* ---- failing ---- */

void lm_abort(const struct lm_world *world, const struct lm_error *err)
{
    lm_ending_remove();
    lm_say(world, "%s", err->text);
    MPI_Abort(world->comm, err->code);
    _exit(err->code); /* MPI_Abort does not return; should it ever, the job still ends */
}

void lm_mpi_check(const struct lm_world *world, int result, const char *call, const char *file, int line)
{
    if (result == MPI_SUCCESS)
        return;
    char reason[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    MPI_Error_string(result, reason, &n);
    struct lm_error err;
    lm_fail(&err, LM_FAILED, "%s at %s:%d: %s", call, file, line, reason);
    lm_abort(world, &err);
}

int lm_agree(const struct lm_world *world, int code, const struct lm_error *err)
{
    int largest = LM_OK;
    if (code != LM_OK && err)
        lm_say(world, "%s", err->text);
    LM_MPI(world, MPI_Allreduce(&code, &largest, 1, MPI_INT, MPI_MAX, world->comm));
    return largest;
}

int lm_agree_once(const struct lm_world *world, int code, const struct lm_error *err)
{
    int failed = code != LM_OK ? world->rank : world->size, first = 0;
    LM_MPI(world, MPI_Allreduce(&failed, &first, 1, MPI_INT, MPI_MIN, world->comm));
    return lm_agree(world, code, world->rank == first ? err : NULL);
}

/* ---- begin and end ---- */

/* How many ranks of the node have this rank's affinity mask: one where the launcher binds each to cores of its own, all
 * where it binds none. */
static void count_mask_ranks(struct lm_world *world, MPI_Comm node)
{
    cpu_set_t own;
    struct lm_error err;
    CPU_ZERO(&own);
    sched_getaffinity(0, sizeof own, &own); /* on failure all masks are empty, and equal */
    cpu_set_t *all = malloc((size_t)world->node_size * sizeof *all);
    if (!all) {
        lm_fail_memory(&err, (uint64_t)world->node_size * sizeof *all, "the ranks' cores");
        lm_abort(world, &err);
    }
    LM_MPI(world, MPI_Allgather(&own, (int)sizeof own, MPI_BYTE, all, (int)sizeof own, MPI_BYTE, node));
    for (int r = 0; r < world->node_size; r++)
        world->mask_ranks += CPU_EQUAL(&own, &all[r]) != 0;
    free(all);
}

void lm_world_begin(struct lm_world *world, int *argc, char ***argv)
{
    *world = (struct lm_world){.comm = MPI_COMM_WORLD, .launched = lm_launched()};
    if (MPI_Init(argc, argv) != MPI_SUCCESS) {
        lm_say(world, "MPI_Init failed");
        exit(LM_FAILED);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int n = 0;
    char host[MPI_MAX_PROCESSOR_NAME + 1] = "";
    LM_MPI(world, MPI_Comm_rank(world->comm, &world->rank));
    LM_MPI(world, MPI_Comm_size(world->comm, &world->size));
    LM_MPI(world, MPI_Get_processor_name(host, &n));
    snprintf(world->host, sizeof world->host, "%s", host);
    MPI_Comm node;
    LM_MPI(world, MPI_Comm_split_type(world->comm, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL, &node));
    LM_MPI(world, MPI_Comm_rank(node, &world->node_rank));
    LM_MPI(world, MPI_Comm_size(node, &world->node_size));
    count_mask_ranks(world, node);
    LM_MPI(world, MPI_Comm_free(&node));
}

void lm_world_end(struct lm_world *world)
{
    LM_MPI(world, MPI_Finalize());
}

int lm_launcher_rank(void)
{
    static const char *const name[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t k = 0; k < sizeof name / sizeof *name; k++) {
        const char *text = getenv(name[k]);
        if (text && *text)
            return atoi(text);
    }
    return 0;
}

int lm_launched(void)
{
    return getenv("OMPI_COMM_WORLD_RANK") || getenv("PMIX_RANK") || getenv("PMI_RANK");
}

static int count_in(const char *variable)
{
    const char *text = getenv(variable);
    return text ? atoi(text) : 0;
}

int lm_world_check(const struct lm_world *world, struct lm_error *err)
{
    int srun = count_in("SLURM_STEP_NUM_TASKS"), others = count_in("OMPI_COMM_WORLD_SIZE");
    if (!world && !lm_launched() && srun > 1)
        return lm_fail(err, LM_BAD_INPUT,
                       "srun has started %d processes without telling them of each other: say srun --mpi=pmix (srun "
                       "--mpi=list names what there is), or use mpirun",
                       srun);
    /* mpirun in a job starts its helpers by srun: what it says itself counts first. */
    int told = others ? others : count_in("PMI_SIZE") ? count_in("PMI_SIZE") : srun;
    if (world && world->size == 1 && told > 1)
        return lm_fail(err, LM_BAD_INPUT,
                       "the launcher has started %d processes, and each is alone in its world: it belongs to another "
                       "MPI than this program's (libras_mpi info names that one); with srun, say --mpi=pmix",
                       told);
    return LM_OK;
}

/* ---- any number of bytes ---- */

void lm_broadcast(const struct lm_world *world, void *bytes, uint64_t n)
{
    for (uint64_t k = 0; k < lm_pieces(n); k++) {
        struct lm_range piece = lm_piece(n, k);
        LM_MPI(world, MPI_Bcast((char *)bytes + piece.first, (int)piece.count, MPI_BYTE, 0, world->comm));
    }
}

void lm_send_bytes(const struct lm_world *world, const void *bytes, uint64_t n, int to, int tag)
{
    for (uint64_t k = 0; k < lm_pieces(n); k++) {
        struct lm_range piece = lm_piece(n, k);
        LM_MPI(world, MPI_Send((const char *)bytes + piece.first, (int)piece.count, MPI_BYTE, to, tag, world->comm));
    }
}

void lm_receive_bytes(const struct lm_world *world, void *bytes, uint64_t n, int from, int tag)
{
    for (uint64_t k = 0; k < lm_pieces(n); k++) {
        struct lm_range piece = lm_piece(n, k);
        LM_MPI(world, MPI_Recv((char *)bytes + piece.first, (int)piece.count, MPI_BYTE, from, tag, world->comm,
                               MPI_STATUS_IGNORE));
    }
}
