/* Why a run failed, by what its ranks printed (lib/failures). Each node looks at its ranks once,
 * when the first of them fails or the run begins to stop: what is printed after that follows from
 * it.
 *
 * What a node finds is a JSON object, {"name", "line", "rank": 3 or null, "time"}; the name is that
 * of an entry of the run's catalogue, in which the rest stands. */
#ifndef PHASED_WORKER_HEALTH_FAILURE_H
#define PHASED_WORKER_HEALTH_FAILURE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct assignment;
struct outcome;

/* The newest lines of one rank, not terminated. */
struct failure_lines {
    const char *lines;
    size_t size;
    int rank; /* -1: it has no number */
};

/* What the newest lines of all ranks tell; a new reference. NULL: nothing that is known. */
json_t *failure_look(const struct assignment *assignment, const struct failure_lines *ranks,
                     size_t count);

/* The same for one text, as srun's complaint, if that tells a cause. */
json_t *failure_look_at(const struct assignment *assignment, const char *line);

/* Whether `one` tells more than `other` (NULL: nothing yet), and so takes its place. */
bool failure_is_better(const struct assignment *assignment, const json_t *one, const json_t *other);

/* Whether it tells a cause, not merely a sign or a consequence. Accepts NULL. */
bool failure_is_cause(const struct assignment *assignment, const json_t *failure);

/* Makes it the outcome's failure, with the cause and the message that follow; `node` is where it
 * was, or empty. */
void failure_apply(const struct assignment *assignment, const json_t *failure, const char *node,
                   struct outcome *outcome);

#endif
