/* Watches a run on one node: how fast its steps come (pace.h), and whether it hangs. It counts
 * signs of life, reports a silence that is longer than allowed (hang.h), and looks at the processes
 * when the lead asks.
 *
 * The lead decides whether the run hangs, because a single node cannot know. Most ranks print
 * nothing, and a run of several nodes hangs only if no node shows a sign of life. The watchdog
 * reports REPORT_SILENT, repeated while the silence lasts; REPORT_EXAMINED, the answer to
 * watchdog_examine(); and REPORT_PACE, if this node prints steps.
 *
 * A silence is not reported while a checkpoint is being written, or while a signal or a debugger
 * has stopped the processes. */
#ifndef PHASED_WORKER_NODE_WATCHDOG_H
#define PHASED_WORKER_NODE_WATCHDOG_H

#include "lib/protocol/report.h"

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

struct crew;
struct journal;
struct observer;
struct watchdog;

/* All members are borrowed until watchdog_close(). */
struct watchdog_options {
    uv_loop_t *loop;
    const struct crew *crew;
    const struct observer *observer;
    struct journal *journal;
    bool has_ranks;           /* the numbers of the crew are ranks of the program */
    bool has_groups;          /* the crew consists of independent programs */
    int hang_s;               /* for hang_init() */
    const char *folder;       /* the folder of checkpoints; NULL: another node watches it */
    const char *program;      /* path of phase-worker */
    char *const *environment; /* of the ranks */
    const json_t *secrets;    /* of the workflow, to keep out of the evidence; or NULL */
    const char *ras_address;  /* NCCL_RAS_ADDR of the ranks, or NULL */
    /* Takes over the reference. */
    void (*report)(void *context, struct report *report);
    void *context;
};

/* Call it when the ranks have started. */
struct watchdog *watchdog_new(const struct watchdog_options *options);

/* Takes the signs of life since the last look. Call it a few times a second. */
void watchdog_look(struct watchdog *watchdog);

/* Looks at the processes, asks NCCL, and runs the installed tools (inspect.h). Reports within
 * six seconds. */
void watchdog_examine(struct watchdog *watchdog);

/* The run hangs. Puts the newest evidence into the journal. */
void watchdog_save_evidence(struct watchdog *watchdog);

/* Accepts NULL. */
void watchdog_close(struct watchdog *watchdog);

#endif
