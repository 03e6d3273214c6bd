/* The health of nodes: which nodes new jobs are kept away from, because they failed or a person
 * wants it; and what preflights found. */
#include "daemon/store/answers.h"
#include "daemon/store/row_json.h"
#include "daemon/store/store_private.h"
#include "lib/json.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <errno.h>

/* --- Exclusions ------------------------------------------------------------------------------- */

/* The newest exclusion of a node, over or not. */
struct exclusion {
    int64_t since_ms, until_ms; /* until 0: until a person clears it */
    unsigned count;
    bool is_cleared;
};

static bool exclusion_is_active(const struct exclusion *exclusion, int64_t now_ms)
{
    return exclusion->since_ms && !exclusion->is_cleared &&
           (exclusion->until_ms == 0 || exclusion->until_ms > now_ms);
}

/* Whether a failure now counts as a repetition. */
static bool exclusion_is_remembered(const struct exclusion *exclusion, int64_t now_ms)
{
    int64_t from_ms = now_ms - 1000 * (int64_t)STORE_EXCLUSION_MEMORY_S;
    return !exclusion->is_cleared && exclusion->since_ms > from_ms;
}

/* Zeros if the node never was excluded. */
static int node_last(struct store *store, const char *node, struct exclusion *ret_last,
                     struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_NODE_LAST);
    stmt_bind_text(stmt, ":node", node);
    int status = stmt_step(stmt, err);
    if (status < 0)
        return status;
    *ret_last = (struct exclusion){0};
    if (status == 0)
        return 0;
    ret_last->since_ms = stmt_int(stmt, "since");
    ret_last->until_ms = stmt_int(stmt, "until");
    ret_last->count = stmt_unsigned(stmt, "count");
    ret_last->is_cleared = stmt_bool(stmt, "cleared");
    stmt_reset(stmt);
    return 0;
}

/* How long to exclude a node after this many failures in a row. */
static int64_t exclusion_lasts_ms(unsigned count)
{
    int64_t lasts_s = STORE_EXCLUSION_FIRST_S;
    while (count-- > 1 && lasts_s < STORE_EXCLUSION_LAST_S)
        lasts_s *= 2;
    return 1000 * (lasts_s < STORE_EXCLUSION_LAST_S ? lasts_s : STORE_EXCLUSION_LAST_S);
}

static int node_insert(struct store *store, const struct store_node_failure *failure,
                       int64_t now_ms, int64_t until_ms, unsigned count, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_NODE_INSERT);
    stmt_bind_text(stmt, ":node", failure->node);
    stmt_bind_text(stmt, ":cause", failure->cause);
    stmt_bind_id(stmt, ":run", failure->run);
    stmt_bind_words(stmt, ":message", failure->message);
    stmt_bind_int(stmt, ":since", now_ms);
    stmt_bind_time(stmt, ":until", until_ms);
    stmt_bind_int(stmt, ":count", count);
    return stmt_run(stmt, err);
}

int store_node_failed(struct store *store, const struct store_node_failure *failure, int64_t now_ms,
                      int64_t *ret_until_ms, struct error *err)
{
    struct exclusion last;
    int status = node_last(store, failure->node, &last, err);
    if (status < 0)
        return status;
    bool is_active = exclusion_is_active(&last, now_ms);
    if (is_active && (last.until_ms == 0 || failure->began_ms <= last.since_ms)) {
        *ret_until_ms = last.until_ms; /* the failure of that run is recorded already */
        return 0;
    }
    unsigned count = exclusion_is_remembered(&last, now_ms) ? last.count + 1 : 1;
    int64_t until_ms = now_ms + exclusion_lasts_ms(count);
    if (is_active && last.until_ms > until_ms)
        until_ms = last.until_ms; /* a person excluded it for longer */
    *ret_until_ms = until_ms;
    return node_insert(store, failure, now_ms, until_ms, count, err);
}

int store_node_exclude(struct store *store, const char *node, const char *message, int64_t until_ms,
                       int64_t now_ms, struct error *err)
{
    struct exclusion last;
    int status = node_last(store, node, &last, err);
    if (status < 0)
        return status;
    const struct store_node_failure exclusion = {.node = node, .message = message};
    unsigned count = exclusion_is_remembered(&last, now_ms) ? last.count : 0;
    return node_insert(store, &exclusion, now_ms, until_ms, count, err);
}

int store_node_clear(struct store *store, const char *node, int64_t now_ms, bool *ret_was_free,
                     struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_NODE_CLEAR);
    stmt_bind_text(stmt, ":node", node);
    stmt_bind_int(stmt, ":now", now_ms);
    int status = stmt_run(stmt, err);
    *ret_was_free = sqlite3_changes(store->db) == 0;
    return status;
}

int store_nodes_excluded(struct store *store, int64_t now_ms, char **ret_nodes, struct error *err)
{
    int status;
    struct text nodes = {0};
    struct stmt *stmt = store_stmt(store, Q_NODE_LIST);
    stmt_bind_int(stmt, ":now", now_ms);
    while ((status = stmt_step(stmt, err)) > 0)
        text_addf(&nodes, "%s%s", nodes.size ? "," : "", stmt_text(stmt, "node"));
    if (status == 0)
        *ret_nodes = nodes.size ? text_steal(&nodes) : NULL;
    text_fini(&nodes);
    return status;
}

/* --- Preflights: a row for each node, and a row for each check -------------------------------- */

static int preflight_add_row(struct store *store, const struct store_preflight *preflight,
                             size_t position, const json_t *row, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_PREFLIGHT_ROW_PUT);
    stmt_bind_id(stmt, ":run", preflight->run);
    stmt_bind_text(stmt, ":node", preflight->node);
    stmt_bind_int(stmt, ":position", (int64_t)position);
    stmt_bind_text(stmt, ":name", json_member_string(row, "name"));
    stmt_bind_text(stmt, ":outcome", json_member_string(row, "outcome"));
    stmt_bind_words(stmt, ":text", json_member_string(row, "text"));
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
        if (json_member_string(row, "name") &&
            preflight_outcome_parse(json_member_string(row, "outcome")) >= 0)
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
