/* Lists of workflows: which workflows are in them, and in what order. */
#include "daemon/store/answers.h"
#include "daemon/store/store_private.h"

enum {
    RECENT_MS = 24 * 3600 * 1000,
    RECENT_MAX = 100, /* workflows that are over: a status is for one screen */
    ENDED_MAX = 1000, /* if all are asked for: the daemon can do nothing else meanwhile */
};

static int lists_count(struct store *store, int64_t since_ms, int64_t *ret_count, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_WORKFLOWS_COUNT);
    stmt_bind_int(stmt, ":since", since_ms);
    return stmt_read_int(stmt, "count", ret_count, err);
}

/* The group of a workflow, and the time at which the workflow ended. */
struct place {
    int64_t group, ended_ms;
};

static int lists_place(struct store *store, uint64_t workflow, struct place *ret_place,
                       struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_WORKFLOW_PLACE);
    stmt_bind_id(stmt, ":workflow", workflow);
    int status = stmt_find(stmt, "workflow", workflow, err);
    if (status < 0)
        return status;
    *ret_place =
        (struct place){.group = stmt_int(stmt, "place"), .ended_ms = stmt_int(stmt, "ended")};
    stmt_reset(stmt);
    return 0;
}

/* Lets each group of Q_WORKFLOWS_LIST begin after the workflow `before`. The groups that come
 * before its group are left out. */
static void lists_begin(struct stmt *list, int64_t before, const struct place *place)
{
    enum { HELD, LIVE, ENDED };
    stmt_bind_int(list, ":held_before", place->group == HELD ? before : 0);
    stmt_bind_int(list, ":live_before",
                  place->group < LIVE    ? INT64_MAX
                  : place->group == LIVE ? before
                                         : 0);
    stmt_bind_int(list, ":ended_before", place->group == ENDED ? place->ended_ms : INT64_MAX);
    stmt_bind_int(list, ":before", before);
}

int answer_workflows(struct store *store, const struct answer_list *wanted, int64_t now_ms,
                     answer_take *take, void *context, int64_t *ret_total, struct error *err)
{
    int64_t since_ms = wanted->scope == ANSWER_ALL ? 0 : now_ms - RECENT_MS;
    unsigned ended_max = wanted->scope == ANSWER_ALL ? ENDED_MAX : RECENT_MAX;
    unsigned limit = wanted->limit;
    int status = lists_count(store, since_ms, ret_total, err);
    if (status < 0)
        return status;
    struct place place = {0};
    if (wanted->before)
        status = lists_place(store, wanted->before, &place, err);
    if (status < 0)
        return status;
    json_t *workflow = NULL;
    struct stmt *list = store_stmt(store, Q_WORKFLOWS_LIST);
    lists_begin(list, wanted->before ? (int64_t)wanted->before : INT64_MAX, &place);
    stmt_bind_int(list, ":since", since_ms);
    stmt_bind_int(list, ":limit", limit ? (int64_t)limit : -1);
    stmt_bind_int(list, ":ended_limit", limit && limit < ended_max ? limit : ended_max);
    stmt_bind_text(list, ":state", wanted->state);
    stmt_bind_text(list, ":words", wanted->words);
    while ((status = stmt_step(list, err)) > 0) {
        status = answer_workflow(store, stmt_id(list, "id"), wanted->detail, &workflow, err);
        if (status < 0)
            break;
        take(workflow, context);
    }
    if (status < 0)
        stmt_reset(list);
    return status;
}
