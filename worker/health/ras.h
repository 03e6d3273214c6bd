/* Asks NCCL how its communicators are: every program that uses NCCL 2.24 or later answers on a port
 * of its node (28028, or where NCCL_RAS_ADDR says), in text, for all nodes of its job. */
#ifndef PHASED_WORKER_HEALTH_RAS_H
#define PHASED_WORKER_HEALTH_RAS_H

#include <uv.h>

enum { RAS_TEXT_MAX = 8192, RAS_DEADLINE_MS = 5000 };

struct ras;

/* `address` is NCCL_RAS_ADDR, or NULL. Calls `done` once, from the loop, within RAS_DEADLINE_MS:
 * with what came, UTF-8, cut at RAS_TEXT_MAX bytes, or NULL where nobody answers as NCCL does. The
 * text is borrowed during the call, the query over after it. Never NULL itself. */
struct ras *ras_ask(uv_loop_t *loop, const char *address,
                    void (*done)(void *context, const char *text), void *context);

/* Ends a query without an answer. Accepts NULL. */
void ras_cancel(struct ras *ras);

#endif
