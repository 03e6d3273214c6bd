/* Asking the cluster what it is, for somebody who waits: nothing is decided or recorded. */
#include "daemon/loop/inside.h"

#include "daemon/slurm/cluster.h"
#include "lib/error.h"

#include <errno.h>
#include <stdlib.h>

struct survey_asker {
    loop_surveyed *done;
    void *arg;
};

int loop_survey(struct loop *loop, const struct cluster_description *const *descriptions,
                size_t count, loop_surveyed *done, void *arg, struct error *err)
{
    if (!loop->cluster || loop->requests >= CLUSTER_REQUESTS_MAX - REQUESTS_KEPT)
        return error_set(err, -EBUSY, "could not ask Slurm: too much waits for it");
    int status = cluster_survey(loop->cluster, loop->survey_last + 1, descriptions, count, err);
    if (status < 0)
        return status;
    struct survey_asker *asker = calloc(1, sizeof *asker);
    if (!asker)
        abort();
    *asker = (struct survey_asker){.done = done, .arg = arg};
    map_put(&loop->surveys, ++loop->survey_last, asker);
    loop->requests++;
    return 0;
}

void survey_take(struct loop *loop, const struct cluster_result *result)
{
    struct survey_asker *asker = map_remove(&loop->surveys, result->key);
    if (!asker)
        return;
    asker->done(asker->arg, result);
    free(asker);
}

void survey_forget_all(struct loop *loop)
{
    uint64_t key;
    struct survey_asker *asker;
    while ((asker = map_any(&loop->surveys, &key))) {
        (void)map_remove(&loop->surveys, key);
        asker->done(asker->arg, NULL);
        free(asker);
    }
    map_fini(&loop->surveys);
}
