/* Inside daemon/loop: the loop's own state, which its files share. Calls go down: loop.c, turn.c,
 * effects.c, then rooms.c and index.c, then binding.c. Files below these know no loop:
 * outbox.c, posts.c, clock.c, log.c, crash.c. */
#ifndef PHASED_DAEMON_LOOP_PRIVATE_H
#define PHASED_DAEMON_LOOP_PRIVATE_H

#include "daemon/loop/loop.h"
#include "daemon/loop/outbox.h"
#include "daemon/loop/posts.h"
#include "lib/map.h"

enum {
    COMMIT_RETRY_FIRST_MS = 1000,
    COMMIT_RETRY_LAST_MS = 30000,
    /* The longest wait of an effect after a restart: */
    LOOKUP_LAST_MS = 5000,      /* as before a first look-up */
    PAUSE_LAST_MS = 300 * 1000, /* the longest pause after a failure */
    RESULTS_DELAY_MS = 5,
    TIME_STEP_MS = 50, /* the least between two EV_TIME */
};

struct loop {
    struct loop_config config;
    struct core *core;
    struct cluster *cluster; /* NULL before the start */
    void (*history)(void *context);
    void *history_context;

    struct posts queue; /* posted */
    struct posts batch; /* what this turn drained; kept with the effects while a commit fails */
    struct core_effects effects;
    int64_t batch_ms;
    char trouble[600];                /* why the last commit failed; empty: it succeeded */
    int64_t trouble_since_ms;         /* when the first of these commits failed */
    int64_t retry_ms, retry_delay_ms; /* times of clock_ms(), like all times here */
    bool is_turning, has_history;
    bool is_fenced; /* another daemon serves the record, so nothing is done any more */

    struct outbox outbox;
    int64_t carry_ms;       /* when effects were last carried out */
    int64_t results_ms;     /* when waiting results are taken; INT64_MAX: no results wait */
    struct map runs;        /* by id: struct run */
    struct map allocations; /* by the head of the token: struct allocation */
    struct workflow **finals;
    size_t final_count, final_capacity;
    struct loop_cluster_state cluster_state;
    char binding[CLUSTER_NAME_SIZE]; /* the cluster of the record; empty: not known yet */
    char other[CLUSTER_NAME_SIZE];   /* the cluster that answers instead; empty: no cluster does */
    bool is_rebound;                 /* `binding` has changed, and is to be recorded */
    bool is_bound;   /* the cluster of the record has answered, so that it may be asked for jobs */
    int64_t time_ms; /* of the last EV_TIME */
    int64_t looked_ms; /* when the core was last asked for its deadline */

    uv_prepare_t prepare;
    uv_check_t check;
    uv_timer_t alarm;
    uv_async_t wake;
    struct loop_place *places;
    size_t place_count;
    unsigned holds;
    void (*end)(struct loop *loop); /* called after the last hold is released */
    bool is_closing;
    void (*closed)(void *context);
    void *closed_context;
};

/* --- turn.c ----------------------------------------------------------------------------------- */

void turn(struct loop *loop);
/* Tells the core that the clock was set by so much. */
void turn_clock(struct loop *loop, int64_t by_ms);

/* --- effects.c -------------------------------------------------------------------------------- */

/* After the commit of the effect: updates indexes, writes logs, and takes the effect into the
 * outbox. */
void effects_committed(struct loop *loop, const struct core_effect *effect);
/* Takes an effect of a kept kind into the outbox. */
void effects_keep(struct loop *loop, const struct core_effect *effect);
/* Takes the waiting answers of the cluster. */
void effects_answer(struct loop *loop);
/* Carries out the effects that are due, as far as the cluster has room. */
void effects_run(struct loop *loop);

/* --- rooms.c ---------------------------------------------------------------------------------- */

void rooms_open(struct loop *loop);
int rooms_write(struct loop *loop, const struct core_effect *effect, struct error *err);
int rooms_carry(struct loop *loop, const struct core_effect *effect);
void rooms_turned(struct loop *loop);
int rooms_answer(struct loop *loop, const struct core_effect *effect,
                 const struct cluster_result *result);
void rooms_close(struct loop *loop);
void rooms_free(struct loop *loop);

/* --- index.c ---------------------------------------------------------------------------------- */

void index_allocation(struct loop *loop, struct allocation *allocation);
void index_workflow(struct loop *loop, struct workflow *workflow);
/* Makes the loop and the core forget the workflow. */
void index_drop(struct loop *loop, struct workflow *workflow);
/* Notes that the workflow may be forgotten once nothing is left to do for it. */
void finals_add(struct loop *loop, struct workflow *workflow);
/* Forgets the workflows for which nothing is left to do. Does nothing while there are posts,
 * because a post may be about one of these workflows. */
void finals_drop(struct loop *loop);

/* --- binding.c -------------------------------------------------------------------------------- */

/* If a cluster other than that of the record has answered, the answer becomes CLUSTER_UNREACHABLE.
 * A record without live jobs takes the new cluster instead. */
void binding_check(struct loop *loop, struct cluster_result *result);

/* Ends this daemon: another daemon serves the record, as `failure` says. */
void loop_fence(struct loop *loop, const struct error *failure);
/* Whether this daemon may act. If not, the daemon ends. */
bool loop_is_owner(struct loop *loop);

#endif
