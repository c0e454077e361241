/* report_json.c: --format json: the run's report as one object. */
#include "json_results.h"
#include "report.h"
#include "version.h"

void lm_report_json(const struct lm_report_input *input, FILE *f)
{
    struct lm_json json;
    lm_json_begin(&json, f);
    lm_json_open(&json, NULL, '{');
    lm_json_text(&json, "program", "libras_mpi");
    lm_json_text(&json, "version", LM_VERSION);
    lm_json_text(&json, "commit", LM_COMMIT);
    lm_json_text(&json, "command_line", input->call->command_line);
    lm_json_text(&json, "file", input->path ? input->path : "");
    lm_json_text(&json, "verdict", lm_outcome_word(input));
    lm_json_whole(&json, "exit_code", input->code);
    if (input->weights_trial) {
        lm_json_text(&json, "weights", input->call->options->operand[0]);
        lm_json_whole(&json, "weights_trial", (int64_t)*input->weights_trial);
    }
    lm_json_dataset(&json, input->results);
    lm_json_trials(&json, input->results);
    lm_json_sweep(&json, input->results);
    lm_json_inference(&json, input->results);
    lm_json_validation(&json, input->results);
    lm_json_execution(&json, input->results);
    lm_json_model(&json, input->results);
    lm_json_open(&json, "seconds", '{');
    lm_json_double(&json, "start_up", input->times->start);
    lm_json_double(&json, "train", input->times->train);
    lm_json_double(&json, "file", input->times->file);
    lm_json_double(&json, "total", input->times->total);
    lm_json_close(&json, '}');
    lm_json_close(&json, '}');
}
