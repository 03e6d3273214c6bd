/* What a run finds when it begins, and what Slurm is asked for: folders, secrets, checkpoints to
 * resume from, the orders and their answers. */
#ifndef PHASED_DAEMON_LAUNCH_LAUNCH_H
#define PHASED_DAEMON_LAUNCH_LAUNCH_H

#include "daemon/slurm/cluster.h"
#include "lib/mac.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct allocation;
struct error;
struct home;
struct loop;
struct saved_limit;
struct phase;
struct room;
struct run;
struct store;
struct store_launch;

extern const struct room launch_room;

/* Prepares what a run finds that is to go on in the seat of the run before it; what came of it as
 * a room says it. CARRIED_OUT: all is there, and `ret_is_begun` says whether its lead has begun the
 * run already, alone. */
int launch_next(struct loop *loop, const struct run *run, bool *ret_is_begun);

/* When Slurm expects to start a job that waits, in seconds since 1970; 0: it has not said. */
int64_t launch_expected_start(struct loop *loop, uint32_t slurm_id);

/* The secret that the messages of the run are signed with. -ENOENT: there is no such run, or it has
 * none yet. */
int launch_secret(struct loop *loop, uint64_t run, struct mac_secret *ret_secret,
                  struct error *err);

/* --- folder.c --------------------------------------------------------------------------------- */

/* The folders of workflows, jobs and runs below $PHASED_HOME/runs; doc/protocol.md has their
 * contents.
 *
 * What is written here can all be made again from the record, so nothing is synced to disk: after a
 * power failure a job that starts may find an empty file and fail, and its run is repeated. A run's
 * folder appears whole, by rename, since a lead that goes on alone makes the same one: whoever
 * comes second finds it. Files that somebody may be reading are replaced by rename. What runs write
 * (journal/, log/, out/) their workers make. */
struct folder {
    char *workflow, *job, *phase, *out, *run;
    char *own; /* of the job itself, for its log; of a candidate it is another than `job` */
};

void folder_init(struct folder *folder, const struct home *home, const struct run *run);
void folder_fini(struct folder *folder);

/* What the run that is made there resumes from: an object, or JSON's null; NULL when that cannot be
 * read. A new reference. */
json_t *folder_resume(const struct folder *folder);
/* Puts a tombstone into the run's folder, synced: no lead begins the run any more. Where there is
 * no such folder, or it is of another job, there is nothing to do. */
int folder_seal(const struct folder *folder, const struct run *run, struct error *err);

/* --- resume.c --------------------------------------------------------------------------------- */

/* Which checkpoint a run begins from.
 *
 * The core names the newest one that was told. When the run's folder is made, the files are looked
 * at: one that is not there any more, or has not its size any more, is passed over for the one
 * before; likewise one from which an earlier run made no step before its program failed. One that
 * is suspect, saved when a guard had broken or NaN had come, only a person can choose. What was
 * made before the phase was begun anew counts no more, however new its steps. What was chosen
 * stands in run.json, and the core learns it when the run starts.
 *
 * Each is a new reference to {"path", "step"}, or to JSON's null. */

/* The newest checkpoint that the run has saved before step `since`, as the record has it or in the
 * list `more` of journal entries; null: there is none. Of a run that a person had begin with a
 * suspect one it may be a good one from before. */
int resume_before(struct store *store, const struct run *run, int64_t since, const json_t *more,
                  json_t **ret_resume, struct error *err);
/* The whole checkpoint before the newest one that leads to where the phase is; null: there is none
 * before it. Where the newest is suspect, that is the newest one that is not. */
int resume_previous(struct store *store, const struct phase *phase, json_t **ret_resume,
                    struct error *err);
/* What a person means by `from`: "start", the step of a recorded checkpoint, or its path; with an
 * empty path for the start. -ENOENT: no such one is whole; the message names those that are. */
int resume_find(struct store *store, const struct phase *phase, const char *from,
                json_t **ret_found, struct error *err);

/* --- search.c --------------------------------------------------------------------------------- */

/* Looks for checkpoints of a run that nobody has told: its agents were killed before they saw them,
 * or their last words were lost. Posts those that it finds, as the run's journals would have told
 * them. What agents that ended by themselves did not believe is not among them. `more` are entries
 * of its journals that the record may not have yet. Nor are those beyond the limit or beyond what
 * the core knows as suspect. False: there is nothing. */
bool search_left(struct loop *loop, struct run *run, const json_t *more,
                 const struct saved_limit *limit);
/* search_left() for the run before this one, which is about to be prepared or begins from something
 * that nobody has told: a program that outlives its agents may save after the end of its run. True:
 * there is something, and the record has it a moment later. */
bool search_again(struct loop *loop, const struct run *run);

/* --- job_order.c ------------------------------------------------------------------------------ */

/* What the cluster is asked to submit, from a run and what the record has of it. */
struct job_order {
    struct cluster_description description; /* points into the rest */
    char *name, *script, *output;
    const char **environment, **limits;
    char **owned; /* texts that the arrays and options point to; NULL-terminated */
    struct cluster_option *options;
};

/* `launch` and `folder` are borrowed for as long as the order lives. `worker` is the path of
 * phase-worker. `excluded` are nodes that it leaves out besides those the spec does, with commas
 * between; NULL: none. */
void job_order_init(struct job_order *order, const struct run *run, const struct allocation *job,
                    const struct folder *folder, const struct store_launch *launch,
                    const char *worker, const char *excluded);
void job_order_fini(struct job_order *order);

#endif
