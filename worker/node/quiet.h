/* Whether one of several groups of a node is silent while others go on: groups are programs of
 * their own (launch: group), and the run hangs only when all are silent. By the rule of hangs
 * (hang.h), from the output of each group. Only told, once a group; when the others have ended it
 * is the run that hangs. */
#ifndef PHASED_WORKER_NODE_QUIET_H
#define PHASED_WORKER_NODE_QUIET_H

#include <stdint.h>

struct crew;
struct quiet;

/* `crew` is borrowed until quiet_free(); `setting_s` is hang_init()'s. */
struct quiet *quiet_new(const struct crew *crew, int setting_s, int64_t now_ms);

/* Called a few times a second. Returns what is to be told to people, the caller's to free; NULL
 * mostly. */
char *quiet_look(struct quiet *quiet, int64_t now_ms);

/* Accepts NULL. */
void quiet_free(struct quiet *quiet);

#endif
