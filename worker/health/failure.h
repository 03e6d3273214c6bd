/* Finds out why a run failed, from the lines that its ranks printed (lib/failures). Each node looks
 * once, when its first rank fails or when the run begins to stop. Lines that are printed after that
 * are only consequences.
 *
 * A node's finding is the JSON of a found_failure (lib/protocol/report.h). Its name is that of an
 * entry of the run's catalogue, which has the cause and the advice. */
#ifndef PHASED_WORKER_HEALTH_FAILURE_H
#define PHASED_WORKER_HEALTH_FAILURE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct assignment;
struct outcome;

/* The newest lines of one rank, not terminated. */
struct failure_lines {
    const char *lines;
    size_t size;
    int rank; /* -1: the process has no rank */
};

/* Returns the best finding in the newest lines of all ranks, as a new reference. NULL: no line
 * matches the catalogue. */
json_t *failure_look(const struct assignment *assignment, const struct failure_lines *ranks,
                     size_t count);

/* Like failure_look(), for one text such as an error of srun. Returns only a cause. */
json_t *failure_look_at(const struct assignment *assignment, const char *line);

/* Whether `one` explains more than `other`, and so replaces it. `other` may be NULL. */
bool failure_is_better(const struct assignment *assignment, const json_t *one, const json_t *other);

/* Whether the finding is a cause, not only a sign or a consequence. Accepts NULL. */
bool failure_is_cause(const struct assignment *assignment, const json_t *failure);

/* Puts the finding into the outcome, with the cause and the message of its entry. `node` is the
 * node of the failure, or empty. */
void failure_apply(const struct assignment *assignment, const json_t *failure, const char *node,
                   struct outcome *outcome);

/* A fault of a GPU that the driver has reported and that may explain a failure. The programs see
 * only that a kernel or a collective failed, and blame themselves.
 *
 * A fault counts only if the catalogue has it as a cause ("GPU 3 reported Xid 79"), and only if the
 * ranks do not continue. If they print in ten different seconds, more than a minute after the
 * fault, the fault is dropped. A zero-initialised struct has no fault. */
struct gpu_fault {
    json_t *failure; /* without rank and time; or NULL */
    int64_t heard_ms, second;
    uint64_t printed; /* at the last look */
    unsigned seconds; /* seconds with output after the fault */
};

void gpu_fault_fini(struct gpu_fault *fault);

/* The driver reported `line`. The first fault counts, with the time of its last report. */
void gpu_fault_hear(struct gpu_fault *fault, const struct assignment *assignment, const char *line,
                    int64_t now_ms);

/* `printed` is how much the ranks have printed until now. Call this a few times a second. */
void gpu_fault_look(struct gpu_fault *fault, uint64_t printed, int64_t now_ms);

/* Returns the better explanation of the two: the fault, or `failure`; borrowed. NULL: there is
 * neither. */
json_t *gpu_fault_or(const struct gpu_fault *fault, const struct assignment *assignment,
                     json_t *failure);

#endif
