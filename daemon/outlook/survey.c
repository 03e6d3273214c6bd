/* Asks the cluster what it has, for a person who waits. */
#include "daemon/loop/loop.h"
#include "daemon/outlook/outlook.h"
#include "daemon/slurm/cluster.h"
#include "lib/error.h"
#include "lib/map.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A person waits. If the controller hangs, the person is told so. The timer of the room would not
 * do: a room does not look while nothing can be recorded. */
enum { SURVEY_PATIENCE_MS = 8000 };

struct outlook {
    struct loop *loop;
    struct map askers; /* by id: who waits */
    uint64_t last_id;
};

struct survey_asker {
    struct outlook *outlook;
    uint64_t id;
    outlook_surveyed *done;
    void *context;
    uv_timer_t patience;
};

static void survey_on_closed(uv_handle_t *handle)
{
    struct survey_asker *asker = handle->data;
    struct loop *loop = asker->outlook->loop;
    free(asker);
    loop_release(loop);
}

/* Gives the answer to the caller that has asked, unless the caller has an answer already. */
static void survey_answer(struct outlook *outlook, uint64_t id, const struct cluster_result *result)
{
    struct survey_asker *asker = map_remove(&outlook->askers, id);
    if (!asker)
        return;
    asker->done(asker->context, result);
    uv_close((uv_handle_t *)&asker->patience, survey_on_closed);
}

static void survey_on_impatience(uv_timer_t *timer)
{
    const struct survey_asker *asker = timer->data;
    struct cluster_result result = {
        .outcome = CLUSTER_UNREACHABLE,
        .message = "it has not answered for 8 s",
    };
    loop_note_answer(asker->outlook->loop,
                     &result); /* `phasectl daemon status` must say the same */
    (void)snprintf(result.message, sizeof result.message,
                   "it has not answered for 8 s; `phasectl daemon status` says when it does");
    survey_answer(asker->outlook, asker->id, &result);
}

int outlook_survey(struct loop *loop, const struct cluster_description *const *descriptions,
                   size_t count, outlook_surveyed *done, void *context, struct error *err)
{
    struct outlook *outlook = loop_room(loop, &outlook_room);
    struct cluster *cluster = loop_cluster(loop);
    if (!cluster || !cluster_can_take(cluster))
        return error_set(err, -EBUSY, "too many requests wait for Slurm: try again in a minute");
    int status = cluster_survey(cluster, outlook->last_id + 1, descriptions, count, err);
    if (status < 0)
        return status;
    struct survey_asker *asker = xcalloc(1, sizeof *asker);
    *asker = (struct survey_asker){
        .outlook = outlook, .id = ++outlook->last_id, .done = done, .context = context};
    map_put(&outlook->askers, asker->id, asker);
    loop_hold(loop);
    asker->patience.data = asker;
    (void)uv_timer_init(loop_config(loop)->uv, &asker->patience); /* cannot fail */
    (void)uv_timer_start(&asker->patience, survey_on_impatience, SURVEY_PATIENCE_MS, 0);
    return 0;
}

/* --- The room --------------------------------------------------------------------------------- */

static int outlook_take(void *state, const struct core_effect *effect,
                        const struct cluster_result *result)
{
    (void)effect;
    survey_answer(state, result->target, result);
    return CARRIED_OUT;
}

/* Tells all that wait that there will be no answer. */
static void outlook_close(void *state)
{
    struct outlook *outlook = state;
    uint64_t id;
    while (map_any(&outlook->askers, &id))
        survey_answer(outlook, id, NULL);
}

static void outlook_fini(void *state)
{
    struct outlook *outlook = state;
    map_fini(&outlook->askers);
}

const struct room outlook_room = {
    .state_size = sizeof(struct outlook),
    .answer = {[CLUSTER_SURVEY] = outlook_take},
    .close = outlook_close,
    .fini = outlook_fini,
};
