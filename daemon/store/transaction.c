/* Transactions, and SQL that is not a query. */
#include "daemon/store/store_private.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

int store_exec(struct store *store, const char *sql, const char *what, struct error *err)
{
    int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? 0 : store_failed(store, code, what, err);
}

int store_ask(struct store *store, const char *sql, int64_t *ret_number, char *text, size_t size,
              struct error *err)
{
    sqlite3_stmt *stmt;
    int code = sqlite3_prepare_v2(store->db, sql, -1, &stmt, NULL);
    if (code != SQLITE_OK)
        return store_failed(store, code, "open", err);
    int status = 0;
    code = sqlite3_step(stmt);
    if (code != SQLITE_ROW)
        status = store_failed(store, code, "open", err);
    else if (text)
        (void)snprintf(text, size, "%s", (const char *)sqlite3_column_text(stmt, 0));
    else
        *ret_number = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt); /* repeats the code of a failed step */
    return status;
}

int store_number(struct store *store, const char *sql, int64_t *ret_number, struct error *err)
{
    return store_ask(store, sql, ret_number, NULL, 0, err);
}

int store_begin_as(struct store *store, enum store_writer writer, struct error *err)
{
    assert(!store->in_transaction);
    int status = store_exec(store, "BEGIN IMMEDIATE", "write to", err);
    if (status < 0)
        return status;
    store->in_transaction = true;
    if (writer == STORE_OWNER)
        status = store_check_lease(store, err); /* no other program can write until the commit */
    if (status < 0)
        store_rollback(store);
    return status;
}

int store_begin(struct store *store, struct error *err)
{
    return store_begin_as(store, STORE_OWNER, err);
}

int store_commit(struct store *store, struct error *err)
{
    assert(store->in_transaction);
    int status = store->spoiled.code;
    if (status < 0 && err)
        *err = store->spoiled;
    if (status == 0)
        status = store_exec(store, "COMMIT", "commit to", err);
    if (status == 0)
        store->in_transaction = false;
    else
        store_rollback(store);
    return status;
}

int store_try_commit(struct store *store, struct error *err)
{
    int status = store_begin(store, err);
    if (status < 0)
        return status;
    for (int i = 0; i < 2; i++)
        (void)stmt_run(store_stmt(store, Q_LEASE_TOUCH), NULL); /* the commit reports a failure */
    return store_commit(store, err);
}

bool store_excuse(struct store *store)
{
    bool is_lost = sqlite3_get_autocommit(store->db) ||
                   (store->spoiled.code != -EINVAL && store->spoiled.code != 0);
    if (!is_lost)
        store->spoiled = (struct error){0};
    return !is_lost;
}

void store_rollback(struct store *store)
{
    if (!store->in_transaction)
        return;
    /* On a full disk SQLite rolls back by itself. If this fails, nothing can be done: what was not
     * committed is gone with the journal at the next start. */
    if (!sqlite3_get_autocommit(store->db))
        (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    json_object_clear(store->metric_ids); /* names that the transaction brought are gone */
    store->spoiled = (struct error){0};
    store->in_transaction = false;
}
