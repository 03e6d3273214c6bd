/* One run on one node: its ranks, their output, the stop ladder, the node's journal and its link.
 *
 *   starting -> running -> gone -> ended
 *
 * Starting waits for the preflights of all nodes, where the run has one (node_run_go_on), and for
 * files that other nodes write. Gone: no process of the run is left here and the
 * journal holds all that was observed. When all nodes are gone the owner says so
 * (node_run_finish), and the run ends here with its last journal entry; a run on one node that has
 * nothing to join does so by itself.
 *
 * What happens is reported to the owner as JSON objects (a new reference each), which the agent
 * hands to the lead:
 *
 *   {"report": "preflight", "turn": 1, "outcome", "reason"}
 *   {"report": "started", "turn": 1, "time": 1790000000.1}
 *   {"report": "cannot_start", "cause", "message"}      nothing runs here, nothing will
 *   {"report": "failed", "turn", "failed": {"rank" or "group" or "join", "code", "signal",
 *    "line"}, "failure"}                                the first one here; of a node's only
 *                                                       process none of the three; `failure`: what
 *                                                       is known of it, or null
 *   {"report": "guard", "turn", "cause": "guard" | "nan", "message", "verdict"}
 *   {"report": "silent" | "examined" | "pace", "turn", ...}    as worker/node/vigil.h has them
 *   {"report": "gone", "turn"}
 *   {"report": "ended", "turn", "final", "ended", "last_step" and "checkpoint" (a step) or null,
 * "failed" and "failure" as above or null, "idle": true where the run has no ranks here, "shards":
 * how many were done}
 *
 * They are short enough for srun to pass them on in one piece (REPORT_MAX). */
#ifndef PHASED_WORKER_NODE_NODE_RUN_H
#define PHASED_WORKER_NODE_NODE_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

struct node_run;

/* All borrowed until the run is closed. */
struct node_run_options {
    uv_loop_t *loop;
    const char *run_dir;
    const char *node;    /* SLURMD_NODENAME */
    unsigned node_index; /* SLURM_NODEID */
    unsigned restarts;   /* SLURM_RESTART_COUNT */
    unsigned turn;       /* the lead's own number of the run, in all reports of it */
    const char *program; /* path of phase-worker */
    void (*report)(void *context, json_t *report);
    void *context;
};

/* Never fails: what goes wrong is reported. */
struct node_run *node_run_start(const struct node_run_options *options);

/* All nodes of the run are fit: the ranks that wait for that start. */
void node_run_go_on(struct node_run *run);

/* The ladder: the program's stop signal now, unless Slurm has just sent the same to all processes,
 * and KILL after `seconds`. A second call can only make it shorter. */
void node_run_stop(struct node_run *run, unsigned seconds);
/* The same, when Slurm's SIGTERM is on its way to all steps of the job: see crew_expect(). */
void node_run_expect(struct node_run *run, unsigned seconds, bool shielded);
/* KILL to all that is left, now. */
void node_run_kill(struct node_run *run);

/* Some node has told what makes the checkpoints that follow suspect. */
void node_run_suspect(struct node_run *run);

/* The lead asks whether the run hangs: looks at the processes, and reports "examined". */
void node_run_examine(struct node_run *run);
/* It does: what was found goes into the journal. */
void node_run_testify(struct node_run *run);

/* The run was begun without the daemon, which knows it now: from now on its journal is pushed. */
void node_run_number(struct node_run *run);

/* Slurm has sent SIGTERM to every process of the step. */
void node_run_terminated(struct node_run *run);

/* Takes the ends of children: call it at each SIGCHLD. */
void node_run_reap(struct node_run *run);

/* All groups have succeeded, on all nodes: what they have made is joined, on the first one. It is
 * gone again when that is done. */
void node_run_join(struct node_run *run);

/* The run is gone on all nodes. */
void node_run_finish(struct node_run *run);

/* No process of the run is left on this node. */
bool node_run_is_over(const struct node_run *run);

/* Ends the link, waiting at most `drain_ms` for the daemon, and frees the run once its handles are
 * closed, in the loop. What runs is killed. Accepts NULL. */
void node_run_close(struct node_run *run, int drain_ms);

#endif
