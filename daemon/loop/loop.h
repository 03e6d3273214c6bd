/* The one place that decides when things happen.
 *
 * Whoever learns something posts it: an event for the core, rows for the record that belong to it,
 * or both. Before the process waits again, a *turn* drains what was posted: each event is stepped
 * through the core, all rows and all effects are committed in one transaction, and only then are
 * the askers answered and the effects carried out. What these lead to is posted again.
 *
 * A commit that fails (the disk is full) carries nothing out. The core is then ahead of the record:
 * its effects and the rows are kept and tried again, with growing delays, and until they are
 * committed nothing else is stepped; so what is in memory differs from the record by exactly one
 * transaction, and a restart meanwhile forgets only what nobody was promised. New workflows in it
 * are the exception: they are taken back, because their submitters are told that it failed. Their
 * numbers are given again. If nothing is left to write, an empty change is tried instead.
 *
 * That is for failures that may pass: a full disk, a lock. A transaction that the record refuses
 * for what is in it would fail for ever, and nothing would happen any more, in silence; then the
 * process aborts, which is noticed, and its start has only what is recorded. Runs go on meanwhile.
 *
 * A transaction that is refused since another daemon has taken the record over (-ESTALE) is the
 * end: what was decided here has never happened. So nothing is carried out that the record does not
 * have, and before each round of requests to the cluster the record is asked once more.
 *
 * Everything here belongs to the loop's thread but loop_wake(). */
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

/* All borrowed, and needed until the loop is closed. */
struct loop_config {
    uv_loop_t *uv;
    const struct home *home;
    struct store *store;
    const char *worker;              /* the absolute path of phase-worker, on all nodes */
    const struct room *const *rooms; /* in the order in which they are opened; NULL is the last */
    /* Once, from the loop: another daemon serves the record now. Nothing is done any more but to
     * close. */
    void (*fenced)(void *arg);
    void *arg;
};

/* Loads what is live from the record; nothing happens yet. */
int loop_open(const struct loop_config *config, struct loop **ret_loop, struct error *err);
/* Lets a waiting turn take the cluster's results; any thread may call it. */
void loop_wake(void *arg);
/* Begins to work with this cluster, which stays the caller's: what the outbox holds is carried out,
 * Slurm is polled. */
void loop_start(struct loop *loop, struct cluster *cluster);
/* Does what was posted now, not later: those who wait for the record are answered, unless it cannot
 * be written. */
void loop_settle(struct loop *loop);
/* Takes leave: what was posted is not stepped any more; running jobs are left alone. `closed` is
 * called from the loop, after which the cluster may be freed. */
void loop_close(struct loop *loop, void (*closed)(void *arg), void *arg);

/* --- Posting ---------------------------------------------------------------------------------- */

/* Rows that are written in the turn's transaction, before the effects of its events, and somebody
 * who waits for the commit. Members may be NULL. The loop owns a posted item until it frees it. */
struct loop_item {
    /* Called again when the transaction is tried again. */
    int (*write)(struct loop_item *item, struct store *store, struct error *err);
    /* Once: after the commit (`failure` is NULL), or when it has failed for the first time. */
    void (*done)(struct loop_item *item, const struct error *failure);
    /* Last. */
    void (*free)(struct loop_item *item);
    /* A new workflow that is taken back when the commit fails. */
    struct workflow *added;
    bool adds_history; /* lines beyond those that effects make */
};

/* Both copy the texts of `event` and set its time. An item goes with the event, in its turn. */
void loop_post(struct loop *loop, const struct core_event *event);
void loop_post_item(struct loop *loop, struct loop_item *item, const struct core_event *event);

/* --- Rooms ------------------------------------------------------------------------------------ */

/* What carrying out an effect came to. */
enum {
    CARRIED_OUT,      /* it stands until the core takes it back */
    CARRIED_REQUEST,  /* the cluster has it */
    CARRIED_LATER_MS, /* and this many ms more: not now */
};

/* A room knows a feature, of which the loop knows nothing: the loop calls it by this table. Members
 * may be NULL. */
struct room {
    /* Returns the room's state, which the others are called with. Without open() that is the
     * loop. */
    void *(*open)(struct loop *loop);
    /* Writes what an effect needs besides its own row, in the transaction of the effect. */
    int (*write)(void *state, const struct core_effect *effect, struct error *err);
    /* Carries out an effect that was committed. What cannot be done now is tried again. What was
     * done is told to the core by an event. */
    int (*carry[FX_COUNT])(void *state, const struct core_effect *effect);
    /* Called every `every_ms` of monotonic time, unless nothing can be recorded at present. */
    unsigned every_ms;
    void (*look)(void *state);
    /* Somebody has set the machine's clock by so much: the times of day that the room waits for
     * move as well. */
    void (*clock_set)(void *state, int64_t by_ms);
    /* A turn has ended. */
    void (*turned)(void *state);
    /* Takes what the cluster answers to a request of this kind. `effect` is what it was asked for,
     * and the return value what came of that, as carry() says it. For polls and surveys `effect` is
     * NULL, and the value does not matter. */
    int (*answer[CLUSTER_KIND_COUNT])(void *state, const struct core_effect *effect,
                                      const struct cluster_result *result);
    /* The loop closes. What the room waits for ends now; free() comes after the last
     * loop_release(). */
    void (*close)(void *state);
    void (*free)(void *state);
};

/* The state of a room that is open. */
void *loop_room(const struct loop *loop, const struct room *room);
/* The next look of the room is in `in_ms`, and the others follow from there. */
void loop_look(struct loop *loop, const struct room *room, unsigned in_ms);
/* The loop, and the states of its rooms, live until each hold is released. For handles of libuv. */
void loop_hold(struct loop *loop);
void loop_release(struct loop *loop);

/* --- Effects ---------------------------------------------------------------------------------- */

/* Of an effect that was committed and is not taken back yet. */
enum effect_state {
    EFFECT_NONE,      /* there is no such effect */
    EFFECT_WAITING,   /* its time has not come */
    EFFECT_DUE,       /* it waits for the cluster's room */
    EFFECT_UNDER_WAY, /* the cluster has it */
    EFFECT_STANDING,  /* it was carried out */
};
/* `id` is that of what the effect is about: core_effect_target(). */
enum effect_state loop_effect(const struct loop *loop, enum core_effect_kind kind, uint64_t id);

/* --- Being told ------------------------------------------------------------------------------- */

/* Who is called when lines were added to the history; at most one. `history` NULL: nobody. */
void loop_listen(struct loop *loop, void (*history)(void *arg), void *arg);

/* --- Saying ----------------------------------------------------------------------------------- */

/* A line of the log, on standard error, with the time before it. Only the loop, its rooms and main
 * log; code below them returns its errors. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A line of the log, and a warning in the run's history with the next transaction. */
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

/* The workflow, from memory or loaded from the record into memory; it stays there at least until
 * what is posted next was stepped. -ENOENT. */
int loop_workflow(struct loop *loop, uint64_t id, struct workflow **ret_workflow,
                  struct error *err);
struct run *loop_run(const struct loop *loop, uint64_t id); /* NULL: not in memory */
/* The job with this token among those in memory; NULL: there is none. */
struct allocation *loop_job_by_token(const struct loop *loop, const char *token,
                                     struct workflow **ret_workflow);

struct loop_cluster_status {
    char name[64]; /* empty until Slurm has answered */
    bool is_answering;
    char message[256];
};
const struct loop_cluster_status *loop_cluster_status(const struct loop *loop);
/* Notes, and logs where it is news, whether Slurm answers; for who did not wait any longer. */
void loop_note_answer(struct loop *loop, const struct cluster_result *result);

#endif
