/* Reads what NCCL's RAS service has answered (ras.h), and compares it with the outlier
 * (outlier.h). This module is pure.
 *
 * The text of NCCL 2.24 to 2.28 names processes in three places, and RAS has a reason for each:
 *
 *   - processes that are dead or do not answer
 *   - ranks of a communicator that do not answer
 *   - ranks of a communicator that have launched fewer operations of a kind than other ranks
 *
 * Some ranks that the text names are left out, because they need not be the last:
 *
 *   - a rank in another state: it may have left the communicator early or late
 *   - a rank that is ahead: RAS names the few ranks that differ from most ranks
 *   - the ranks of a communicator if all of them are named: each waits for another rank
 *   - the ranks of a section that is cut: the lowest count may follow
 *
 * Numbers of ranks are those of a communicator, so only pids can be compared. */
#ifndef PHASED_WORKER_HEALTH_RAS_STATUS_H
#define PHASED_WORKER_HEALTH_RAS_STATUS_H

#include "worker/health/outlier.h"

#include <jansson.h>
#include <stddef.h>

/* Returns a new object: {"count": 2, "who": "rank 3 of 8 (pid 4711 on 10.0.0.2)", "pids": [4711,
 * 815]}. `who` is the first process that RAS names, and `pids` has at most four. With the count 0,
 * RAS names no process. Returns NULL for other texts, for NULL, and for a text that is cut before
 * it names a process. Reads at most RAS_TEXT_MAX bytes. */
json_t *ras_status_read(const char *text);

/* Says whether RAS names the outlier, too: "NCCL's RAS names rank 3 as well". `answers` has the
 * result of ras_status_read() on each node, which is about all nodes. An answer may be any JSON, or
 * NULL. The pid of `outlier` is 0 if there is no outlier. The caller frees the text. NULL: RAS says
 * nothing. */
char *ras_status_compare(const json_t *const *answers, size_t count,
                         const struct outlier_process *outlier);

#endif
