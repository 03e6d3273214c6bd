/* What the parts of a run on a node share; of node_run*.c alone.
 *
 *   node_run_start.c  the start: the preflight, files of other nodes, shards, the ranks; and what
 *                     joins the work of groups
 *   node_run.c        reports, the journal, the end, what the owner asks
 *
 * node_run_start.c calls node_run.c, and is never called by it. */
#ifndef PHASED_WORKER_NODE_NODE_RUN_STATE_H
#define PHASED_WORKER_NODE_NODE_RUN_STATE_H

#include "worker/node/rank_environment.h"
#include "worker/process/environment.h"
#include "worker/health/gpu_fault.h"
#include "worker/node/node_run.h"
#include "worker/node/rendezvous.h"

#include <stdint.h>

struct assignment;
struct crew;
struct crew_rank;
struct groups;
struct journal;
struct link;
struct nodecheck;
struct observer;
struct shards;
struct vigil;

enum node_run_state { NODE_RUN_STARTING, NODE_RUN_RUNNING, NODE_RUN_GONE, NODE_RUN_ENDED };

struct node_run {
    struct node_run_options options;
    char *run_dir, *channel, *log_folder;
    enum node_run_state state;
    struct assignment *assignment; /* NULL until it could be read */
    struct assignment *numbered;   /* of a run begun alone, once the daemon knows it */
    bool wants_number;             /* the lead says that it does */
    struct rendezvous rendezvous;
    struct environment environment;
    struct rank_place place;
    struct groups *groups;   /* of launch: group, else NULL */
    struct shards *shards;   /* where the input is split, else NULL */
    struct nodecheck *check; /* the preflight; NULL: not begun, or none */
    bool is_fit;             /* the lead says that all nodes are */
    struct journal *journal; /* this and the next three: NULL where the run has no ranks */
    struct link *link;
    struct observer *observer;
    struct crew *crew;
    struct crew *joined;    /* the groups, once `crew` joins what they have made; else NULL */
    struct vigil *vigil;    /* NULL before the ranks have started */
    bool has_looked;        /* for what tells why it failed */
    json_t *failure;        /* what was found: see worker/health/failure.h; or NULL */
    bool has_failed;        /* a rank has, before the run was stopped */
    bool has_done_its_part; /* all ranks ended well by themselves, and what is to be joined is */
    struct gpu_fault fault;
    double started_s, ended_s;
    int64_t files_by_ms;
    uv_timer_t starter, ticker;
    unsigned handles;
};

/* Opens the journal of the run, and its link when the daemon knows the run. */
void node_run_open_journal(struct node_run *run);
/* Reports to the owner; takes over the reference. */
void node_run_report(struct node_run *run, json_t *report);
/* Adds an entry to the journal, and tells the daemon at once. Likewise. */
void node_run_add(struct node_run *run, const char *type, json_t *members);
/* The journal holds something that the daemon should know at once. */
void node_run_urgent(void *context);
/* What a rank's failure is to the owner; JSON's null for NULL. */
json_t *node_run_failure(const struct node_run *run, const struct crew_rank *rank);
/* Looks for what tells why the run failed: before it is stopped, or just then, as what the ranks
 * print after that follows from it. */
void node_run_look_for_failure(struct node_run *run);
/* Ends the preflight, if there is one. */
void node_run_end_check(struct node_run *run);
/* Nothing of the run is left on this node. */
void node_run_go(struct node_run *run);

/* Looks whether run.json has its number here, as what the daemon has written may be seen late. */
void node_run_look_for_number(struct node_run *run);

#endif
