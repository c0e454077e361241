/* model_choice.c: see model_choice.h. */
#include "model_choice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the machine, as far as this program uses it ---- */

/* Of so many threads, where all cores together are `all` times as fast as one. Between one and all a straight line;
 * beyond what calibration had (it was bound to fewer cores) as many times more. */
static double speed_up(double all, double cores, double threads)
{
    if (threads <= 1.0)
        return 1.0;
    if (cores <= 1.0 || threads > cores)
        return fmax(all, 1.0) * threads / fmax(cores, 1.0);
    return 1.0 + (all - 1.0) * (threads - 1.0) / (cores - 1.0);
}

/* threads: of a node, or of a rank; below 1 where ranks share cores. */
static struct lm_machine with_threads(const struct lm_machine *machine, double threads)
{
    struct lm_machine here = *machine;
    double cores = machine->cpu.cores;
    for (int way = 0; way < LM_CPU_WAYS && threads < 1.0; way++)
        here.cpu.infer[way] *= threads;
    here.cpu.cores = fmax(1.0, threads);
    here.cpu.train_all = speed_up(machine->cpu.train_all, cores, threads);
    here.cpu.infer_all = speed_up(machine->cpu.infer_all, cores, threads);
    here.cpu.memory_all =
        machine->cpu.memory * speed_up(machine->cpu.memory_all / machine->cpu.memory, cores, fmin(threads, cores));
    return here;
}

/* The same machine with this way alone, and no GPU. */
static void keep_way(struct lm_machine *machine, int way)
{
    for (int k = 0; k < LM_CPU_WAYS; k++)
        if (k != way)
            machine->cpu.train[k] = machine->cpu.infer[k] = 0.0;
    machine->gpu.multiprocessors = 0.0;
}

/* The reference has one thread a rank, whatever cores there are. */
static double threads_of(const struct lm_place *place, int way)
{
    return way == LM_CPU_REF ? fmin(place->ranks, place->threads) : place->threads;
}

/* ---- candidates ---- */

static void begin(enum lm_history_phase phase, double size, struct lm_choice *out)
{
    *out = (struct lm_choice){.phase = phase, .size = size, .chosen = -1};
}

static void add(struct lm_choice *out, const struct lm_prediction *p)
{
    if (out->n < LM_CHOICES) {
        out->factor[out->n] = 1.0;
        out->able[out->n] = 1;
        out->candidate[out->n++] = *p;
    }
}

/* Of n predictions of one way of the CPU, on one core and on all, what will happen: threads are not held back, but some
 * work keeps no more than one of them busy. Of equals the one core. */
static void add_faster(struct lm_choice *out, const struct lm_prediction *p, int n)
{
    int best = 0;
    for (int k = 1; k < n; k++)
        if (p[k].seconds < p[best].seconds)
            best = k;
    if (n > 0)
        add(out, &p[best]);
}

/* What differs between the two phases: predictions for so many equal nodes or GPUs. */
struct question {
    const struct lm_work *work;
    double scored;
    struct lm_shape shape;
    double n, batch;
};

static int predict_train(const struct lm_machine *machine, const struct question *q, double devices,
                         struct lm_prediction out[LM_PREDICTIONS])
{
    return lm_predict_train(machine, q->work->kind, q->work->kinds, q->scored, devices, out);
}

/* Of a stream the chunks of the device that has most of them, one after the other. */
static int predict_infer(const struct lm_machine *machine, const struct question *q, double devices,
                         struct lm_prediction out[LM_PREDICTIONS])
{
    double at_once = q->batch > 0.0 ? fmin(q->batch, q->n) : ceil(q->n / devices);
    double times = q->batch > 0.0 && at_once > 0.0 ? ceil(ceil(q->n / at_once) / devices) : 1.0;
    int n = lm_predict_score(machine, q->shape, at_once, 0, out);
    for (int k = 0; k < n; k++) {
        double *part[] = {&out[k].seconds,  &out[k].bound,   &out[k].roofline,   &out[k].copies,
                          &out[k].launches, &out[k].kernels, &out[k].allocations};
        for (size_t i = 0; i < sizeof part / sizeof *part; i++)
            *part[i] *= times;
    }
    return n;
}

typedef int (*predict)(const struct lm_machine *, const struct question *, double, struct lm_prediction *);

/* Training spreads over a node's threads whoever has them; a batch is cut into a shard a rank, and each rank has its
 * own threads. */
static void ask_model(const struct lm_machine *machine, const struct lm_place *place, predict model,
                      const struct question *q, struct lm_choice *out)
{
    struct lm_prediction p[LM_PREDICTIONS];
    double devices = model == predict_infer ? place->ranks : place->nodes;
    for (int way = 0; way < LM_CPU_WAYS; way++) {
        struct lm_machine here = with_threads(machine, threads_of(place, way) / devices);
        keep_way(&here, way);
        add_faster(out, p, model(&here, q, devices, p));
    }
    int n = model(machine, q, fmax(1.0, place->gpus), p);
    for (int k = 0; k < n; k++)
        if (p[k].gpu)
            add(out, &p[k]);
}

void lm_choice_train(const struct lm_machine *machine, const struct lm_place *place, const struct lm_work *work,
                     double scored, struct lm_choice *out)
{
    const struct question q = {.work = work, .scored = scored};
    begin(LM_HISTORY_TRAIN, work->steps, out);
    ask_model(machine, place, predict_train, &q, out);
}

void lm_choice_infer(const struct lm_machine *machine, const struct lm_place *place, struct lm_shape shape, double n,
                     double batch, struct lm_choice *out)
{
    const struct question q = {.shape = shape, .n = n, .batch = batch};
    begin(LM_HISTORY_INFER, n, out);
    ask_model(machine, place, predict_infer, &q, out);
}

static struct lm_prediction unknown(const char *backend)
{
    return (struct lm_prediction){.device = backend,
                                  .where = "",
                                  .gpu = strncmp(backend, "gpu", 3) == 0,
                                  .fits = 1,
                                  .seconds = NAN,
                                  .bound = NAN,
                                  .limit = "nothing"};
}

void lm_choice_unknown(enum lm_history_phase phase, double size, const char *backend, struct lm_choice *out)
{
    const struct lm_prediction p = unknown(backend);
    begin(phase, size, out);
    add(out, &p);
    out->chosen = 0;
}

/* ---- the choice ---- */

/* The fastest of the same sort, CPU or GPU, that the history has a factor for; 1: none. */
static double borrowed(const struct lm_choice *choice, const double *own, int k)
{
    int from = -1;
    for (int j = 0; j < choice->n; j++)
        if (own[j] != 1.0 && choice->candidate[j].gpu == choice->candidate[k].gpu &&
            (from < 0 || choice->candidate[j].seconds < choice->candidate[from].seconds))
            from = j;
    return from < 0 ? 1.0 : own[from];
}

/* What made one way of the CPU slower than predicted (others at work, threads that start) holds for the next as well:
 * were it left as it is, the one that has never been tried would look best. */
void lm_choice_refine(struct lm_choice *choice, const struct lm_history *history)
{
    double own[LM_CHOICES];
    for (int k = 0; k < choice->n; k++)
        own[k] = lm_history_factor(history, &choice->candidate[k], choice->size);
    for (int k = 0; k < choice->n; k++) {
        choice->factor[k] = own[k] != 1.0 ? own[k] : borrowed(choice, own, k);
        choice->refined = choice->refined || choice->factor[k] != 1.0;
    }
    for (int k = 0; k < choice->n; k++)
        choice->candidate[k].seconds *= choice->factor[k];
}

static int is_able(const char *const *able, const char *device)
{
    for (; *able; able++)
        if (strcmp(*able, device) == 0)
            return 1;
    return 0;
}

int lm_choice_decide(struct lm_choice *choice, const char *const *able, double margin)
{
    struct lm_prediction can[LM_CHOICES];
    for (int k = 0; k < choice->n; k++) {
        can[k] = choice->candidate[k];
        choice->able[k] = is_able(able, can[k].device);
        can[k].fits = can[k].fits && choice->able[k];
    }
    choice->decision = lm_decide(can, choice->n, margin);
    return choice->chosen = choice->decision.chosen;
}

/* The name under which the model has a backend of the GPU: it trains as the part before the +, and scores as the part
 * behind it, or as the lab's program of that name does (cuda/backend.c). */
static const char *model_name(enum lm_history_phase phase, const char *backend, char name[32])
{
    const char *plus = strchr(backend, '+');
    if (phase == LM_HISTORY_TRAIN)
        snprintf(name, 32, "%.*s", (int)strcspn(backend, "+"), backend);
    else if (strncmp(backend, "gpu:", 4) == 0 && plus)
        snprintf(name, 32, "gpu:whole%s", plus);
    else if (strcmp(backend, "gpu:batch") == 0 || strcmp(backend, "gpu:whole") == 0)
        snprintf(name, 32, "gpu:whole+global");
    else
        snprintf(name, 32, "%s", backend);
    return name;
}

void lm_choice_ask(struct lm_choice *choice, const char *backend)
{
    char name[32];
    const struct lm_prediction none = unknown(backend);
    model_name(choice->phase, backend, name);
    choice->chosen = -1;
    for (int k = 0; k < choice->n; k++) {
        const struct lm_prediction *p = &choice->candidate[k];
        if ((strcmp(p->device, name) == 0 || strcmp(p->device, backend) == 0) && p->fits &&
            (choice->chosen < 0 || p->seconds < choice->candidate[choice->chosen].seconds))
            choice->chosen = k;
    }
    if (choice->chosen < 0 && choice->n < LM_CHOICES) {
        add(choice, &none);
        choice->chosen = choice->n - 1;
    }
}

int lm_choice_known(const struct lm_choice *choice)
{
    return choice->chosen >= 0 && isfinite(choice->candidate[choice->chosen].seconds);
}

struct lm_prediction lm_choice_alone(const struct lm_choice *choice)
{
    struct lm_prediction p = choice->candidate[choice->chosen];
    p.seconds /= choice->factor[choice->chosen];
    return p;
}

void lm_choice_text(const struct lm_choice *choice, char *text, size_t size)
{
    lm_decision_text(choice->candidate, &choice->decision, text, size);
    size_t used = strlen(text);
    if (choice->refined)
        snprintf(text + used, size - used, " (with earlier runs' times)");
}

/* ---- what came of it ---- */

double lm_choice_regret(const struct lm_choice *choice, double measured)
{
    double least = HUGE_VAL;
    if (choice->chosen < 0)
        return NAN;
    const char *device = choice->candidate[choice->chosen].device;
    for (int k = 0; k < choice->n; k++) /* the same device in another place is no other choice */
        if (strcmp(choice->candidate[k].device, device) != 0 && choice->candidate[k].fits && choice->able[k])
            least = fmin(least, choice->candidate[k].seconds);
    if (isnan(measured) || !isfinite(least))
        return NAN;
    return fmax(0.0, lm_regret(measured, least));
}

void lm_choice_row(const struct lm_choice *choice, int k, double measured, struct lm_model_row *row)
{
    const struct lm_prediction *p = &choice->candidate[k];
    int ran = k == choice->chosen;
    *row = (struct lm_model_row){.predicted = p->fits ? p->seconds : NAN,
                                 .bound = p->fits ? p->bound : NAN,
                                 .measured = ran ? measured : NAN,
                                 .chosen = (uint8_t)ran,
                                 .regret = ran ? lm_choice_regret(choice, measured) : NAN,
                                 .size = choice->size,
                                 .factor = choice->factor[k]};
    snprintf(row->phase, sizeof row->phase, "%s", lm_history_phase_name(choice->phase));
    snprintf(row->device, sizeof row->device, "%s", p->device);
    snprintf(row->where, sizeof row->where, "%s", p->where);
}
