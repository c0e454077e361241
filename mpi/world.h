/* world.h: this process among the others: ranks, hosts, checked MPI calls, messages, and how all end together.
 *
 * Two ways to fail. (1) Where all ranks stand at the same point, lm_agree() makes one rank's failure everybody's: all
 * finalise MPI and end with the same code. (2) Anywhere else lm_abort() prints the reason and ends the whole job at
 * once (MPI_Abort), so that nobody waits for a rank that is gone.
 */
#ifndef LM_WORLD_H
#define LM_WORLD_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define LM_HOST_SIZE 256

struct lm_world {
    MPI_Comm comm; /* all ranks; errors are returned, and checked by LM_MPI */
    int rank, size;
    int node_rank, node_size; /* among the ranks of this host */
    int mask_ranks;           /* ranks of this host that may run on the same cores as this one, itself included */
    char host[LM_HOST_SIZE];
    int launched; /* by mpirun or srun */
    int quiet, verbose;
};

/* MPI_Init and all of the above. Ends the process if MPI cannot start. */
void lm_world_begin(struct lm_world *world, int *argc, char ***argv);
/* LM_BAD_INPUT if a launcher has started several processes and each is a world of its own, so that all would do the
 * same work and write one file. First to be asked before MPI_Init (world NULL: what the environment alone tells, since
 * srun without --mpi makes MPI_Init fail with a page about something else), then again after it. */
int lm_world_check(const struct lm_world *world, struct lm_error *err);
void lm_world_end(struct lm_world *world);

/* Every MPI call: LM_MPI(world, MPI_Barrier(world->comm)). A failure ends the job with the call, MPI's reason and
 * place. */
#define LM_MPI(world, call) lm_mpi_check((world), (call), #call, __FILE__, __LINE__)
void lm_mpi_check(const struct lm_world *world, int result, const char *call, const char *file, int line);

/* To be called by all ranks with their own code: the largest of all codes, on all. The ranks that failed print err. */
int lm_agree(const struct lm_world *world, int code, const struct lm_error *err);
/* The same for a failure that is likely everybody's: only the first rank that failed prints it. */
int lm_agree_once(const struct lm_world *world, int code, const struct lm_error *err);

/* Prints err and ends all ranks with err->code. Does not return. */
void lm_abort(const struct lm_world *world, const struct lm_error *err) __attribute__((noreturn));

/* A line on stderr, written whole by one write: "libras_mpi: text" on rank 0, "libras_mpi[rank@host]: text" elsewhere.
 */
void lm_say(const struct lm_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same on rank 0 alone, and not at all with -q. */
void lm_note(const struct lm_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same on every rank, with -v alone. */
void lm_detail(const struct lm_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Any number of bytes from rank 0 to all. */
void lm_broadcast(const struct lm_world *world, void *bytes, uint64_t n);
/* Any number of bytes from one rank to another. */
void lm_send_bytes(const struct lm_world *world, const void *bytes, uint64_t n, int to, int tag);
void lm_receive_bytes(const struct lm_world *world, void *bytes, uint64_t n, int from, int tag);

/* Seconds of a steady clock. */
double lm_now(void);

/* Before MPI_Init: the rank that the launcher (mpirun, srun) says in the environment; 0 without a launcher. */
int lm_launcher_rank(void);
/* Before MPI_Init: 1 if an MPI launcher has started this process, perhaps with others. */
int lm_launched(void);

#endif
