/* plan_json.c: the plan for programs (plan.h), as one object. Keys with _s are seconds. */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "plan.h"
#include "version.h"

static void put_machine(struct lm_json *json, const struct lm_plan *plan)
{
    const struct lm_machine *m = &plan->machine;
    lm_json_open(json, "machine", '{');
    lm_json_text(json, "file", plan->machine_path);
    lm_json_text(json, "cpu", m->key.cpu);
    lm_json_text(json, "gpu", m->key.gpu);
    lm_json_double(json, "cores", m->cpu.cores);
    lm_json_double(json, "start_s", m->job.start);
    lm_json_double(json, "context_s", m->gpu.context);
    lm_json_double(json, "error", m->error);
    lm_json_close(json, '}');
}

static void put_work(struct lm_json *json, const struct lm_plan *plan)
{
    lm_json_open(json, "work", '{');
    lm_json_text(json, "of", plan->sweep ? plan->call->options->operand[0] : "");
    lm_json_whole(json, "trials", (int64_t)plan->trials);
    lm_json_double(json, "epochs", plan->work.epochs);
    lm_json_double(json, "steps", plan->work.steps);
    lm_json_double(json, "train", plan->samples.train);
    lm_json_double(json, "validation", plan->samples.validation);
    lm_json_double(json, "test", plan->samples.test);
    lm_json_double(json, "read_s", plan->samples.read);
    lm_json_double(json, "file_bytes", lm_plan_file_bytes(plan));
    lm_json_close(json, '}');
}

static void put_candidates(struct lm_json *json, const struct lm_plan_choice *choice)
{
    lm_json_open(json, "candidates", '[');
    for (int k = 0; k < choice->n; k++) {
        const struct lm_prediction *p = &choice->candidate[k];
        lm_json_open(json, NULL, '{');
        lm_json_text(json, "device", p->device);
        lm_json_text(json, "where", p->where);
        lm_json_whole(json, "gpu", p->gpu);
        lm_json_whole(json, "fits", p->fits);
        lm_json_double(json, "train_s", p->seconds - p->scoring); /* infinite where it does not fit: null */
        lm_json_double(json, "score_s", p->scoring);
        lm_json_double(json, "bound_s", p->bound);
        lm_json_double(json, "roofline_s", p->roofline);
        lm_json_double(json, "gpu_bytes", p->memory);
        lm_json_text(json, "limit", p->limit);
        lm_json_close(json, '}');
    }
    lm_json_close(json, ']');
}

static void put_choice(struct lm_json *json, const struct lm_plan_choice *choice)
{
    const struct lm_decision *d = &choice->decision;
    char text[300];
    lm_decision_text(choice->candidate, d, text, sizeof text);
    lm_json_open(json, "choice", '{');
    lm_json_text(json, "device", d->chosen < 0 ? "" : choice->candidate[d->chosen].device);
    lm_json_text(json, "where", d->chosen < 0 ? "" : choice->candidate[d->chosen].where);
    lm_json_whole(json, "gpu", d->offload);
    lm_json_double(json, "gain", d->gain);
    lm_json_double(json, "margin", d->margin);
    lm_json_text(json, "text", text);
    lm_json_close(json, '}');
}

static void put_whole(struct lm_json *json, const struct lm_plan_whole *whole)
{
    lm_json_open(json, NULL, '{');
    lm_json_whole(json, "ranks", (int64_t)whole->ranks);
    lm_json_double(json, "whole_s", whole->seconds);
    lm_json_double(json, "speed_up", whole->speed_up);
    lm_json_double(json, "efficiency", whole->speed_up / whole->ranks);
    for (int part = 0; part < LM_PLAN_PARTS; part++) {
        char key[32];
        snprintf(key, sizeof key, "%s_s", lm_plan_part_name[part]);
        lm_json_double(json, key, whole->part[part]);
    }
    lm_json_close(json, '}');
}

static void put_table(struct lm_json *json, const struct lm_plan *plan, const char *device, const char *where)
{
    struct lm_plan_table table;
    if (!lm_plan_table(plan, device, where, &table))
        return;
    const struct lm_plan_job job = lm_plan_job(plan, &table);
    lm_json_open(json, NULL, '{');
    lm_json_text(json, "device", device);
    lm_json_text(json, "where", where);
    lm_json_whole(json, "gpu", table.gpu);
    lm_json_open(json, "counts", '[');
    for (int k = 0; k < table.n; k++)
        put_whole(json, &table.whole[k]);
    lm_json_close(json, ']');
    lm_json_open(json, "bottleneck", '{');
    lm_json_whole(json, "ranks", (int64_t)table.whole[table.n - 1].ranks);
    lm_json_text(json, "part", lm_plan_part_name[table.bottleneck]);
    lm_json_double(json, "seconds", table.whole[table.n - 1].part[table.bottleneck]);
    lm_json_whole(json, "from_ranks", (int64_t)table.from); /* 0: it is less than training */
    lm_json_close(json, '}');
    lm_json_open(json, "job", '{');
    lm_json_whole(json, "nodes", (int64_t)job.nodes);
    lm_json_whole(json, "tasks", (int64_t)job.tasks);
    lm_json_whole(json, "gpus_a_node", (int64_t)job.gpus_a_node);
    lm_json_whole(json, "minutes", (int64_t)job.minutes);
    lm_json_close(json, '}');
    lm_json_close(json, '}');
}

void lm_plan_json(const struct lm_plan *plan, const struct lm_plan_choice *choice)
{
    struct lm_json json;
    lm_json_begin(&json, stdout);
    lm_json_open(&json, NULL, '{');
    lm_json_text(&json, "program", "libras_mpi");
    lm_json_text(&json, "version", LM_VERSION);
    lm_json_text(&json, "commit", LM_COMMIT);
    lm_json_text(&json, "command_line", plan->call->command_line);
    put_machine(&json, plan);
    put_work(&json, plan);
    put_candidates(&json, choice);
    put_choice(&json, choice);
    lm_json_open(&json, "scaling", '[');
    for (int k = 0; k < choice->n; k++) { /* every device but the node's cores together, which are ranks here */
        const struct lm_prediction *p = &choice->candidate[k];
        if (strcmp(p->where, "all cores") != 0)
            put_table(&json, plan, p->device, p->where);
    }
    lm_json_close(&json, ']');
    lm_json_close(&json, '}');
}
