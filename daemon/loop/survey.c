/* Asking the cluster what it is, for somebody who waits: nothing is decided or recorded. */
#include "daemon/loop/inside.h"

#include "daemon/slurm/cluster.h"
#include "lib/error.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A person waits: a controller that hangs is told of instead. */
enum { SURVEY_PATIENCE_MS = 8000 };

struct survey_asker {
    struct loop *loop;
    uint64_t key;
    loop_surveyed *done;
    void *arg;
    uv_timer_t patience;
};

static void survey_on_closed(uv_handle_t *handle)
{
    struct survey_asker *asker = handle->data;
    loop_release(asker->loop);
    free(asker);
}

/* Answers whoever has asked, unless that was done. */
static void survey_answer(struct loop *loop, uint64_t key, const struct cluster_result *result)
{
    struct survey_asker *asker = map_remove(&loop->surveys, key);
    if (!asker)
        return;
    asker->done(asker->arg, result);
    uv_close((uv_handle_t *)&asker->patience, survey_on_closed);
}

static void survey_on_impatience(uv_timer_t *timer)
{
    const struct survey_asker *asker = timer->data;
    struct cluster_result result = {
        .outcome = CLUSTER_UNREACHABLE,
        .message = "it has not answered for 8 s",
    };
    results_note_answer(asker->loop, &result); /* `phasectl daemon status` must not say otherwise */
    (void)snprintf(result.message, sizeof result.message,
                   "it has not answered for 8 s; `phasectl daemon status` says when it does");
    survey_answer(asker->loop, asker->key, &result);
}

int loop_survey(struct loop *loop, const struct cluster_description *const *descriptions,
                size_t count, loop_surveyed *done, void *arg, struct error *err)
{
    if (!loop->cluster || loop->requests >= CLUSTER_REQUESTS_MAX - REQUESTS_KEPT)
        return error_set(err, -EBUSY, "could not ask Slurm: too much waits for it");
    int status = cluster_survey(loop->cluster, loop->survey_last + 1, descriptions, count, err);
    if (status < 0)
        return status;
    struct survey_asker *asker = xcalloc(1, sizeof *asker);
    *asker =
        (struct survey_asker){.loop = loop, .key = ++loop->survey_last, .done = done, .arg = arg};
    map_put(&loop->surveys, asker->key, asker);
    loop_hold(loop);
    asker->patience.data = asker;
    (void)uv_timer_init(loop->config.uv, &asker->patience); /* cannot fail */
    (void)uv_timer_start(&asker->patience, survey_on_impatience, SURVEY_PATIENCE_MS, 0);
    loop->requests++;
    return 0;
}

void survey_take(struct loop *loop, const struct cluster_result *result)
{
    survey_answer(loop, result->key, result);
}

void survey_forget_all(struct loop *loop)
{
    uint64_t key;
    while (map_any(&loop->surveys, &key))
        survey_answer(loop, key, NULL);
}
