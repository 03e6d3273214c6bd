/* Metrics in and out. Rows come by the hundred thousand, so a name costs one look-up in memory. */
#include "daemon/store/store_private.h"
#include "lib/expr/metrics.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <inttypes.h>
#include <stdlib.h>

enum { METRIC_IDS_MAX = 4096 }; /* in memory; then all are forgotten, and looked up again */

static int metric_name(struct store *store, const char *name, int64_t *ret_id, struct error *err)
{
    *ret_id = json_integer_value(json_object_get(store->metric_ids, name));
    if (*ret_id)
        return 0;
    struct stmt *find = store_stmt(store, Q_METRIC_NAME_FIND);
    stmt_bind_text(find, ":name", name);
    int status = stmt_read_int(find, "id", ret_id, err);
    if (status == 0 && !*ret_id) {
        struct stmt *insert = store_stmt(store, Q_METRIC_NAME_INSERT);
        stmt_bind_text(insert, ":name", name);
        status = stmt_run(insert, err);
        *ret_id = sqlite3_last_insert_rowid(store->db);
    }
    if (status < 0)
        return status;
    if (json_object_size(store->metric_ids) == METRIC_IDS_MAX)
        json_object_clear(store->metric_ids);
    json_object_set_new_nocheck(store->metric_ids, name, json_integer(*ret_id));
    return 0;
}

int store_metric_add(struct store *store, uint64_t run, int64_t step, const char *name,
                     double value, int64_t time_ms, struct error *err)
{
    int64_t id;
    int status = metric_name(store, name, &id, err);
    if (status < 0)
        return status;
    struct stmt *stmt = store_stmt(store, Q_METRIC_INSERT);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_int(stmt, ":name", id);
    stmt_bind_int(stmt, ":step", step);
    stmt_bind_real(stmt, ":value", value);
    stmt_bind_int(stmt, ":time", time_ms);
    return stmt_run(stmt, err);
}

/* One of the runs that led to the newest run. */
struct metric_ancestor {
    uint64_t run;
    int64_t step_max; /* later steps were lost: the next run resumed from here */
    int64_t started_ms, ended_ms;
};

struct metric_lineage {
    struct metric_ancestor *runs; /* newest first */
    size_t count;
    int64_t begin; /* the step at which the oldest run began */
    int64_t step;  /* the step that the newest run has reached; -1: no step */
};

/* The newest run, the run from which it resumed, and so on to a run that began at the start. A run
 * between them is left out if it resumed elsewhere, and no later run resumed from it. A run that
 * never began has no rows and took no time, so it does no harm. */
static int metric_lineage(struct store *store, uint64_t phase, int64_t now_ms,
                          struct metric_lineage *ret_lineage, struct error *err)
{
    int status;
    struct metric_lineage lineage = {.step = -1};
    int64_t step_max = INT64_MAX;
    uint64_t parent = 0; /* 0: not known, so the run before counts */
    struct stmt *stmt = store_stmt(store, Q_METRIC_LINEAGE);
    stmt_bind_id(stmt, ":phase", phase);
    while ((status = stmt_step(stmt, err)) > 0) {
        if (parent && stmt_id(stmt, "id") != parent)
            continue;
        parent = stmt_id(stmt, "parent");
        if (!lineage.count)
            lineage.step = stmt_int(stmt, "step");
        lineage.runs = xrealloc(lineage.runs, (lineage.count + 1) * sizeof *lineage.runs);
        struct metric_ancestor *ancestor = &lineage.runs[lineage.count++];
        *ancestor = (struct metric_ancestor){
            .run = stmt_id(stmt, "id"),
            .step_max = step_max,
            .started_ms = stmt_int(stmt, "started"),
            .ended_ms = stmt_int(stmt, "ended"),
        };
        bool is_fresh = stmt_is_null(stmt, "resume_path");
        int64_t resume_step = stmt_int(stmt, "resume_step");
        lineage.begin = is_fresh ? 0 : resume_step;
        if (!ancestor->started_ms)
            ancestor->ended_ms = 0; /* it never began, and took no time */
        else if (!ancestor->ended_ms)
            ancestor->ended_ms = now_ms;
        if (is_fresh) {
            stmt_reset(stmt);
            status = 0;
            break;
        }
        if (resume_step < step_max)
            step_max = resume_step;
    }
    if (status < 0)
        free(lineage.runs);
    else
        *ret_lineage = lineage;
    return status;
}

/* Adds the rows of one series of a run. `elapsed_s` is the time of training before the run. */
static int metric_load_series(struct store *store, const struct metric_ancestor *ancestor,
                              int64_t id, const char *name, double elapsed_s,
                              struct metrics *metrics, struct error *err)
{
    int status;
    struct stmt *stmt = store_stmt(store, Q_METRIC_ROWS);
    stmt_bind_id(stmt, ":run", ancestor->run);
    stmt_bind_int(stmt, ":name", id);
    stmt_bind_int(stmt, ":step_max", ancestor->step_max);
    while ((status = stmt_step(stmt, err)) > 0) {
        double since_start_s = (double)(stmt_int(stmt, "time") - ancestor->started_ms) / 1000.0;
        metrics_add(metrics, name, stmt_int(stmt, "step"), elapsed_s + since_start_s,
                    stmt_real(stmt, "value"));
    }
    return status;
}

static int metric_load_run(struct store *store, const struct metric_ancestor *ancestor,
                           const json_t *wanted, double elapsed_s, struct metrics *metrics,
                           struct error *err)
{
    int status;
    struct stmt *stmt = store_stmt(store, Q_METRIC_NAMES);
    stmt_bind_id(stmt, ":run", ancestor->run);
    while ((status = stmt_step(stmt, err)) > 0) {
        const char *name = stmt_text(stmt, "name");
        if (wanted && !json_object_get(wanted, name)) {
            metrics_add_name(metrics, name);
            continue;
        }
        status = metric_load_series(store, ancestor, stmt_int(stmt, "id"), name, elapsed_s, metrics,
                                    err);
        if (status < 0) {
            stmt_reset(stmt);
            break;
        }
    }
    return status;
}

int store_metrics_load(struct store *store, uint64_t phase, int64_t now_ms, const json_t *wanted,
                       struct metrics *metrics, struct store_training *ret_training,
                       struct error *err)
{
    struct metric_lineage lineage;
    int status = metric_lineage(store, phase, now_ms, &lineage, err);
    if (status < 0)
        return status;
    double elapsed_s = 0;
    for (size_t i = lineage.count; status == 0 && i-- > 0;) {
        const struct metric_ancestor *ancestor = &lineage.runs[i];
        status = metric_load_run(store, ancestor, wanted, elapsed_s, metrics, err);
        elapsed_s += (double)(ancestor->ended_ms - ancestor->started_ms) / 1000.0;
    }
    free(lineage.runs);
    if (status == 0 && ret_training)
        *ret_training = (struct store_training){.elapsed_s = elapsed_s, .step = lineage.step};
    return status;
}

/* Adds to `lack` what the journals of one run lack, except steps that were lost and made again. */
static int metric_add_lack(struct store *store, const struct metric_ancestor *ancestor,
                           struct text *lack, struct error *err)
{
    int status;
    struct stmt *stmt = store_stmt(store, Q_JOURNAL_GAPS);
    stmt_bind_id(stmt, ":run", ancestor->run);
    stmt_bind_int(stmt, ":step_max", ancestor->step_max);
    while ((status = stmt_step(stmt, err)) > 0) {
        int64_t first = stmt_int(stmt, "first_seq"), last = stmt_int(stmt, "last_seq");
        text_addf(lack, "%sthe journal of %.64s lacks entr", lack->size ? "; " : "",
                  stmt_text(stmt, "node"));
        text_addf(lack, first == last ? "y %" PRId64 : "ies %" PRId64 " to %" PRId64, first, last);
        text_addf(lack, " of run #%" PRId64, stmt_int(stmt, "attempt"));
    }
    return status;
}

/* What the runs of a lineage told of their steps. */
struct metric_told {
    int64_t first, last; /* the steps of the rows of all runs until now; -1: no rows */
    int64_t interval;    /* the longest between two rows of a run, in steps; 0: not known */
    bool counts_alike;   /* checkpoints and rows count the same steps */
};

/* Adds what one run told; `ret_attempt` is its number. */
static int metric_told_add(struct store *store, const struct metric_ancestor *ancestor,
                           struct metric_told *told, int64_t *ret_attempt, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_METRIC_TOLD);
    stmt_bind_id(stmt, ":run", ancestor->run);
    stmt_bind_int(stmt, ":step_max", ancestor->step_max);
    int status = stmt_step(stmt, err);
    if (status <= 0)
        return status;
    *ret_attempt = stmt_int(stmt, "attempt");
    int64_t first = stmt_int(stmt, "first"), last = stmt_int(stmt, "last"),
            gap = stmt_int(stmt, "gap");
    if (first >= 0 && (told->first < 0 || first < told->first))
        told->first = first;
    if (last > told->last)
        told->last = last;
    if (gap > told->interval)
        told->interval = gap;
    told->counts_alike |= stmt_bool(stmt, "counts_alike");
    stmt_reset(stmt);
    return 0;
}

/* Whether the steps before a checkpoint are missing: they are more than the interval of the rows,
 * and more than a tenth of the steps before the checkpoint. `told` has the rows until the
 * checkpoint. If a training reports nothing in its first steps, nothing counts as missing: its next
 * run does not report soon after the checkpoint either. */
static bool metric_is_untold(const struct metric_told *told, const struct metric_told *all,
                             int64_t begin, int64_t saved)
{
    if (told->first < 0)
        return saved - begin > all->interval && all->first <= saved + all->interval;
    int64_t untold = saved - told->last;
    return untold > all->interval && untold > (saved - told->first) / 10;
}

/* Adds to `lack` the steps that a run made and never told, because its agent was killed: the next
 * run goes on from a checkpoint beyond the last row. */
static int metric_add_untold(struct store *store, const struct metric_lineage *lineage,
                             struct text *lack, struct error *err)
{
    struct metric_told all = {.first = -1, .last = -1}, told = all;
    int64_t attempt = 0;
    int status = 0;
    if (lineage->count < 2)
        return 0;
    for (size_t i = 0; status == 0 && i < lineage->count; i++)
        status = metric_told_add(store, &lineage->runs[i], &all, &attempt, err);
    if (status < 0 || !all.counts_alike || !all.interval)
        return status;
    for (size_t i = lineage->count; status == 0 && i-- > 1;) {
        int64_t saved = lineage->runs[i].step_max;
        status = metric_told_add(store, &lineage->runs[i], &told, &attempt, err);
        if (status < 0 || !metric_is_untold(&told, &all, lineage->begin, saved))
            continue;
        if (told.first < 0)
            told.first = told.last = lineage->begin;
        text_addf(lack, "%srun #%" PRId64 " told nothing of steps %" PRId64 " to %" PRId64,
                  lack->size ? "; " : "", attempt, told.last + 1, saved);
        told.last = saved; /* the next runs do not say it again */
    }
    return status;
}

int store_metrics_lack(struct store *store, uint64_t phase, char **ret_lack, struct error *err)
{
    struct metric_lineage lineage;
    struct text lack = {0};
    int status = metric_lineage(store, phase, 0, &lineage, err);
    if (status < 0)
        return status;
    for (size_t i = lineage.count; status == 0 && i-- > 0;)
        status = metric_add_lack(store, &lineage.runs[i], &lack, err);
    if (status == 0)
        status = metric_add_untold(store, &lineage, &lack, err);
    free(lineage.runs);
    if (status == 0)
        *ret_lack = lack.size ? text_steal(&lack) : NULL;
    text_fini(&lack);
    return status;
}
