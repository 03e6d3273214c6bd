/* The state that the parts of a run on a node share. Only node_run*.c includes this file.
 *
 *   node_run_start.c  the start: the preflight, files of other nodes, shards, the ranks, the join
 *   node_run.c        reports, the journal, the end, the requests of the agent
 *
 * node_run_start.c calls node_run.c, but not the other way round. */
#ifndef PHASED_WORKER_NODE_NODE_RUN_STATE_H
#define PHASED_WORKER_NODE_NODE_RUN_STATE_H

#include "lib/protocol/entry.h"
#include "worker/health/failure.h"
#include "worker/node/node_run.h"
#include "worker/node/rank_environment.h"
#include "worker/node/rendezvous.h"
#include "worker/process/environment.h"

#include <stdint.h>

struct assignment;
struct container;
struct crew;
struct crew_rank;
struct groups;
struct journal;
struct link;
struct nodecheck;
struct observer;
struct shards;
struct watchdog;

enum node_run_state { NODE_RUN_STARTING, NODE_RUN_RUNNING, NODE_RUN_GONE, NODE_RUN_ENDED };

struct node_run {
    struct node_run_options options;
    char *run_dir, *channel, *log_folder;
    enum node_run_state state;
    struct assignment *assignment; /* NULL until it was read */
    struct assignment *numbered;   /* the assignment with the number, for a run begun alone */
    bool wants_number;             /* the lead says that the run has a number */
    struct rendezvous rendezvous;
    struct environment environment;
    struct rank_place place;
    struct groups *groups;       /* with launch: group, otherwise NULL */
    struct container *container; /* NULL: the ranks run without a container */
    struct shards *shards;       /* if the input is split, otherwise NULL */
    struct nodecheck *check;     /* the preflight; NULL: no preflight has begun */
    bool is_fit;                 /* the lead says that all nodes are fit */
    struct journal *journal;     /* this and the next three are NULL if the run has no ranks here */
    struct link *link;
    struct observer *observer;
    struct crew *crew;
    struct crew *joined;       /* the groups, while `crew` is the joining process; otherwise NULL */
    struct watchdog *watchdog; /* NULL before the ranks have started */
    bool has_looked;           /* for the reason of the failure */
    json_t *failure;           /* the finding of worker/health/failure.h, or NULL */
    bool has_failed;           /* a rank has failed before the run was stopped */
    bool has_done_its_part;    /* all ranks succeeded, and the join is done if there is one */
    bool was_terminated;       /* Slurm has sent SIGTERM to the job step of the agents */
    struct gpu_fault fault;
    double started_s, ended_s;
    int64_t files_by_ms;
    uv_timer_t starter, ticker;
    unsigned handles;
};

/* Opens the journal of the run, and its link if the daemon knows the run. */
void node_run_open_journal(struct node_run *run);
/* Reports to the agent, with the number of this start. `context` is the run. */
void node_run_report(void *context, struct report *report);
/* Adds an entry to the journal and wakes the link. Takes over the reference to `entry->json`. */
void node_run_add(struct node_run *run, const struct entry *entry);
/* Writes the journal and wakes the link, because the daemon should know at once. */
void node_run_urgent(void *context);
/* Describes the failure of a rank for a report. NULL if `rank` is NULL. */
json_t *node_run_failure(const struct node_run *run, const struct crew_rank *rank);
/* Looks for the reason of a failure. This happens before or just when the run is stopped, because
 * later output is only a consequence. */
void node_run_look_for_failure(struct node_run *run);
void node_run_end_check(struct node_run *run);
/* No process of the run is left on this node. */
void node_run_go(struct node_run *run);

/* Looks whether the number of the run is in run.json. The file of the daemon may become visible
 * here late. */
void node_run_look_for_number(struct node_run *run);

#endif
