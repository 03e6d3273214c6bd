/* The paths of the API that the live view asks for. */
#ifndef PHASED_CLI_TOP_PATHS_H
#define PHASED_CLI_TOP_PATHS_H

#include "lib/address.h"

#include <jansson.h>
#include <stdbool.h>

enum { PATHS_SIZE = ADDRESS_PATH_SIZE + 320 };

#define PATHS_PING      "/v1/ping"
#define PATHS_WORKFLOWS "/v1/workflows?brief=1&limit=1000"
#define PATHS_SEARCH    PATHS_WORKFLOWS "&all=1&words="

/* What comes after the path of a phase or a run. */
#define PATHS_GATE    "/gate?so_far=1"
#define PATHS_GPUS    "/gpus"
#define PATHS_LOGS    "/logs"
#define PATHS_METRICS "/metrics?last=1000"
#define PATHS_CURVE   "/metrics?buckets=200" /* many more than a curve has columns */

/* The path of a workflow, a phase or a run, and what comes after it. Returns `buffer`. */
const char *paths_of(const struct address *address, const char *rest, char buffer[PATHS_SIZE]);

/* The path of all workflows with these words. Returns `buffer`. */
const char *paths_search(const char *words, char buffer[PATHS_SIZE]);

/* The path of the curve of the most important metric of the phase's newest run, from step `from`
 * on; 0: from the first step. Returns false if there is no metric. */
bool paths_curve(const json_t *phase, long long from, char buffer[PATHS_SIZE]);

/* The step that the answer to paths_curve() ends before: one answer has a limited number of steps.
 * Returns 0 if no step is missing. */
long long paths_curve_next(const json_t *answer, long long from);

#endif
