/* Whether one of several groups of a node is silent while others print. Groups are independent
 * programs (launch: group), and the run hangs only if all groups are silent. The rule is that of
 * hang.h, with the output of each group. A silent group only gives a warning, once. When the other
 * groups have ended, the silence is that of the run. */
#ifndef PHASED_WORKER_NODE_QUIET_H
#define PHASED_WORKER_NODE_QUIET_H

#include <stdint.h>

struct crew;
struct quiet;

/* `crew` is borrowed until quiet_free(). `setting_s` is that of hang_init(). */
struct quiet *quiet_new(const struct crew *crew, int setting_s, int64_t now_ms);

/* Call it a few times a second. Returns a warning for people, or NULL. The caller frees it. */
char *quiet_look(struct quiet *quiet, int64_t now_ms);

/* Accepts NULL. */
void quiet_free(struct quiet *quiet);

#endif
