/* The record: everything that phased knows, in one SQLite file, and the only place that speaks SQL.
 *
 * The daemon that opened the record last is its one writer. The record itself says which daemon
 * that is: for any other daemon store_begin() fails with -ESTALE. Everything is written between
 * store_begin() and store_commit(). A write that failed spoils its transaction: store_commit() then
 * rolls back and returns the first failure, so a caller may check the commit alone. Nothing is ever
 * half written. After a failed commit the same transaction may be tried again later.
 *
 * A caller may act on these failures, besides those that a function names: -ENOSPC (the disk or the
 * quota is full), -EROFS, -EACCES, -EBUSY (another program holds the file: try again), -EIO,
 * -EUCLEAN (the file is damaged). Times are milliseconds since 1970. Only one thread may use a
 * store.
 *
 * store/answers.h has what the API answers. doc/record.md is the schema for people. */
#ifndef PHASED_DAEMON_STORE_STORE_H
#define PHASED_DAEMON_STORE_STORE_H

#include "lib/mac.h"
#include "lib/protocol/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct core;
struct core_config;
struct core_effect;
struct error;
struct metrics;
struct phase;
struct store;
struct workflow;

/* --- The file --------------------------------------------------------------------------------- */

/* Opens the record at `path`. Makes the file (mode 0600) or brings it up to date if needed. `runs`
 * is the folder of runs, for paths in answers. Memory maps and locks of a network's file system
 * cannot be trusted: there the file is held exclusively and kept without WAL.
 *
 * -EINVAL: the file is not a record of phased. -ENOTSUP: a newer phased has written it. */
int store_open(const char *path, const char *runs, struct store **ret_store, struct error *err);
/* Rolls back what was not committed. Accepts NULL. */
void store_close(struct store *store);

/* Must not be called inside a transaction. -ESTALE: another daemon has opened the record since this
 * daemon did. */
int store_check_lease(struct store *store, struct error *err);

/* The name of the cluster that has the jobs of the record; empty: not known yet. */
int store_cluster(struct store *store, char *name, size_t size, struct error *err);
int store_set_cluster(struct store *store, const char *name, struct error *err);

/* Whether a transaction can be committed now. Changes nothing. Negative if not. */
int store_try_commit(struct store *store, struct error *err);

int store_begin(struct store *store, struct error *err);
int store_commit(struct store *store, struct error *err);
/* Does nothing without a transaction. */
void store_rollback(struct store *store);
/* Whether a failure with this code may pass by itself or by a person's help: a full disk, a lock, a
 * file system that is away. If a write fails with another code, the record will never take its row.
 * Such a row is a mistake in phased. */
bool store_may_pass(int code);
/* Called after a write failed with -EINVAL because of its values. SQLite has undone this write
 * alone, and the transaction goes on without it. False: the transaction is lost. */
bool store_excuse(struct store *store);

/* --- Workflows -------------------------------------------------------------------------------- */

/* What came with a workflow and the core does not need. All pointers are borrowed. */
struct store_submission {
    const char *file;          /* as the client named it */
    const char *spec;          /* its text */
    const json_t *set;         /* object, or NULL */
    const json_t *resolved;    /* the whole document of lib/spec/spec.h */
    const char *workdir;       /* where submit was called */
    const json_t *environment; /* object of strings */
    unsigned umask;
    const json_t *limits;     /* list of "NOFILE=1024" */
    const char *host;         /* of the client */
    const char *key;          /* the client's, so that it may ask again; NULL: no key */
    const json_t *provenance; /* object of texts (cli/provenance.h), "snapshot" too; NULL: none */
};

/* Writes a new workflow with its phases and edges, after core_add() has given them ids. From then
 * on store_apply() writes what changes. -EEXIST: the record has the key already. */
int store_workflow_insert(struct store *store, const struct workflow *workflow,
                          const struct store_submission *submission, struct error *err);
/* The state of the workflow, as v_workflow has it. `ret_ended_ms` (or NULL) gets the time when the
 * workflow ended; 0: the workflow has not ended. -ENOENT. */
int store_workflow_state(struct store *store, uint64_t workflow, enum workflow_state *ret_state,
                         int64_t *ret_ended_ms, struct error *err);
/* Finds the workflow that was submitted with this key; -ENOENT. */
int store_find_key(struct store *store, const char *key, uint64_t *ret_workflow, struct error *err);
/* Finds the workflow of the job with this token, or of this run; -ENOENT. */
int store_find_token(struct store *store, const char *token, uint64_t *ret_workflow,
                     struct error *err);
int store_find_run(struct store *store, uint64_t run, uint64_t *ret_workflow, struct error *err);

/* Writes one effect. A SAVE_* effect names a row, which is written as the model has it now. Other
 * effects write a line of history. A promotion or the exclusion of a node is written with its line
 * of history. Puts a kept effect into the outbox, or deletes it there if it is done.
 *
 * Write a row before the rows that refer to it: a job before its run. As long as a reference leads
 * nowhere, SQLite searches whole tables at each insert. */
int store_apply(struct store *store, const struct core_effect *effect, int64_t now_ms,
                struct error *err);

/* --- At the start ----------------------------------------------------------------------------- */

/* Fills in the highest ids of `config` that were given out. */
int store_last_ids(struct store *store, struct core_config *config, struct error *err);
/* Gives the core every workflow that is not over or has an effect in the outbox. */
int store_load(struct store *store, struct core *core, struct error *err);
/* One workflow, also if it is over. The caller gives it to workflow_free() or core_add(). -ENOENT.
 */
int store_load_workflow(struct store *store, uint64_t id, struct workflow **ret_workflow,
                        struct error *err);
/* Calls `each` for every effect in the outbox, oldest first, with pointers into the core's model;
 * to be called after store_load(). If the callback does not return 0, the calls end and its result
 * is returned. The callback must not write. */
int store_outbox(struct store *store, const struct core *core,
                 int (*each)(void *context, const struct core_effect *effect), void *context,
                 struct error *err);

/* --- What a run needs ------------------------------------------------------------------------- */

/* The parts of run.json that the model does not have. */
enum { STORE_PHASE_ID_SIZE = 16 + 1 }; /* hexadecimal digits, and a NUL */

struct store_launch {
    json_t *spec;        /* the resolved phase */
    json_t *environment; /* object */
    json_t *limits;      /* list */
    json_t *changed;     /* list of the params that remedies have changed */
    char *workdir;
    unsigned umask;
    char phase_id[STORE_PHASE_ID_SIZE]; /* the same for all runs of the phase, and different from
                                         * the ids of all other phases of any home */
};

/* -ENOENT. The result is the caller's to store_launch_fini(). */
int store_launch_load(struct store *store, uint64_t phase, struct store_launch *ret_launch,
                      struct error *err);
void store_launch_fini(struct store_launch *launch);

/* The resolved phase as its newest run really had it, with the type of GPU of that run. A phase
 * without runs that reuses results is read as the newest run of the reused phase had it. A new
 * reference. -ENOENT. */
int store_phase_spec(struct store *store, uint64_t phase, json_t **ret_spec, struct error *err);
/* The resolved phase without what `by_gpu` changed in its runs. A new reference. -ENOENT. */
int store_phase_spec_plain(struct store *store, uint64_t phase, json_t **ret_spec,
                           struct error *err);

/* The secret that signs the messages of a run: 64 hexadecimal digits. The record must have the run.
 * -ENOENT, also if the run has no secret. */
int store_secret_set(struct store *store, uint64_t run, const char *secret, struct error *err);
int store_secret(struct store *store, uint64_t run, char ret_secret[MAC_SECRET_SIZE],
                 struct error *err);

/* Records the nodes on which the run began: names with commas between. */
int store_run_nodes_set(struct store *store, uint64_t run, const char *nodes, struct error *err);
/* Records which type of GPU the run found on its nodes, and which part of `by_gpu` it took. Both
 * may be NULL. */
int store_run_hardware_set(struct store *store, uint64_t run, const char *gpu, const char *by_gpu,
                           struct error *err);

/* --- What runs tell --------------------------------------------------------------------------- */

/* The highest sequence number of this node's journal in the record; 0: no entry. Set it in the
 * transaction that writes the entries. Then an entry that comes again is known. */
int store_journal_committed(struct store *store, uint64_t run, const char *node,
                            uint64_t *ret_sequence, struct error *err);
int store_journal_set(struct store *store, uint64_t run, const char *node, uint64_t sequence,
                      struct error *err);

/* The entries `first` to `last` of this node's journal were lost, and will not come any more. The
 * entries before them are in the record. */
int store_journal_gap_add(struct store *store, uint64_t run, const char *node, uint64_t first,
                          uint64_t last, struct error *err);

/* One value of a metric, which may be NaN or infinite. A later value of the same step replaces it.
 */
int store_metric_add(struct store *store, uint64_t run, int64_t step, const char *name,
                     double value, int64_t time_ms, struct error *err);

/* How far the training of a phase has come. */
struct store_training {
    double elapsed_s;
    int64_t step; /* -1: no step came. A run that resumed has at least the step of its checkpoint */
};

/* Adds to `metrics` the rows of a phase's newest run. Of the runs that it resumed from, adds the
 * rows up to the step of the checkpoint. A phase that reuses results has their rows, too. Times
 * count the seconds of training, without the waits between runs. A long run has millions of rows.
 * So only the series whose names are keys of `wanted` are read, and only the names of the other
 * series. `wanted` NULL: all series are read. `ret_training` may be NULL. */
int store_metrics_load(struct store *store, uint64_t phase, int64_t now_ms, const json_t *wanted,
                       struct metrics *metrics, struct store_training *ret_training,
                       struct error *err);

/* Says for people which entries the journals of these runs lack: "the journal of n1 lacks entries
 * 19 to 118 of run #1". NULL: they lack nothing. The caller frees the text. If the next run resumed
 * from a checkpoint, it made the steps after the checkpoint again. So entries that can only be
 * about these steps do not count. */
int store_metrics_lack(struct store *store, uint64_t phase, char **ret_lack, struct error *err);

struct store_checkpoint {
    uint64_t run;
    const char *path;
    int64_t step;
    int64_t bytes; /* of all its files; -1: not known */
    int64_t time_ms;
    const json_t *paths; /* the list of its files; NULL: `path` is the only file */
    bool is_suspect;     /* suspect itself, or saved after the run became suspect */
    bool is_unseen;      /* it was found after the end of the run */
};

/* Adds a checkpoint, or replaces what is known of its path. */
int store_checkpoint_add(struct store *store, const struct store_checkpoint *checkpoint,
                         struct error *err);
/* Marks what the run has saved at this step or later, or will save after this time, as suspect. */
int store_run_suspect(struct store *store, uint64_t run, int64_t step, int64_t time_ms,
                      struct error *err);
/* Calls `each` for the checkpoints of all runs of a phase, newest step first. The strings are
 * borrowed for the call. If `each` does not return 0, the calls end and its result is returned. */
int store_checkpoints(struct store *store, uint64_t phase,
                      int (*each)(void *context, const struct store_checkpoint *checkpoint),
                      void *context, struct error *err);

/* What a node found out about a run that seemed to hang: the members of its `evidence` entry. A
 * later entry of the same node replaces it. */
int store_evidence_put(struct store *store, uint64_t run, const char *node, const json_t *evidence,
                       int64_t time_ms, struct error *err);

/* Why a run failed, as far as the cause was recognised: the `failure` of its outcome. -EINVAL: the
 * JSON is not a failure; the transaction is still good. */
int store_failure_put(struct store *store, uint64_t run, const json_t *failure, const char *cause,
                      struct error *err);

/* --- Nodes ------------------------------------------------------------------------------------ */

enum {
    STORE_EXCLUSION_FIRST_S = 2 * 3600,   /* of a node that failed; each time twice as long ... */
    STORE_EXCLUSION_LAST_S = 48 * 3600,   /* ... up to this ... */
    STORE_EXCLUSION_MEMORY_S = 7 * 86400, /* ... if it fails within this time of the last failure */
};

/* A failure for which a node is to blame. All pointers are borrowed. */
struct store_node_failure {
    const char *node;
    const char *cause; /* as stored of a run */
    uint64_t run;
    int64_t began_ms; /* the run */
    const char *message;
};

/* Keeps new jobs away from the node for a while, and gives the end of that time; 0: until a person
 * clears the node. If one failure ended several runs, only the first run counts. */
int store_node_failed(struct store *store, const struct store_node_failure *failure, int64_t now_ms,
                      int64_t *ret_until_ms, struct error *err);
/* Keeps new jobs away from the node because a person wants that. until_ms 0: until the node is
 * cleared. `message` may be NULL. */
int store_node_exclude(struct store *store, const char *node, const char *message, int64_t until_ms,
                       int64_t now_ms, struct error *err);
/* Ends the exclusion of the node, and forgets the node's failures. `ret_was_free`: the node was not
 * excluded. */
int store_node_clear(struct store *store, const char *node, int64_t now_ms, bool *ret_was_free,
                     struct error *err);
/* The nodes that are excluded now, with commas between; the caller's to free(). NULL: no nodes. */
int store_nodes_excluded(struct store *store, int64_t now_ms, char **ret_nodes, struct error *err);

/* What a preflight has found on a node. All pointers are borrowed. */
struct store_preflight {
    uint64_t run;
    const char *node, *level, *outcome, *reason;
    bool is_observed;
    int64_t lasted_ms, time_ms;
    const json_t *rows; /* a list of {"name", "outcome", "text"} */
};

enum { STORE_PREFLIGHT_ROWS_MAX = 64 }; /* further rows are left out */

/* Adds a preflight, or replaces the preflight of this run and node. -EINVAL: it is not a preflight;
 * the transaction is still good. */
int store_preflight_add(struct store *store, const struct store_preflight *preflight,
                        struct error *err);

/* --- What GPUs did ---------------------------------------------------------------------------- */

/* Writes the GPUs of a run's node: the journal's `gpus` entry (doc/protocol.md). */
int store_gpus_put(struct store *store, uint64_t run, const char *node, const json_t *devices,
                   struct error *err);
/* Writes the node's `sample` entry. The record must know the GPUs. -EINVAL: the JSON is not a
 * sample; the transaction is still good. */
int store_samples_put(struct store *store, uint64_t run, const char *node, const json_t *sample,
                      struct error *err);
/* Adds a node's `pace` entry: how many steps took how long. */
struct store_pace {
    int64_t step, steps, time_ms;
    double seconds;
};
int store_pace_put(struct store *store, uint64_t run, const char *node,
                   const struct store_pace *pace, struct error *err);
/* Makes samples that are more than a day old coarser: tens of seconds become minutes, and single
 * seconds are dropped. If there are many samples, one call does a part: call it again later. */
int store_samples_age(struct store *store, int64_t now_ms, struct error *err);

/* --- Decisions -------------------------------------------------------------------------------- */

/* Replaces the verdicts on a run's gate by a list of results of verdict_to_json(). */
int store_verdicts_set(struct store *store, uint64_t run, const json_t *verdicts, int64_t time_ms,
                       struct error *err);
/* Adds the verdict of a guard. -EINVAL: the JSON is not a verdict; the transaction is still good.
 */
int store_guard_add(struct store *store, uint64_t run, const json_t *verdict, int64_t time_ms,
                    struct error *err);

/* What a workflow was made of, and what remedies have changed since its submission. */
struct store_source {
    char *file, *spec; /* its name, its text */
    json_t *variants;  /* array of names; NULL: no variants */
    json_t *set;       /* object; NULL: nothing was set */
    json_t *changes;   /* [{"phase", "param", "value"}], in the order in which they apply */
};

/* -ENOENT. The result is the caller's to store_source_fini(). */
int store_source_load(struct store *store, uint64_t workflow, struct store_source *ret_source,
                      struct error *err);
void store_source_fini(struct store_source *source);
/* Adds the changes [{"param", "from", "to"}] of this phase. */
void store_source_add_changes(struct store_source *source, const char *phase,
                              const json_t *changes);

/* A remedy that is taken. All pointers are borrowed. */
struct store_remedy {
    uint64_t run; /* the run that failed */
    const char *cause, *resume;
    unsigned number, times; /* the try, and how many tries there are for this cause */
    const json_t *changes;  /* [{"param", "from", "to"}] */
};

int store_remedy_add(struct store *store, const struct store_remedy *remedy, int64_t time_ms,
                     struct error *err);
/* Writes again what the spec says about a phase. It comes from `phase` and the document `resolved`.
 */
int store_phase_revise(struct store *store, const struct phase *phase, const json_t *resolved,
                       struct error *err);

/* What an earlier member has left. The texts are the caller's to free(). */
struct store_result {
    uint64_t phase;
    char *address, *checkpoint_path; /* 5/ladder.2; the path is NULL without a checkpoint */
    int64_t checkpoint_step;
    unsigned rung; /* from 0: the rung that the member has reached */
    char *gpu;     /* the model that its runs had; "": not known */
};

enum { STORE_RESULTS_MAX = 16 };

/* The newest results of members. */
struct store_results {
    struct store_result items[STORE_RESULTS_MAX];
    size_t count;
};

/* Adds the results of members with this fingerprint since `since_ms` to empty `results`, the newest
 * first. */
int store_result_list(struct store *store, const char *fingerprint, int64_t since_ms,
                      struct store_results *results, struct error *err);
void store_results_fini(struct store_results *results);

/* What a matrix has found of a member. The texts are borrowed. */
struct store_member {
    uint64_t phase;
    double value;         /* NaN: not known */
    const char *standing; /* best, left, cut, out */
    const char *reason;   /* NULL: no reason */
};

int store_member_set(struct store *store, const struct store_member *member, struct error *err);
/* The params of a phase that the decision of a matrix changes: [{"param", "from", "to"}]. */
int store_choice_add(struct store *store, uint64_t phase, const json_t *changes, int64_t time_ms,
                     struct error *err);

struct store_event {
    enum event_type type;
    int64_t time_ms;
    uint64_t workflow, phase, run; /* 0: no phase, no run */
    const char *from, *to;         /* may be NULL */
    enum gate_result result;       /* of a gate */
    int64_t step;                  /* of a checkpoint */
    const char *message;
};

/* Adds a line of history. FX_HISTORY makes the others. */
int store_event_add(struct store *store, const struct store_event *event, struct error *err);

#endif
