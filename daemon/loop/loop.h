/* The one place that decides when things happen.
 *
 * Each part of the daemon posts what it learns: an event for the core, rows for the record that
 * belong to the event, or both. Before the process waits again, a *turn* drains what was posted,
 * and the core decides about each event. All rows and all effects are committed in one transaction.
 * After the commit, the loop answers those who asked, and carries out the effects. What follows
 * from the effects is posted again.
 *
 * If a commit fails, for example because the disk is full, nothing is carried out. The core is then
 * ahead of the record. Its effects and the rows are kept and tried again, with growing delays.
 * Until they are committed, the core gets no other event. So memory differs from the record by
 * exactly one transaction, and a restart forgets only what nobody was promised. New workflows are
 * the exception. They are taken back, because their submitters are told of the failure, and their
 * numbers are given again. If nothing is left to write, an empty change is tried instead.
 *
 * This is for failures that may pass, such as a full disk or a lock. The record may also refuse a
 * transaction because of its contents. Such a transaction would fail forever, and nothing would
 * happen any more, in silence. So the process aborts, which people notice. The next start has only
 * what is recorded. Runs go on meanwhile.
 *
 * If another daemon has taken the record over, the record refuses every transaction (-ESTALE), and
 * this daemon ends. What it decided in that transaction never happened, because nothing is carried
 * out that is not in the record. Before each round of requests to the cluster the daemon asks the
 * record once more.
 *
 * Everything here belongs to the loop's thread, except loop_wake(). */
#ifndef PHASED_DAEMON_LOOP_LOOP_H
#define PHASED_DAEMON_LOOP_LOOP_H

#include "daemon/core/core.h"
#include "daemon/slurm/cluster.h"

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <uv.h>

struct error;
struct home;
struct loop;
struct room;
struct store;

/* All members are borrowed, and must stay valid until the loop is closed. */
struct loop_config {
    uv_loop_t *uv;
    const struct home *home;
    struct store *store;
    const char *worker;              /* the absolute path of phase-worker, on all nodes */
    const struct room *const *rooms; /* in the order in which they are opened; NULL is the last */
    /* Called once, from the loop, when another daemon serves the record. The loop then does nothing
     * more, and should be closed. */
    void (*fenced)(void *context);
    void *context;
};

/* Loads the live workflows from the record. Nothing happens yet. */
int loop_open(const struct loop_config *config, struct loop **ret_loop, struct error *err);
/* Lets a waiting turn take the cluster's results; any thread may call it. */
void loop_wake(void *context);
/* Begins to work with this cluster, which still belongs to the caller. Carries out what is in the
 * outbox, and polls Slurm. */
void loop_start(struct loop *loop, struct cluster *cluster);
/* Does what was posted now, and not later. Callers that wait for the record get their answers,
 * unless the record cannot be written. */
void loop_settle(struct loop *loop);
/* Ends the loop. The core gets no more events. Running jobs are left alone. `closed` is called
 * from the loop; after that the cluster may be freed. */
void loop_close(struct loop *loop, void (*closed)(void *context), void *context);

/* --- Posting ---------------------------------------------------------------------------------- */

/* Rows that are written in the turn's transaction, before the effects of its events, and a caller
 * that waits for the commit. Members may be NULL. The loop owns a posted item until it frees the
 * item. */
struct loop_item {
    /* Called again when the transaction is tried again. */
    int (*write)(struct loop_item *item, struct store *store, struct error *err);
    /* Called once: after the commit (`failure` is NULL), or when the commit has failed for the
     * first time. */
    void (*done)(struct loop_item *item, const struct error *failure);
    /* Called last. */
    void (*free)(void *item);
    /* A new workflow that is taken back when the commit fails. */
    struct workflow *added;
    bool adds_history; /* writes lines of history, besides the lines of effects */
};

/* Both functions copy the texts of `event` and set its time. An item and its event are in the same
 * turn. */
void loop_post(struct loop *loop, const struct core_event *event);
void loop_post_item(struct loop *loop, struct loop_item *item, const struct core_event *event);

/* --- Rooms ------------------------------------------------------------------------------------ */

/* The result of carrying out an effect. */
enum {
    CARRIED_OUT,      /* it stands until the core takes it back */
    CARRIED_REQUEST,  /* the cluster has it */
    CARRIED_LATER_MS, /* not now; the milliseconds until the next try are added */
};

/* A room knows one feature. The loop knows nothing of the feature, and calls the room by this
 * table. Members may be NULL. */
struct room {
    /* The size of the room's state, which is passed to the functions. A new state is all zeros,
     * except its first member, a `struct loop *`. 0: the loop itself is passed. */
    size_t state_size;
    /* Writes what an effect needs besides its own row, in the transaction of the effect. */
    int (*write)(void *state, const struct core_effect *effect, struct error *err);
    /* Carries out an effect that was committed. If this is not possible now, the effect is tried
     * again. An event tells the core what was done. */
    int (*carry[FX_COUNT])(void *state, const struct core_effect *effect);
    /* Called every `every_ms` of monotonic time, unless nothing can be recorded at present. */
    unsigned every_ms;
    bool looks_at_once; /* the first look comes right after the start, not after `every_ms` */
    void (*look)(void *state);
    /* A turn has ended. */
    void (*turned)(void *state);
    /* Takes the cluster's answer to a request of this kind. `effect` is the effect that made the
     * request. The return value says what came of the effect, as for carry(). For polls and surveys
     * `effect` is NULL, and the value does not matter. */
    int (*answer[CLUSTER_KIND_COUNT])(void *state, const struct core_effect *effect,
                                      const struct cluster_result *result);
    /* The loop closes. What the room waits for ends now; fini() comes after the last
     * loop_release(). */
    void (*close)(void *state);
    /* Frees what the state has, and not the state itself. */
    void (*fini)(void *state);
};

/* The state of a room that is open. */
void *loop_room(const struct loop *loop, const struct room *room);
/* Lets the room look in `in_ms`, but not before what was posted is recorded. Later looks follow
 * from there. */
void loop_look(struct loop *loop, const struct room *room, unsigned in_ms);
/* Holds keep the loop and the states of its rooms alive, until each hold is released. For handles
 * of libuv. */
void loop_hold(struct loop *loop);
void loop_release(struct loop *loop);

/* --- Effects ---------------------------------------------------------------------------------- */

/* The state of an effect that was committed and is not taken back yet. */
enum effect_state {
    EFFECT_NONE,      /* there is no such effect */
    EFFECT_WAITING,   /* its time has not come */
    EFFECT_DUE,       /* it waits until the cluster has room */
    EFFECT_UNDER_WAY, /* the cluster has it */
    EFFECT_STANDING,  /* it was carried out */
};
/* `id` is the id of the object that the effect is about: core_effect_target(). */
enum effect_state loop_effect(const struct loop *loop, enum core_effect_kind kind, uint64_t id);

/* The time of day for an effect that is being carried out. Effects that are carried out together
 * have the same time, and a time for the next try is counted from it. So effects that are to be due
 * together have exactly the same due time. */
int64_t loop_carry_ms(const struct loop *loop);

/* --- Being told ------------------------------------------------------------------------------- */

/* Sets the one function that is called when lines were added to the history. `history` NULL: no
 * function. */
void loop_listen(struct loop *loop, void (*history)(void *context), void *context);

/* --- Saying ----------------------------------------------------------------------------------- */

/* Writes a line of the log to standard error, with the time before the line. Only the loop, its
 * rooms and main call this. Code below them returns its errors. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes a line of the log, and a warning into the run's history with the next transaction. */
void loop_warn(struct loop *loop, const struct run *run, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- Asking ----------------------------------------------------------------------------------- */

int64_t loop_now_ms(void);
struct cluster *loop_cluster(const struct loop *loop); /* NULL before the start */
const struct loop_config *loop_config(const struct loop *loop);
struct core *loop_core(const struct loop *loop);
struct store *loop_store(const struct loop *loop);
/* Why nothing can be recorded at present; NULL: all is well. */
const char *loop_trouble(const struct loop *loop);
/* The time since which nothing can be recorded; only while loop_trouble() is set. */
int64_t loop_trouble_since_ms(const struct loop *loop);

/* Finds the workflow in memory, or loads it from the record into memory. The workflow stays in
 * memory at least until the next post is drained. -ENOENT. */
int loop_workflow(struct loop *loop, uint64_t id, struct workflow **ret_workflow,
                  struct error *err);
struct run *loop_run(const struct loop *loop, uint64_t id); /* NULL: not in memory */
/* The allocation with this token, if it is in memory; NULL: there is no such allocation. */
struct allocation *loop_allocation_by_token(const struct loop *loop, const char *token);

struct loop_cluster_state {
    char name[CLUSTER_NAME_SIZE]; /* empty until Slurm has answered */
    bool is_answering;
    char message[256];
};
const struct loop_cluster_state *loop_cluster_state(const struct loop *loop);
/* Whether the cluster of the record has answered. Otherwise nothing may be asked of the cluster. */
bool loop_is_bound(const struct loop *loop);
/* Notes whether Slurm answers, and logs a change. For a caller that has stopped waiting for its
 * answer. */
void loop_note_answer(struct loop *loop, const struct cluster_result *result);

#endif
