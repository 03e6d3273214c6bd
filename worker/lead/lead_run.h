/* One run, from the point of view of the lead: its assignment, its journal and its outcome.
 *
 * The first cause decides the outcome. Later events, such as ranks that die of the stop, do not
 * change it. */
#ifndef PHASED_WORKER_LEAD_LEAD_RUN_H
#define PHASED_WORKER_LEAD_LEAD_RUN_H

#include "lib/protocol/entry.h"
#include "lib/protocol/outcome.h"
#include "lib/protocol/report.h"

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
    char *command_file; /* of the link */
    struct outcome outcome;
    int64_t saved_step;   /* of the newest checkpoint that the nodes reported at their end; or -1 */
    unsigned shards;      /* shards that were done in this run */
    unsigned shards_over; /* shards that needed no work in this run */
    bool is_decided;
    json_t *failed; /* the first failed rank, as its node reported at its end; or NULL */
    char *failed_node;
    json_t *failure; /* the best known reason of the failure (worker/health/failure.h); or NULL */
    char *failure_node;
    bool is_requeued;   /* Slurm has already requeued the job, and is killing it */
    bool is_checked;    /* Slurm was asked whether the run has requeued its job */
    bool is_ended;      /* the outcome is decided and in the journal */
    bool needs_writing; /* outcome.json could not be written yet */
    bool is_overtaken;  /* another lead, which took this lead for dead, has written the outcome */
    unsigned unread_claim; /* a claim that may be of this run, but cannot be read; or 0 */
};

/* Prepares the run in `run_dir`: its folders, script, journal and link. The link gives commands to
 * `commands`. If another lead has begun the run, the run is over (`is_ended`). Its outcome then
 * comes from outcome.json. If that lead was killed with its job, the outcome comes from the
 * journals, and is written now. Only the link of such a run is used. */
int lead_run_open(const char *run_dir, struct commands *commands, struct lead_run **ret_run,
                  struct error *err);
/* Looks again whether another lead has begun the run, if a claim could not be read before. -EAGAIN:
 * the claim `unread_claim` still cannot be read. */
int lead_run_look_again(struct lead_run *run, struct error *err);
/* Waits at most `drain_ms` for the daemon to take the rest of the journal. Accepts NULL. */
void lead_run_close(struct lead_run *run, int drain_ms);

/* Reads the number that the daemon gave to a run that was begun alone, and opens the link of the
 * run. -EAGAIN: the number is not visible here yet. */
int lead_run_number(struct lead_run *run, struct commands *commands, struct error *err);

/* Lets the run begin from another checkpoint if that is needed. After the daemon had prepared this
 * run, the run before may have saved a newer checkpoint, or may have removed the checkpoint that
 * the daemon chose. Then this run begins from the newest existing checkpoint. Call it when no
 * process of an earlier run of the phase can write any more. */
void lead_run_choose_newest(struct lead_run *run);

/* Adds an entry to the journal and wakes the link. Takes over the reference. */
void lead_run_tell(struct lead_run *run, const struct entry *entry);

/* Adds a warning for people. */
void lead_run_warn(struct lead_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Decides the outcome of the run. Returns false, and changes nothing, if it was decided already. */
bool lead_run_decide(struct lead_run *run, enum run_outcome kind, enum run_cause cause,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Decides the outcome from a report about a failed rank, such as {"rank": 3, "code", "signal",
 * "line"}. The report about a group has "group" instead of "rank". The report about the only
 * process of a node has neither. */
bool lead_run_decide_failed(struct lead_run *run, const json_t *failed, const char *node);

/* What is known about a stop from outside. */
struct lead_run_facts {
    const struct inquiry_answer *answer; /* what Slurm says of the job */
    const char *complaint;               /* what srun printed about the job step, or empty */
    const char *signal;                  /* which signal has stopped the run */
    bool is_at_limit;                    /* the job has reached its time limit */
    bool is_near_limit;                  /* that signal comes from the time limit */
    bool was_launching;                  /* not all agents had started */
};

/* Decides the outcome from these facts, and reports a stop. If Slurm does not answer, a signal
 * counts as preemption: an unneeded run is better than a missing run. Returns whether Slurm is
 * ending the job and so signals all of its job steps. */
bool lead_run_decide_by(struct lead_run *run, const struct lead_run_facts *facts);

/* Whether the processes of the run have ended, with success or not, and nothing has stopped them.
 */
bool lead_run_ended_itself(const struct lead_run *run);
/* Decides that a run that ended itself was preempted, if Slurm says that the job was requeued. */
void lead_run_check_requeue(struct lead_run *run, const struct inquiry_answer *answer);

/* Reports a decided stop. */
void lead_run_tell_stop(struct lead_run *run, enum stop_reason why);
/* Decides the outcome that follows from this reason, and reports the stop. Returns false, and does
 * nothing, if the outcome was decided already. */
bool lead_run_stop(struct lead_run *run, enum stop_reason why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* How long the ranks have to stop, after the outcome is decided. */
unsigned lead_run_stop_seconds(const struct lead_run *run);

/* The ranks of a node have started. */
void lead_run_add_start(struct lead_run *run, double time);
/* Takes the reason of the failure that a node has found: the member `failure` of a report, which
 * may be null. */
void lead_run_add_failure(struct lead_run *run, const char *node, const json_t *failure);
/* Takes the last report of a node. A failed rank in it decides the outcome only in lead_run_end(),
 * if nothing else has decided it before. */
void lead_run_add_end(struct lead_run *run, const char *node, const struct report *report);
/* Takes the end of a lost node from the node's journal. */
void lead_run_add_lost(struct lead_run *run, const char *node);

/* Ends the run: decides the outcome, adds the last entry and writes outcome.json. If nothing was
 * decided, a failed rank or a missing output decides; otherwise the run has succeeded. A recognised
 * failure gives the cause. If the daemon has declared the run over, the run ends as cancelled in
 * any case. If another lead of the job has written an outcome, that outcome stays, and the run
 * takes it over. */
void lead_run_end(struct lead_run *run);
/* Tries again to write outcome.json, if an earlier try failed. An outcome.json of another lead
 * stays, as in lead_run_end(). */
int lead_run_write(struct lead_run *run, struct error *err);

#endif
