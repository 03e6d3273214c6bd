/* Watches how a run goes on on one node: how fast its steps come (pace.h), and whether it hangs:
 * counts signs of life, tells the lead of a silence that is longer than allowed (hang.h), and looks
 * at the processes when the lead asks.
 *
 * The lead decides, since a node alone cannot know: most ranks print nothing, and a run of several
 * nodes hangs only when none shows a sign. What is reported to it, with the members of
 * node_run.h's reports:
 *
 *   {"report": "silent", "seconds": 912.0, "limit": 900.0, "steps": true}
 *       again while it lasts; `steps`: some were printed here before
 *   {"report": "examined", "seconds": 912.0, "summary": "...", "counts": {...}}
 *       the answer to vigil_examine(); `counts` are odd.h's
 *
 *   {"report": "pace", "steps_per_s": 0.52}                     where steps are printed here
 *
 * Before a silence is told it is made sure that no checkpoint is just being written, and that the
 * processes were not stopped by a signal or a debugger. */
#ifndef PHASED_WORKER_NODE_VIGIL_H
#define PHASED_WORKER_NODE_VIGIL_H

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

struct crew;
struct journal;
struct observer;
struct vigil;

/* All borrowed until vigil_close(). */
struct vigil_options {
    uv_loop_t *loop;
    const struct crew *crew;
    const struct observer *observer;
    struct journal *journal;
    bool has_groups;          /* the crew are programs of their own, side by side */
    int hang_s;               /* of hang_init() */
    const char *folder;       /* where checkpoints are written; NULL: another node looks there */
    const char *program;      /* path of phase-worker */
    char *const *environment; /* of the ranks */
    const char *ras_address;  /* NCCL_RAS_ADDR of the ranks, or NULL */
    /* Takes over the reference. */
    void (*report)(void *context, json_t *report);
    void *context;
};

/* The ranks have been started. */
struct vigil *vigil_new(const struct vigil_options *options);

/* Takes note of what was seen. Called a few times a second. */
void vigil_look(struct vigil *vigil);

/* Looks at the processes, asks NCCL, and what tools are there (testimony.h); answers within six
 * seconds. */
void vigil_examine(struct vigil *vigil);

/* The run is taken to hang: puts what was last found into the journal. */
void vigil_testify(struct vigil *vigil);

/* Accepts NULL. */
void vigil_close(struct vigil *vigil);

#endif
