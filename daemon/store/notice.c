/* Reading and ending notices. */
#include "daemon/store/notice.h"

#include "daemon/store/row_json.h"
#include "daemon/store/store_private.h"

int store_notices(struct store *store, int64_t now_ms, unsigned limit, json_t **ret_notices,
                  struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_NOTICE_LIST);
    stmt_bind_int(stmt, ":now", now_ms);
    stmt_bind_int(stmt, ":first", NOTICE_RETRY_FIRST_MS);
    stmt_bind_int(stmt, ":last", NOTICE_RETRY_LAST_MS);
    stmt_bind_int(stmt, ":limit", limit);
    return row_json_list(stmt, ret_notices, err);
}

int store_notice_done(struct store *store, uint64_t notice, int64_t now_ms, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_NOTICE_DONE);
    stmt_bind_id(stmt, ":notice", notice);
    stmt_bind_int(stmt, ":now", now_ms);
    return stmt_run(stmt, err);
}

int store_notice_retry(struct store *store, uint64_t notice, int64_t due_ms, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_NOTICE_RETRY);
    stmt_bind_id(stmt, ":notice", notice);
    stmt_bind_int(stmt, ":due", due_ms);
    return stmt_run(stmt, err);
}
