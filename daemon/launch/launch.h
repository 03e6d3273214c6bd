/* What a run finds when it begins: its folder, its secret, and the checkpoint to resume from. Also
 * what Slurm is asked for, and what Slurm answers. */
#ifndef PHASED_DAEMON_LAUNCH_LAUNCH_H
#define PHASED_DAEMON_LAUNCH_LAUNCH_H

#include "daemon/slurm/cluster.h"

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

extern const struct room launch_room, secrets_room;

/* Prepares the folder of a run that goes on in the seat of the run before it, or that joins an
 * allocation. Returns what carry() of a room returns. CARRIED_OUT: the folder is complete, and
 * `ret_is_begun` says whether the lead has begun the run already by itself. */
int launch_next(struct loop *loop, const struct run *run, bool *ret_is_begun);

/* When Slurm expects to start a waiting job, in seconds since 1970; 0: Slurm has not said. */
int64_t launch_expected_start(struct loop *loop, uint32_t slurm_id);

/* --- The secrets of workflows, in secrets.c --------------------------------------------------- */

/* The file with the secrets of a workflow (lib/secrets.h). The caller frees the path. */
char *launch_secrets_path(const struct home *home, uint64_t workflow);
/* Writes the file, in the transaction that adds the workflow. */
int launch_secrets_write(const struct home *home, uint64_t workflow, const json_t *secrets,
                         struct error *err);
/* Whether the environment of the phase has secrets. */
bool launch_needs_secrets(const struct store_launch *launch);
/* Whether the programs of a phase can get all values of their environment. -ENOENT: a value was
 * removed. */
int launch_secrets_find(const struct home *home, uint64_t workflow,
                        const struct store_launch *launch, struct error *err);
/* As launch_secrets_find(), of a phase that a person wants to run. */
int launch_secrets_check(struct loop *loop, const struct phase *phase, struct error *err);

/* --- folder.c --------------------------------------------------------------------------------- */

/* The folders of workflows, jobs and runs below $PHASED_HOME/runs. doc/protocol.md describes their
 * contents.
 *
 * The daemon can make all these files again from the record, so it syncs none of them to disk.
 * After a power failure a job may find an empty file and fail. Its run is then repeated. A run's
 * folder appears whole, by rename, because a lead that goes on alone may make the same folder. A
 * lead has made the folder once it has written run.json. Files that somebody may be reading are
 * replaced by rename. Workers make the folders that runs write to (journal/, log/, out/). */
struct folder {
    char *workflow, *job, *phase, *out, *run;
    char *own; /* of the job itself, for its log; a candidate has a folder other than `job` */
};

void folder_init(struct folder *folder, const struct home *home, const struct run *run);
void folder_fini(struct folder *folder);

/* Reads what the run in this folder resumes from: a new reference. NULL: the run begins anew, or
 * its run.json cannot be read, which is an error. */
int folder_resume(const struct folder *folder, json_t **ret_resume);
/* Puts a tombstone into the run's folder, and syncs the tombstone. From then on no lead begins the
 * run. If the run never began, makes the folder first. Does nothing if the run has begun and its
 * folder is gone, or if the folder belongs to another job. */
int folder_seal(const struct folder *folder, const struct run *run, struct error *err);

/* --- resume.c --------------------------------------------------------------------------------- */

/* Which checkpoint a run begins from.
 *
 * The core names the newest checkpoint that was told. When the run's folder is made, the daemon
 * looks at the files. It passes over a checkpoint that is gone or has changed its size, and a
 * checkpoint from which an earlier run failed before its first step. The checkpoint before takes
 * its place. Only a person can choose a suspect checkpoint, which was saved when a guard had failed
 * or NaN had come. If the phase was begun anew, no earlier checkpoint counts, whatever its step.
 * run.json has the choice, and the core learns it when the run starts.
 *
 * Each result is a new reference to {"path", "step"}, or NULL. */

/* Finds the newest checkpoint that the run saved before step `since`. It looks in the record and in
 * `more`, a list of journal entries. If a person let the run begin with a suspect checkpoint, it
 * may be an earlier good checkpoint. NULL: there is no such checkpoint. */
int resume_before(struct store *store, const struct run *run, int64_t since, const json_t *more,
                  json_t **ret_resume, struct error *err);
/* Finds the whole checkpoint before the newest one, among the checkpoints that lead to where the
 * phase is. If the newest checkpoint is suspect, finds the newest checkpoint that is not suspect.
 * NULL: there is no such checkpoint. */
int resume_previous(struct store *store, const struct phase *phase, json_t **ret_resume,
                    struct error *err);
/* Finds what a person means by `from`: "start", the step of a recorded checkpoint, or its path. For
 * "start" the path of the result is empty. -ENOENT: no such checkpoint is whole. The message then
 * names the checkpoints that are whole. */
int resume_find(struct store *store, const struct phase *phase, const char *from,
                json_t **ret_found, struct error *err);

/* --- search.c --------------------------------------------------------------------------------- */

/* Looks for checkpoints of a run that nobody has told, because its agents were killed before they
 * saw the files, or because their last words were lost. Posts what it finds as the run's journals
 * would have told it. `more` are entries of the journals that may not be in the record yet. Three
 * kinds of checkpoints are left out: those that an agent did not take for whole before it ended by
 * itself, those beyond the limit, and those that the core knows as suspect. False: nothing was
 * found. */
bool search_left(struct loop *loop, struct run *run, const json_t *more,
                 const struct saved_limit *limit);
/* Does search_left() for the run before this run. This run is about to be prepared, or has begun
 * from a checkpoint that nobody has told. A program that outlives its agents may save after the end
 * of its run. True: a checkpoint was found, and the record will have it in a moment. */
bool search_again(struct loop *loop, const struct run *run);

/* --- job_order.c ------------------------------------------------------------------------------ */

/* What the cluster is asked to submit. It is made from the run and from what the record says about
 * the run. */
struct job_order {
    struct cluster_description description; /* points into the rest */
    const char **environment, **limits;
    struct cluster_option *options;
    char **kept; /* the texts of all of these */
    size_t kept_count;
};

/* `launch` and `folder` are borrowed for as long as the order lives. `worker` is the path of
 * phase-worker. `excluded` are nodes that the order leaves out besides the nodes that the spec
 * excludes, with commas between; NULL: no nodes. */
void job_order_init(struct job_order *order, const struct run *run,
                    const struct allocation *allocation, const struct folder *folder,
                    const struct store_launch *launch, const char *worker, const char *excluded);
void job_order_fini(struct job_order *order);

#endif
