/* One run as the lead sees it: what is to be done, its record, and how it ended.
 *
 * The first cause decides the outcome; what follows from it (ranks that die of the stop) does
 * not. */
#ifndef PHASED_WORKER_LEAD_LEAD_RUN_H
#define PHASED_WORKER_LEAD_LEAD_RUN_H

#include "worker/protocol/outcome.h"

#include <jansson.h>
#include <stdbool.h>

struct assignment;
struct commands;
struct error;
struct inquiry_answer;
struct journal;
struct link;

struct lead_run {
    struct assignment *assignment;
    struct journal *journal;
    struct link *link;  /* NULL while the daemon does not know the run */
    char *command_file; /* the link's */
    struct outcome outcome;
    int64_t saved_step; /* of the newest checkpoint, as the nodes told at their end; or -1 */
    unsigned shards;    /* how many were done in it */
    bool is_decided;
    json_t *failed; /* the first rank that failed, as its node told at its end; or NULL */
    char *failed_node;
    json_t *failure; /* what tells most of why it failed (worker/health/failure.h); or NULL */
    char *failure_node;
    bool is_requeued;   /* Slurm has requeued the job already, and is killing it */
    bool is_ended;      /* the outcome is told */
    bool needs_writing; /* and outcome.json could not be written yet */
    bool is_overtaken;  /* another lead has told it: this one was believed gone, and just leaves */
};

/* Prepares the run in `run_dir`: its folders, script, journal and link, over which commands go to
 * `commands`. A run that another lead has begun is over (`is_ended`): with the outcome that it has,
 * or, when that lead was killed with its job, the one that the journals tell, which is written
 * now. Only its link is of use then. */
int lead_run_open(const char *run_dir, struct commands *commands, struct lead_run **ret_run,
                  struct error *err);
/* Waits at most `drain_ms` for the daemon to take the rest of the journal. Accepts NULL. */
void lead_run_close(struct lead_run *run, int drain_ms);

/* The daemon gave a number to a run that was begun alone: reads it, and opens its link. -EAGAIN:
 * not yet to be seen here. */
int lead_run_number(struct lead_run *run, struct commands *commands, struct error *err);

/* Adds an entry to the journal and tells the daemon at once. Takes over the reference. */
void lead_run_tell(struct lead_run *run, const char *type, json_t *members);

/* Decides how the run will have ended, if that is open. Returns false when it was not. */
bool lead_run_decide(struct lead_run *run, enum outcome_kind kind, enum outcome_cause cause,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Decides by a report's description of a failed rank, {"rank": 3, "code", "signal", "line"}; a
 * group's has "group" instead, the only process of a node neither. */
bool lead_run_decide_failed(struct lead_run *run, const json_t *failed, const char *node);

/* What there is to tell by why a run was stopped from outside. */
struct lead_run_evidence {
    const struct inquiry_answer *answer; /* what Slurm says of the job */
    const char *complaint;               /* what srun said of the step, or empty */
    bool is_at_limit;                    /* the time of the job is over */
    bool was_launching;                  /* the agents were not all there */
};

/* Decides by that, and tells of a stop. Without an answer a signal counts as preemption: a run too
 * many is better than one too few. Returns whether Slurm is ending the job, and so signals all of
 * its steps. */
bool lead_run_decide_by(struct lead_run *run, const struct lead_run_evidence *evidence);

/* Tells of a stop that was decided. */
void lead_run_tell_stop(struct lead_run *run, const char *why);

/* How long the ranks have to stop, once that is decided. */
unsigned lead_run_stop_seconds(const struct lead_run *run);

/* A node's ranks run. */
void lead_run_add_start(struct lead_run *run, const json_t *report);
/* Takes what a node found of why the run failed: a report's `failure`, which may be null. */
void lead_run_add_failure(struct lead_run *run, const char *node, const json_t *failure);
/* Takes what one node tells at its end. A failed rank in it decides only when nothing else does
 * until lead_run_end(). */
void lead_run_add_end(struct lead_run *run, const char *node, const json_t *report);
/* For a node that is gone: what its journal holds is its end. */
void lead_run_add_lost(struct lead_run *run, const char *node);

/* Ends the run: the last entry, and outcome.json. When nothing was decided, a rank that failed
 * does, or an output that is not there; otherwise it has succeeded. What was recognised of a
 * failure says its cause. A run that the daemon has declared over ends as cancelled, whatever came
 * of it. An outcome that another lead of the job has written stays, and is the run's. */
void lead_run_end(struct lead_run *run);
/* Tries again to write outcome.json, if that failed; one that is there stays, as above. */
int lead_run_write(struct lead_run *run, struct error *err);

#endif
