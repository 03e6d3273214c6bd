/* What phase-preflight has said of a node, as the node's journal and the lead get it. Pure. */
#ifndef PHASED_WORKER_NODE_NODECHECK_REPORT_H
#define PHASED_WORKER_NODE_NODECHECK_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct assignment_sizes;

enum { NODECHECK_REASON_MAX = 180, NODECHECK_MODEL_SIZE = 8 };

/* How the program ended. */
struct nodecheck_end {
    const char *output; /* what it printed */
    size_t size;
    int status;         /* waitpid()'s, of one that has ended in time */
    bool is_late;       /* it had to be killed */
    const char *failed; /* why it could not be started; NULL: it was */
    double limit_s;     /* how long it had */
};

/* {"level", "outcome": "passed" | "failed" | "could not tell", "reason", "rows": [{"name",
 * "outcome", "text"}]}, a new reference. The reason names the rows that failed, or the first that
 * could not tell, and is empty for one that passed. */
json_t *nodecheck_report(const char *level, const struct nodecheck_end *end);

/* Whether only what a run before has left behind speaks against the node. */
bool nodecheck_may_pass_later(const json_t *report);

/* The part of NVML's name of a GPU that Slurm's type of it promises: "H100" for "h100". False where
 * the type is a name of the site's own, which promises nothing. */
bool nodecheck_model(const char *gpu_type, char ret_model[NODECHECK_MODEL_SIZE]);

/* The ranks that reduce together, as phase-preflight's --groups wants them: those of tensor groups,
 * then those of data groups, "tensor:0-3/4-7;data:0,4/1,5/2,6/3,7". With `launch: group` (is_group)
 * each group is a world of its own: none reduces with another. NULL where there are none, or
 * nothing is said of them. The caller's to free(). */
char *nodecheck_groups(const struct assignment_sizes *sizes, bool is_group);

#endif
