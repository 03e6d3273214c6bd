/* The record's samples of GPUs grow coarser as they age (store_samples_age), so that months of
 * training stay small. A little each time, as it takes a turn of the loop. */
#ifndef PHASED_DAEMON_LOOP_AGEING_H
#define PHASED_DAEMON_LOOP_AGEING_H

#include <stdint.h>

struct loop;

enum { AGEING_EVERY_MS = 600 * 1000 };

/* Does it with the next turn, when it is due. */
void ageing_look(struct loop *loop, int64_t now_ms);

#endif
