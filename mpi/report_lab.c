/* report_lab.c: --format lab, the lab's own lines (in Portuguese, as its programs print them). */
#include <inttypes.h>

#include "evaluate.h"
#include "report.h"

static void report_training(const struct lm_report_input *input, uint64_t t, FILE *f)
{
    const struct lm_results *results = input->results;
    uint32_t epochs = results->trial[t].epochs;
    fprintf(f, "TREINO | %zu amostras\n", results->n_train);
    for (uint32_t epoch = 1; epoch <= epochs; epoch++)
        if (epoch % 5 == 1 || epoch == epochs)
            fprintf(f, "Epoca %" PRIu32 "/%" PRIu32 " | perda media %.4f\n", epoch, epochs, input->loss[epoch - 1]);
    fprintf(f, "Tempo de treino: %.4f s\n\n", results->execution[t].seconds);
}

static void report_batch(const struct lm_report_input *input, FILE *f)
{
    const struct lm_results *results = input->results;
    struct lm_metrics m = lm_evaluate(results->scores, results->expected, results->n_scores);
    double slowest = 0.0;
    for (size_t r = 0; r < results->n_ranks; r++)
        if (results->ranks[r].seconds[LM_PHASE_INFER] > slowest)
            slowest = results->ranks[r].seconds[LM_PHASE_INFER];
    fprintf(f, "TESTE | %zu/%zu acertos (%.2f%%)\n", m.hits, m.n, 100.0 * m.accuracy);
    fprintf(f, "Perda media: %.4f\nTempo de inferencia do lote: %.4f ms\n\n", m.loss, 1e3 * slowest);
    fprintf(f, "Esperado  Previsto\n");
    for (int c = 0; c < LM_CLASSES; c++)
        for (size_t k = 0; k < results->n_scores; k++)
            if (results->expected[k] == c) {
                fprintf(f, "%8c  %8c\n", LM_LETTERS[c], LM_LETTERS[results->predicted[k]]);
                break;
            }
}

void lm_report_lab(const struct lm_report_input *input, FILE *f)
{
    if (input->results->inference_trial < 0 || !input->loss)
        return;
    report_training(input, (uint64_t)input->results->inference_trial, f);
    report_batch(input, f);
}
