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

/* The path of a workflow, a phase or a run, and what comes after it. Returns `buffer`. */
const char *paths_of(const struct address *address, const char *rest, char buffer[PATHS_SIZE]);

/* The path of all workflows with these words. Returns `buffer`. */
const char *paths_search(const char *words, char buffer[PATHS_SIZE]);

/* The path of the newest numbers of the metric that tells most of the phase's newest run. Returns
 * false if there is none. */
bool paths_curve(const json_t *phase, char buffer[PATHS_SIZE]);

#endif
