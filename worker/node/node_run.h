/* One run on one node: its ranks, their output, the stop ladder, the node's journal and its link.
 *
 *   starting -> running -> gone -> ended
 *
 * In the state starting, the run waits for the preflights of all nodes, if it has a preflight
 * (node_run_go_on), and for files that other nodes write. In the state gone, no process of the run
 * is left on this node, and the journal has all observations. When all nodes are gone, the agent
 * calls node_run_finish(). Then the run ends here with its last journal entry. A run on one node
 * without a join ends by itself.
 *
 * The run sends reports to the agent (lib/protocol/report.h), and the agent passes them on to the
 * lead. */
#ifndef PHASED_WORKER_NODE_NODE_RUN_H
#define PHASED_WORKER_NODE_NODE_RUN_H

#include "lib/protocol/report.h"

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

struct node_run;

/* All members are borrowed until the run is closed. */
struct node_run_options {
    uv_loop_t *loop;
    const char *run_dir;
    const char *node;      /* SLURMD_NODENAME */
    unsigned node_index;   /* SLURM_NODEID */
    unsigned restarts;     /* SLURM_RESTART_COUNT */
    unsigned start_number; /* the lead's number for the run, in all its reports */
    const char *program;   /* path of phase-worker */
    void (*report)(void *context, struct report *report); /* the agent adds the node */
    void *context;
};

/* Never fails: errors are reported. */
struct node_run *node_run_start(const struct node_run_options *options);

/* All nodes of the run are fit. Starts the waiting ranks. */
void node_run_go_on(struct node_run *run);

/* Stops by the ladder: the program's stop signal now, unless Slurm has just sent the same signal to
 * all processes, and KILL after `seconds`. A second call can only shorten the time. */
void node_run_stop(struct node_run *run, unsigned seconds);
/* Stops while Slurm sends SIGTERM to all job steps of the job: see crew_expect(). */
void node_run_expect(struct node_run *run, unsigned seconds, bool shielded);
/* Sends KILL to all remaining processes now. */
void node_run_kill(struct node_run *run);

/* A report of another node makes new checkpoints suspect from now on. */
void node_run_suspect(struct node_run *run);

/* The lead asks whether the run hangs. Looks at the processes, and reports "examined". */
void node_run_examine(struct node_run *run);
/* The run hangs. Puts the evidence into the journal. */
void node_run_save_evidence(struct node_run *run);

/* The daemon now knows this run, which was begun alone. Opens the link, which pushes the journal.
 */
void node_run_number(struct node_run *run);

/* Slurm has sent SIGTERM to the job step of the agents. `reached_all`: to all its processes. */
void node_run_terminated(struct node_run *run, bool reached_all);

/* Reaps children. Call it at each SIGCHLD. */
void node_run_reap(struct node_run *run);

/* All groups on all nodes have succeeded. The first node joins their output, and is gone again when
 * that is done. */
void node_run_join(struct node_run *run);

/* The run is gone on all nodes. */
void node_run_finish(struct node_run *run);

/* Whether no process of the run is left on this node. */
bool node_run_is_over(const struct node_run *run);

/* Kills the remaining processes, and closes the link, waiting at most `drain_ms` for the daemon, or
 * 10 s if the journal's file lacks entries (a full disk). Frees the run in the loop when its
 * handles are closed. Accepts NULL. */
void node_run_close(struct node_run *run, int drain_ms);

#endif
