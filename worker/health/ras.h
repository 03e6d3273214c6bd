/* Asks NCCL about the state of its communicators. Each program with NCCL 2.24 or later answers on a
 * port of its node (28028, or the port in NCCL_RAS_ADDR). It answers in text, for all nodes of its
 * job. */
#ifndef PHASED_WORKER_HEALTH_RAS_H
#define PHASED_WORKER_HEALTH_RAS_H

#include <uv.h>

enum { RAS_TEXT_MAX = 8192, RAS_DEADLINE_MS = 5000 };

struct ras;

/* `address` is NCCL_RAS_ADDR, or NULL. Calls `done` once, from the loop, within RAS_DEADLINE_MS.
 * `text` is the answer: UTF-8, cut at RAS_TEXT_MAX bytes, and borrowed during the call. It is NULL
 * if NCCL did not answer. The query is freed after the call. Never returns NULL. */
struct ras *ras_ask(uv_loop_t *loop, const char *address,
                    void (*done)(void *context, const char *text), void *context);

/* Ends a query without an answer. Accepts NULL. */
void ras_cancel(struct ras *ras);

#endif
