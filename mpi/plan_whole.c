/* plan_whole.c: the whole of a job from a prediction of its training (plan.h): what is done before, beside and after it
 * by mpi/run.c, sweep.c and job.c.
 *
 * Left out, being microseconds: the test samples' scores by the first or best network, shared by all ranks, and the
 * test scores of a sweep's leaders. Results come in while others still train, which is not counted either: the gather
 * is what it is where all end at once. Start-up is taken to be the same for any number of ranks.
 */
#include <math.h>
#include <string.h>

#include "plan.h"

#define MOST_GPUS    64.0
#define GPUS_A_NODE  8.0
#define GOOD_SHARE   0.7 /* of the ideal speed-up: so many GPUs are worth asking for */
#define ROW_BYTES    200.0
#define SCORE_BYTES  72.0                    /* of a test sample in the file */
#define SAMPLE_BYTES (4.0 * LM_PIXELS + 1.0) /* normalised, with its letter, to every rank */
#define SPARE        300.0                   /* s that a job asks for beside twice its time */

/* The check by running error analysis in double (src/float64.c) over a score by the reference; measured: 5. */
#define FLOAT64_SCORES 5.0

const char *const lm_plan_part_name[LM_PLAN_PARTS] = {"start", "data", "train", "score", "gather", "validate", "file"};

/* ---- parts ---- */

double lm_plan_file_bytes(const struct lm_plan *plan)
{
    double weights = plan->work.kinds ? plan->kept * 4.0 * (double)lm_network_floats(plan->work.kind[0].shape) : 0.0;
    return (double)plan->trials * ROW_BYTES + plan->work.epochs * 8.0 + weights + plan->samples.test * SCORE_BYTES;
}

double lm_plan_scored(const struct lm_plan *plan)
{
    return plan->sweep ? plan->samples.validation : plan->samples.validation + plan->samples.test;
}

/* A tree: in each turn twice as many ranks have the samples. */
static double share_data(const struct lm_plan *plan, double ranks)
{
    const struct lm_copy_cost way = plan->machine.job.gather;
    double bytes = (plan->samples.train + plan->samples.validation + plan->samples.test) * SAMPLE_BYTES;
    return ranks > 1.0 && way.rate > 0.0 ? ceil(log2(ranks)) * lm_time_copies(way, 1.0, bytes) : 0.0;
}

/* Steps and scores of the reference, of a trial that is the mean of all. */
static double reference_training(const struct lm_plan *plan)
{
    double flops = 0.0;
    for (size_t k = 0; k < plan->work.kinds; k++)
        flops += plan->work.kind[k].replicas * plan->work.kind[k].epochs * plan->samples.train *
                 lm_cost_step(plan->work.kind[k].shape).flops;
    return plan->trials ? lm_time_sequential(flops / (double)plan->trials, plan->machine.cpu.train[LM_CPU_REF]) : 0.0;
}

static double reference_scores(const struct lm_plan *plan, double samples)
{
    double flops = plan->work.kinds ? lm_cost_infer(plan->work.kind[0].shape).flops : 0.0;
    return lm_time_sequential(samples * flops, plan->machine.cpu.infer[LM_CPU_REF]);
}

/* Rounds of a replica a rank; then rank 0 scores each as it was scored, and the test samples once more for their own
 * check, in float and in double. `run` on a GPU has begun with the first replica while the GPU trained, on rank 0. */
static double validate(const struct lm_plan *plan, double ranks, double early)
{
    double replicas = fmin((double)plan->call->options->validate_replicas, (double)plan->trials);
    double one = reference_training(plan), again = ceil(replicas / ranks) * one;
    if (!plan->sweep && replicas > 0.0 && fmin(replicas, ranks) == 1.0)
        again -= fmin(one, early);
    return again + reference_scores(plan, replicas * (plan->samples.validation + plan->samples.test)) +
           reference_scores(plan, (1.0 + FLOAT64_SCORES) * plan->samples.test);
}

/* The bytes, and what HDF5 takes for a file and for each trial in it. A sweep has written all of it before, into its
 * checkpoint. */
static double files(const struct lm_plan *plan)
{
    const struct lm_machine *m = &plan->machine;
    double bytes = lm_time_file(m, lm_plan_file_bytes(plan));
    return (plan->sweep ? 2.0 : 1.0) * bytes + m->job.results + (double)plan->trials * m->job.row;
}

/* ---- the whole ---- */

struct lm_plan_whole lm_plan_whole(const struct lm_plan *plan, const struct lm_prediction *p, double ranks)
{
    struct lm_plan_whole whole = {.ranks = ranks, .speed_up = 1.0};
    const struct lm_machine *m = &plan->machine;
    double *part = whole.part;
    part[LM_PLAN_START] = m->job.start + (p->gpu ? m->gpu.context : 0.0);
    part[LM_PLAN_DATA] = plan->samples.read + share_data(plan, ranks);
    part[LM_PLAN_TRAIN] = p->seconds - p->scoring;
    part[LM_PLAN_SCORE] = p->scoring;
    part[LM_PLAN_GATHER] = lm_time_gather(m, ranks, lm_plan_file_bytes(plan));
    part[LM_PLAN_VALIDATE] = validate(plan, ranks, p->gpu ? p->seconds : 0.0);
    part[LM_PLAN_FILE] = files(plan);
    for (int k = 0; k < LM_PLAN_PARTS; k++)
        whole.seconds += part[k];
    return whole;
}

static int find(const struct lm_plan *plan, const char *device, const char *where, double ranks,
                struct lm_prediction *found)
{
    struct lm_prediction p[LM_PREDICTIONS];
    int n = lm_predict_train(&plan->machine, plan->work.kind, plan->work.kinds, lm_plan_scored(plan), ranks, p);
    for (int k = 0; k < n; k++)
        if (strcmp(p[k].device, device) == 0 && strcmp(p[k].where, where) == 0) {
            *found = p[k];
            return p[k].fits;
        }
    return 0;
}

static void name_bottleneck(struct lm_plan_table *table)
{
    const struct lm_plan_whole *last = &table->whole[table->n - 1];
    table->bottleneck = LM_PLAN_START;
    for (int k = 0; k < LM_PLAN_PARTS; k++)
        if (k != LM_PLAN_TRAIN && last->part[k] > last->part[table->bottleneck])
            table->bottleneck = (enum lm_plan_part)k;
    table->from = 0.0;
    for (int k = table->n - 1; k >= 0; k--) {
        if (table->whole[k].part[table->bottleneck] <= table->whole[k].part[LM_PLAN_TRAIN])
            break;
        table->from = table->whole[k].ranks;
    }
}

int lm_plan_table(const struct lm_plan *plan, const char *device, const char *where, struct lm_plan_table *out)
{
    struct lm_prediction p;
    *out = (struct lm_plan_table){.device = device, .where = where};
    if (!find(plan, device, where, 1.0, &p))
        return 0;
    out->gpu = p.gpu;
    double most = p.gpu ? MOST_GPUS : fmax(1.0, plan->machine.cpu.cores);
    for (double ranks = 1.0; out->n < LM_PLAN_COUNTS; ranks = fmin(2.0 * ranks, most)) {
        if (!find(plan, device, where, ranks, &p))
            break;
        out->whole[out->n] = lm_plan_whole(plan, &p, ranks);
        out->whole[out->n].speed_up = out->whole[0].seconds / out->whole[out->n].seconds;
        out->n++;
        if (ranks == most)
            break;
    }
    name_bottleneck(out);
    return 1;
}

/* ---- the batch job ---- */

static int is_worth(const struct lm_plan *plan, const struct lm_plan_table *table, const struct lm_plan_whole *whole)
{
    return table->gpu ? whole->speed_up / whole->ranks >= GOOD_SHARE : whole->ranks <= (double)plan->trials;
}

struct lm_plan_job lm_plan_job(const struct lm_plan *plan, const struct lm_plan_table *table)
{
    const struct lm_plan_whole *asked = &table->whole[0];
    for (int k = 0; k < table->n; k++)
        if (is_worth(plan, table, &table->whole[k]))
            asked = &table->whole[k];
    struct lm_plan_job job = {.nodes = 1.0, .tasks = asked->ranks};
    if (table->gpu) {
        job.nodes = ceil(job.tasks / GPUS_A_NODE);
        job.gpus_a_node = ceil(job.tasks / job.nodes);
    }
    job.minutes = ceil((2.0 * asked->seconds + SPARE) / 60.0);
    return job;
}
