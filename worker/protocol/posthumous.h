/* How a run ended if its lead was killed with its job before it could write the outcome. The
 * journals of the lead and of the nodes tell it. */
#ifndef PHASED_WORKER_PROTOCOL_POSTHUMOUS_H
#define PHASED_WORKER_PROTOCOL_POSTHUMOUS_H

#include <stdbool.h>
#include <stdint.h>

struct outcome;
struct phase_life;

/* Adds the journal of one node to an outcome: its last number, its last step, the start of its
 * ranks, and its last sign of life. Returns the step of its newest checkpoint, or -1.
 * `ret_is_done`: the last `exited` entry says that the node's work is done, and no entry reports
 * anything as suspect. */
int64_t posthumous_add_node(const char *run_dir, const char *node, struct outcome *outcome,
                            bool *ret_is_done);

enum posthumous_end {
    POSTHUMOUS_NOT_BEGUN, /* no lead has begun the run */
    POSTHUMOUS_KILLED,
    POSTHUMOUS_TOLD, /* its last entry exists, and only outcome.json is missing */
};

/* Fills an initialised outcome. If the lead was stopping the run, the reason of the stop decides.
 * Otherwise the run has succeeded if the work of all nodes was done. Otherwise it was preempted,
 * and the next run continues.
 *
 * `claimed`: the life that has claimed the phase for this run; NULL: there is no claim. The claim
 * shows that the run was begun, even if a crash of the file system took the lead's journal. The
 * nodes are then those that have a journal, and `nodes` is how many there should be. */
enum posthumous_end posthumous_read(const char *run_dir, const struct phase_life *claimed,
                                    unsigned nodes, struct outcome *outcome);

/* Whether each node of the run has reported that no process of the run is left there. */
bool posthumous_has_ended(const char *run_dir);

#endif
