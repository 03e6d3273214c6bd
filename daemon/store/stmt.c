/* Binding, stepping and reading of statements; SQLite's codes become errno here. */
#include "daemon/store/stmt.h"

#include "daemon/store/store_private.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stmt *store_stmt(struct store *store, enum query query)
{
    struct stmt *stmt = &store->stmts[query];
    assert(!sqlite3_stmt_busy(stmt->sqlite));
    return stmt;
}

/* The errno of a failure of the file system, as far as SQLite passes it on. */
static int stmt_io_errno(sqlite3 *db)
{
    switch (sqlite3_system_errno(db)) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return -ENOSPC;
    case EACCES:
        return -EACCES;
    case EROFS:
        return -EROFS;
    default:
        return -EIO;
    }
}

static int stmt_errno(sqlite3 *db, int code)
{
    switch (code & 0xff) {
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_READONLY:
        return -EROFS;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return -EBUSY;
    case SQLITE_CORRUPT:
        return -EUCLEAN;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return stmt_io_errno(db);
    case SQLITE_CONSTRAINT:
        return code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_PRIMARYKEY ? -EEXIST
                                                                                        : -EINVAL;
    case SQLITE_NOMEM:
        abort();
    default:
        return -EINVAL;
    }
}

bool store_may_pass(int code)
{
    switch (code) {
    case -ENOSPC:
    case -EDQUOT:
    case -EROFS:
    case -EACCES:
    case -EBUSY:
    case -EIO:
    case -EUCLEAN:
        return true;
    default:
        return false;
    }
}

int store_failed(struct store *store, int code, const char *what, struct error *err)
{
    int status = stmt_errno(store->db, code);
    const char *reason = sqlite3_errmsg(store->db), *detail = NULL;
    int primary = code & 0xff;
    if (status == -ENOSPC)
        reason = "the disk is full, or a quota is used up";
    else if (primary == SQLITE_READONLY)
        reason = "the file or its folder cannot be written";
    else if ((primary == SQLITE_CANTOPEN || primary == SQLITE_IOERR) &&
             sqlite3_system_errno(store->db))
        detail = strerror(sqlite3_system_errno(store->db));
    bool may_pass = status == -ENOSPC || status == -EBUSY || status == -EIO;
    return error_set_at(err, status, store->path, 0, 0, "%s %s the record: %s%s%s",
                        may_pass ? "could not" : "cannot", what, reason, detail ? ": " : "",
                        detail ? detail : "");
}

static int stmt_parameter(struct stmt *stmt, const char *name)
{
    int index = sqlite3_bind_parameter_index(stmt->sqlite, name);
    if (index == 0 && !stmt->unbound)
        stmt->unbound = name;
    stmt->bound++;
    return index;
}

static void stmt_note(struct stmt *stmt, const char *name, int code)
{
    if (code != SQLITE_OK && !stmt->unbound)
        stmt->unbound = name;
}

void stmt_bind_int(struct stmt *stmt, const char *name, int64_t value)
{
    stmt_note(stmt, name, sqlite3_bind_int64(stmt->sqlite, stmt_parameter(stmt, name), value));
}

void stmt_bind_id(struct stmt *stmt, const char *name, uint64_t id)
{
    if (id)
        stmt_bind_int(stmt, name, (int64_t)id);
    else
        stmt_bind_text(stmt, name, NULL);
}

void stmt_bind_known(struct stmt *stmt, const char *name, int64_t value)
{
    if (value >= 0)
        stmt_bind_int(stmt, name, value);
    else
        stmt_bind_text(stmt, name, NULL);
}

void stmt_bind_time(struct stmt *stmt, const char *name, int64_t time_ms)
{
    stmt_bind_id(stmt, name, (uint64_t)time_ms);
}

void stmt_bind_real(struct stmt *stmt, const char *name, double value)
{
    if (isnan(value))
        stmt_bind_text(stmt, name, NULL);
    else
        stmt_note(stmt, name, sqlite3_bind_double(stmt->sqlite, stmt_parameter(stmt, name), value));
}

void stmt_bind_text(struct stmt *stmt, const char *name, const char *text)
{
    stmt_note(stmt, name,
              sqlite3_bind_text(stmt->sqlite, stmt_parameter(stmt, name), text, -1, SQLITE_STATIC));
}

void stmt_bind_words(struct stmt *stmt, const char *name, const char *text)
{
    stmt_bind_text(stmt, name, text && *text ? text : NULL);
}

void stmt_bind_json(struct stmt *stmt, const char *name, const json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    if (json && !text)
        stmt_note(stmt, name, SQLITE_MISMATCH);
    else
        stmt_note(stmt, name,
                  sqlite3_bind_text(stmt->sqlite, stmt_parameter(stmt, name), text, -1, free));
}

void stmt_reset(struct stmt *stmt)
{
    /* sqlite3_reset() repeats the code of a failure that stmt_step() has reported. */
    (void)sqlite3_reset(stmt->sqlite);
    (void)sqlite3_clear_bindings(stmt->sqlite); /* never fails */
    stmt->unbound = NULL;
    stmt->bound = 0;
}

static int stmt_fail(struct stmt *stmt, int code, struct error *err)
{
    struct error failure = {0};
    char what[64];
    (void)snprintf(what, sizeof what, "do %s in", stmt->name);
    if (stmt->unbound)
        error_set_at(&failure, -EINVAL, stmt->store->path, 0, 0, "cannot bind %s of %s",
                     stmt->unbound, stmt->name);
    else
        store_failed(stmt->store, code, what, &failure);
    stmt_reset(stmt);
    if (!sqlite3_stmt_readonly(stmt->sqlite))
        stmt->store->spoiled = failure;
    if (err)
        *err = failure;
    return failure.code;
}

int stmt_step(struct stmt *stmt, struct error *err)
{
    struct store *store = stmt->store;
    if (!sqlite3_stmt_readonly(stmt->sqlite)) {
        assert(store->in_transaction);
        /* SQLite may have rolled back by itself, and would now commit each write alone. */
        if (store->spoiled.code) {
            stmt_reset(stmt);
            if (err)
                *err = store->spoiled;
            return store->spoiled.code;
        }
    }
    if (stmt->bound != sqlite3_bind_parameter_count(stmt->sqlite) && !stmt->unbound)
        stmt->unbound = "every parameter";
    if (stmt->unbound)
        return stmt_fail(stmt, SQLITE_RANGE, err);
    int code = sqlite3_step(stmt->sqlite);
    stmt->column = -1;
    if (code == SQLITE_ROW)
        return 1;
    if (code != SQLITE_DONE)
        return stmt_fail(stmt, code, err);
    stmt_reset(stmt);
    return 0;
}

int stmt_run(struct stmt *stmt, struct error *err)
{
    int status = stmt_step(stmt, err);
    assert(status <= 0);
    return status;
}

int stmt_find(struct stmt *stmt, const char *kind, uint64_t id, struct error *err)
{
    int status = stmt_step(stmt, err);
    if (status == 0)
        return error_set(err, -ENOENT, "no %s %" PRIu64, kind, id);
    return status < 0 ? status : 0;
}

int stmt_read_int(struct stmt *stmt, const char *column, int64_t *ret_value, struct error *err)
{
    int status = stmt_step(stmt, err);
    if (status < 0)
        return status;
    *ret_value = status > 0 ? stmt_int(stmt, column) : 0;
    stmt_reset(stmt);
    return 0;
}

int stmt_read_id(struct stmt *stmt, const char *column, uint64_t *ret_id, struct error *err)
{
    return stmt_read_int(stmt, column, (int64_t *)ret_id, err);
}

/* Columns are mostly read in their order, so the search begins behind the last one. */
static int stmt_column(struct stmt *stmt, const char *name)
{
    for (int i = 0; i < stmt->column_count; i++) {
        stmt->column = (stmt->column + 1) % stmt->column_count;
        if (text_equal(stmt->columns[stmt->column], name))
            return stmt->column;
    }
    assert(false && "the query has the column");
    return 0;
}

bool stmt_is_null(struct stmt *stmt, const char *column)
{
    return sqlite3_column_type(stmt->sqlite, stmt_column(stmt, column)) == SQLITE_NULL;
}

bool stmt_bool(struct stmt *stmt, const char *column)
{
    return stmt_int(stmt, column) != 0;
}

int64_t stmt_int(struct stmt *stmt, const char *column)
{
    return sqlite3_column_int64(stmt->sqlite, stmt_column(stmt, column));
}

uint64_t stmt_id(struct stmt *stmt, const char *column)
{
    return (uint64_t)stmt_int(stmt, column);
}

unsigned stmt_unsigned(struct stmt *stmt, const char *column)
{
    return (unsigned)stmt_int(stmt, column);
}

double stmt_real(struct stmt *stmt, const char *column)
{
    int index = stmt_column(stmt, column);
    bool is_null = sqlite3_column_type(stmt->sqlite, index) == SQLITE_NULL;
    return is_null ? NAN : sqlite3_column_double(stmt->sqlite, index);
}

const char *stmt_text(struct stmt *stmt, const char *column)
{
    return (const char *)sqlite3_column_text(stmt->sqlite, stmt_column(stmt, column));
}

char *stmt_copy(struct stmt *stmt, const char *column)
{
    return xstrdup_or_null(stmt_text(stmt, column));
}

void stmt_words(struct stmt *stmt, const char *column, char *buffer, size_t size)
{
    const char *text = stmt_text(stmt, column);
    (void)snprintf(buffer, size, "%s", text ? text : "");
}

json_t *stmt_json(struct stmt *stmt, const char *column)
{
    const char *text = stmt_text(stmt, column);
    return text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
}
