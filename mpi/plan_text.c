/* plan_text.c: the plan for people (plan.h). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "plan.h"

#define FAST_TURNS 13 /* cuda/fast.c: turns of all warps in one launch */

static void show_work(const struct lm_plan *plan)
{
    const struct lm_machine_key *key = &plan->machine.key;
    printf("machine    %s (%s%s%s)\n", plan->machine_path, key->cpu, key->gpu[0] ? "; GPU " : "; no GPU", key->gpu);
    printf("work       %" PRIu64 " trials, %.0f epochs of %.0f samples: %.4g steps; %.0f test samples\n", plan->trials,
           plan->work.epochs, plan->samples.train, plan->work.steps, plan->samples.test);
    printf("file       about %.3g MB\n\n", 1e-6 * lm_plan_file_bytes(plan));
}

static void show_candidates(const struct lm_prediction *p, int n)
{
    printf("%-14s %-32s %11s %11s %11s  %s\n", "device", "where", "train s", "bound s", "GPU MB", "mostly");
    for (int k = 0; k < n; k++)
        if (p[k].fits)
            printf("%-14s %-32s %11.4g %11.4g %11.4g  %s\n", p[k].device, p[k].where, p[k].seconds, p[k].bound,
                   1e-6 * p[k].memory, p[k].limit);
        else
            printf("%-14s %-32s %11s %11.4g %11.4g  does not fit\n", p[k].device, p[k].where, "-", p[k].bound,
                   1e-6 * p[k].memory);
    printf("train: with the scores of each network; bound: without any overlap, and without what a copy or a launch "
           "costs as such\n\n");
}

static void show_choice(const struct lm_plan_choice *choice)
{
    char text[300];
    lm_decision_text(choice->candidate, &choice->decision, text, sizeof text);
    printf("choice     %s\n", text);
}

/* How much a GPU takes at once, and from where on it pays for batches. */
static void show_gpu(const struct lm_plan *plan)
{
    const struct lm_machine *m = &plan->machine;
    if (!lm_machine_has_gpu(m))
        return;
    double at_once = lm_replicas_at_once(m), launch = at_once * FAST_TURNS, n = (double)plan->trials;
    printf("a launch   gpu:fast trains %.0f together, %.0f at the same time\n", n < launch ? n : launch,
           n < at_once ? n : at_once);
    double batch = lm_crossover(m, (struct lm_shape){32, 16}, m->error, 4194304.0);
    if (batch > 0.0)
        printf("batches    from %.0f samples on the GPU scores faster than the CPU, from host memory to host memory\n",
               batch);
    else
        printf("batches    the CPU scores any of up to 4 Mi samples as fast as the GPU, from host memory\n");
}

static void show_bottleneck(const struct lm_plan_table *table)
{
    const struct lm_plan_whole *last = &table->whole[table->n - 1];
    const char *unit = table->gpu ? "GPU" : "rank", *many = last->ranks > 1.0 ? "s" : "";
    printf("bottleneck at %.0f %s%s %s: %.4g s, ", last->ranks, unit, many, lm_plan_part_name[table->bottleneck],
           last->part[table->bottleneck]);
    if (table->from > 0.0)
        printf("more than training from %.0f %s%s on\n", table->from, unit, table->from > 1.0 ? "s" : "");
    else
        printf("less than training\n");
}

/* What the whole consists of, for each number of GPUs or cores. */
static void show_table(const struct lm_plan_table *table)
{
    printf("\nwith --device %s, a rank a %s; seconds\n", table->device, table->gpu ? "GPU" : "core");
    printf("%6s %9s %9s %10s ", table->gpu ? "GPUs" : "ranks", "whole", "speed-up", "efficiency");
    for (int part = 0; part < LM_PLAN_PARTS; part++)
        printf(" %9s", lm_plan_part_name[part]);
    printf("\n");
    for (int k = 0; k < table->n; k++) {
        const struct lm_plan_whole *w = &table->whole[k];
        printf("%6.0f %9.4g %9.2f %8.0f %% ", w->ranks, w->seconds, w->speed_up, 100.0 * w->speed_up / w->ranks);
        for (int part = 0; part < LM_PLAN_PARTS; part++)
            printf(" %9.4g", w->part[part]);
        printf("\n");
    }
    show_bottleneck(table);
}

static void show_job(const struct lm_plan_job *job)
{
    printf("\n#SBATCH --nodes=%.0f\n#SBATCH --ntasks=%.0f\n", job->nodes, job->tasks);
    if (job->gpus_a_node > 0.0)
        printf("#SBATCH --gres=gpu:%.0f\n", job->gpus_a_node);
    printf("#SBATCH --time=%02.0f:%02.0f:00\n", floor(job->minutes / 60.0), fmod(job->minutes, 60.0));
    printf("(twice the time, and five minutes%s)\n",
           job->gpus_a_node > 0.0 && job->nodes > 1.0 ? "; 8 GPUs a node" : "");
}

void lm_plan_text(const struct lm_plan *plan, const struct lm_plan_choice *choice)
{
    const struct lm_decision *d = &choice->decision;
    struct lm_plan_table table;
    if (plan->call->options->quiet) {
        show_choice(choice);
        return;
    }
    show_work(plan);
    show_candidates(choice->candidate, choice->n);
    show_choice(choice);
    show_gpu(plan);
    if (d->chosen < 0)
        return;
    const struct lm_prediction *chosen = &choice->candidate[d->chosen];
    if (!lm_plan_table(plan, chosen->device, chosen->gpu ? chosen->where : "one core", &table))
        return;
    show_table(&table);
    const struct lm_plan_job job = lm_plan_job(plan, &table);
    show_job(&job);
}
