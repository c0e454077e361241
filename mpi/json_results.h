/* json_results.h: parts of a results file as JSON, for the report and for export. */
#ifndef LM_JSON_RESULTS_H
#define LM_JSON_RESULTS_H

#include "json.h"
#include "results.h"

void lm_json_dataset(struct lm_json *json, const struct lm_results *results);
void lm_json_trials(struct lm_json *json, const struct lm_results *results);
/* "sweep", with its leaderboard, and "configurations"; nothing where the results are no sweep's. */
void lm_json_sweep(struct lm_json *json, const struct lm_results *results);
void lm_json_inference(struct lm_json *json, const struct lm_results *results);
void lm_json_validation(struct lm_json *json, const struct lm_results *results);
void lm_json_execution(struct lm_json *json, const struct lm_results *results);
/* "model": who decided, why, and the candidates; nothing where there are none. */
void lm_json_model(struct lm_json *json, const struct lm_results *results);
void lm_json_provenance(struct lm_json *json, const struct lm_results *results);

#endif
