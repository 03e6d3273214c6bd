/* Joins the runs of a phase into one curve. */
#include "cli/metrics/stitch.h"

#include "cli/field.h"
#include "cli/reader/reader.h"
#include "lib/address.h"
#include "lib/expr/metrics.h"
#include "lib/memory.h"
#include "lib/metrics/columns.h"
#include "lib/option.h"
#include "lib/text.h"

#include <stdlib.h>

struct stitch_run {
    const json_t *run; /* of a history */
    json_t *metrics;
    long long attempt;
};

/* The step at which a run took over: it resumed there, or made its first step just after. */
static int64_t stitch_begin(const struct stitch_run *run)
{
    const json_t *steps = json_object_get(run->metrics, "steps");
    int64_t resumed = INT64_MAX, own = INT64_MAX;
    if (field_text(run->run, "resume")[0])
        resumed = field_integer(run->run, "first_step");
    if (json_array_size(steps))
        own = json_integer_value(json_array_get(steps, 0)) - 1;
    return resumed < own ? resumed : own;
}

/* The last step of a run that no later run took back. */
static int64_t stitch_limit(const struct stitch_run *runs, size_t count, long long attempt)
{
    int64_t limit = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        int64_t begin = runs[i].attempt > attempt ? stitch_begin(&runs[i]) : INT64_MAX;
        limit = begin < limit ? begin : limit;
    }
    return limit;
}

int stitch_read(struct cli *cli, const struct address *address, const json_t *history,
                const struct option_list *names, unsigned last, struct stitch *ret,
                struct error *err)
{
    const json_t *list = json_object_get(history, "runs"), *item;
    struct stitch_run *runs = xcalloc(json_array_size(list) + 1, sizeof *runs);
    struct metrics *metrics = metrics_new();
    uint32_t newest = 0;
    size_t count = 0, i;
    int status = 0;
    json_array_foreach(list, i, item)
    {
        struct address run = *address;
        if (status < 0 || !text_equal(field_text(item, "phase"), run.phase))
            continue;
        run.attempt = (uint32_t)field_integer(item, "attempt");
        newest = run.attempt > newest ? run.attempt : newest;
        runs[count] = (struct stitch_run){.run = item, .attempt = run.attempt};
        status = reader_get_metrics(cli, &run, names, 0, &runs[count].metrics, err);
        count += status == 0;
    }
    for (i = 0; i < count; i++)
        columns_add(runs[i].metrics, stitch_limit(runs, count, runs[i].attempt), metrics);
    if (status == 0)
        *ret = (struct stitch){
            .columns = columns_json(metrics, NULL, 0, last),
            .attempt = newest,
            .taken_back = count > 1 ? stitch_limit(runs, count, newest - 1LL) : -1,
        };
    for (i = 0; i < count; i++)
        json_decref(runs[i].metrics);
    metrics_free(metrics);
    free(runs);
    return status;
}
