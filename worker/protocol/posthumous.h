/* How a run ended whose lead was killed with its job before it could say so: told from what the
 * journals of the lead and of the nodes hold. */
#ifndef PHASED_WORKER_PROTOCOL_POSTHUMOUS_H
#define PHASED_WORKER_PROTOCOL_POSTHUMOUS_H

#include <stdbool.h>
#include <stdint.h>

struct outcome;

/* Adds to an outcome what the journal of one node holds: its last number, the last step, when its
 * ranks began, when it was last heard of. Returns the step of its newest checkpoint, or -1.
 * `ret_is_done`: its last entry says that the node had done its part, and well, and none names
 * anything as suspect. */
int64_t posthumous_add_node(const char *run_dir, const char *node, struct outcome *outcome,
                            bool *ret_is_done);

enum posthumous_end {
    POSTHUMOUS_NOT_BEGUN, /* no lead has begun the run */
    POSTHUMOUS_KILLED,
    POSTHUMOUS_TOLD, /* its last entry is there, and only outcome.json is missing */
};

/* Fills an initialised outcome. What the lead was about to do when it was killed is why the run
 * ended; otherwise it has succeeded where all nodes had done their part, and elsewhere it was
 * preempted, and the next one goes on. */
enum posthumous_end posthumous_read(const char *run_dir, struct outcome *outcome);

/* Whether each node on which a lead has begun the run has told that nothing of it is left there. */
bool posthumous_has_ended(const char *run_dir);

#endif
