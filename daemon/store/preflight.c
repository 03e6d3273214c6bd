/* What preflights found: a row for each node, and a row for each check. */
#include "daemon/store/answers.h"
#include "daemon/store/row_json.h"
#include "daemon/store/store_private.h"
#include "lib/protocol/words.h"

#include <errno.h>

static const char *preflight_text(const json_t *json, const char *name)
{
    return json_string_value(json_object_get(json, name));
}

static int preflight_add_row(struct store *store, const struct store_preflight *preflight,
                             size_t position, const json_t *row, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_PREFLIGHT_ROW_PUT);
    stmt_bind_id(stmt, ":run", preflight->run);
    stmt_bind_text(stmt, ":node", preflight->node);
    stmt_bind_int(stmt, ":position", (int64_t)position);
    stmt_bind_text(stmt, ":name", preflight_text(row, "name"));
    stmt_bind_text(stmt, ":outcome", preflight_text(row, "outcome"));
    stmt_bind_words(stmt, ":text", preflight_text(row, "text"));
    return stmt_run(stmt, err);
}

int store_preflight_add(struct store *store, const struct store_preflight *preflight,
                        struct error *err)
{
    const json_t *row;
    size_t i;
    if (preflight_outcome_parse(preflight->outcome) < 0 || !preflight->level)
        return error_set(err, -EINVAL, "a preflight needs a level and an outcome");
    struct stmt *stmt = store_stmt(store, Q_PREFLIGHT_PUT);
    stmt_bind_id(stmt, ":run", preflight->run);
    stmt_bind_text(stmt, ":node", preflight->node);
    stmt_bind_text(stmt, ":level", preflight->level);
    stmt_bind_int(stmt, ":observed", preflight->is_observed);
    stmt_bind_text(stmt, ":outcome", preflight->outcome);
    stmt_bind_words(stmt, ":reason", preflight->reason ? preflight->reason : "");
    stmt_bind_int(stmt, ":lasted", preflight->lasted_ms);
    stmt_bind_int(stmt, ":time", preflight->time_ms);
    int status = stmt_run(stmt, err);
    json_array_foreach(preflight->rows, i, row)
    {
        if (status < 0 || i == STORE_PREFLIGHT_ROWS_MAX)
            break;
        if (preflight_text(row, "name") &&
            preflight_outcome_parse(preflight_text(row, "outcome")) >= 0)
            status = preflight_add_row(store, preflight, i, row, err);
    }
    return status;
}

int answer_preflight(struct store *store, uint64_t run, json_t **ret_preflight, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_PREFLIGHT_ANSWER);
    stmt_bind_id(stmt, ":run", run);
    return row_json_list(stmt, ret_preflight, err);
}
