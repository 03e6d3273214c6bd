/* Which version of the schema a file has, and the steps to the newest version.
 *
 * A number is not enough to tell the schema: a step may have changed after somebody had taken it.
 * So a file keeps a digest of each step that made it. Older files have no digests. Their tables,
 * columns and views are compared with what the steps make. Views and indexes that people have added
 * do not count. */
#include "daemon/store/store_private.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

enum { DIGEST_BYTES = 16, DIGEST_SIZE = 2 * DIGEST_BYTES + 1 };

/* A file with nothing in it is new. If a start was killed before its first transaction, the file is
 * new, too. */
int store_identify(struct store *store, int64_t *ret_version, struct error *err)
{
    int64_t application = 0, tables = 0, version = 0;
    int status = store_number(store, "PRAGMA application_id", &application, err);
    if (status == 0)
        status = store_number(store, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (status == 0)
        status = store_number(store, "PRAGMA user_version", &version, err);
    if (status < 0)
        return status;
    if (application != STORE_APPLICATION_ID && (application != 0 || tables > 0))
        return error_set_at(err, -EINVAL, store->path, 0, 0,
                            "cannot open the record: this is a database of another program");
    if (version > MIGRATION_COUNT)
        return error_set_at(err, -ENOTSUP, store->path, 0, 0,
                            "cannot open the record: a newer phased wrote it (schema %" PRId64
                            ", this phased knows %d)",
                            version, MIGRATION_COUNT);
    *ret_version = version;
    return 0;
}

static int migrate_step(struct store *store, const struct embedded_sql *step, int version,
                        struct error *err)
{
    int status = store_exec(store, step->sql, "migrate", err);
    char *mark = text_format("PRAGMA user_version = %d; PRAGMA application_id = %d", version,
                             STORE_APPLICATION_ID);
    if (status == 0)
        status = store_exec(store, mark, "migrate", err);
    free(mark);
    if (status < 0 && err)
        (void)error_prefix(err, "%s", step->name);
    return status;
}

/* --- Files of an equal number ----------------------------------------------------------------- */

static void step_digest(const struct embedded_sql *step, char ret_digest[DIGEST_SIZE])
{
    unsigned char bytes[DIGEST_BYTES];
    (void)crypto_generichash(bytes, sizeof bytes, (const unsigned char *)step->sql,
                             strlen(step->sql), NULL, 0); /* does not fail for these sizes */
    (void)sodium_bin2hex(ret_digest, DIGEST_SIZE, bytes, sizeof bytes);
}

static int refuse_other(struct store *store, int version, const char *what, struct error *err)
{
    return error_set_at(err, -ENOTSUP, store->path, 0, 0,
                        "cannot open the record: another build of phased made its schema %d: %s. "
                        "Open it with that build, or move the file away to begin a new record",
                        version, what);
}

/* Lists the schema, with a line for each object. The caller frees the list. NULL: the schema cannot
 * be read. `wants` is another such list: only its views and indexes count, because people add
 * others. `wants` NULL: all count. */
static char *describe(sqlite3 *db, const char *wants)
{
    static const char sql[] =
        "SELECT ifnull(group_concat(line, char(10)) || char(10), '')" /* there may be no row */
        "  FROM (SELECT has.type || ' ' || has.name || ifnull('.' || part.name, '') AS line"
        "          FROM sqlite_schema AS has"
        "          LEFT JOIN pragma_table_info(has.name) AS part ON has.type IN ('table', 'view')"
        "         WHERE has.name NOT LIKE 'sqlite_%'"
        "           AND (has.type NOT IN ('view', 'index') OR :wants IS NULL"
        "                OR instr(char(10) || :wants, char(10) || has.type || ' ' || has.name"
        "                             || iif(has.type = 'view', '.', char(10))))"
        "         ORDER BY line)";
    sqlite3_stmt *stmt = NULL;
    char *text = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_bind_text(stmt, 1, wants, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        text = xstrdup((const char *)sqlite3_column_text(stmt, 0));
    (void)sqlite3_finalize(stmt); /* repeats the code of a failed step */
    return text;
}

/* Lists what these steps make of an empty file. */
static char *describe_steps(const struct embedded_sql *steps, int count)
{
    sqlite3 *db = NULL;
    int code = sqlite3_open(":memory:", &db);
    for (int i = 0; code == SQLITE_OK && i < count; i++)
        code = sqlite3_exec(db, steps[i].sql, NULL, NULL, NULL);
    char *text = code == SQLITE_OK ? describe(db, NULL) : NULL;
    (void)sqlite3_close(db); /* no statement is left */
    return text;
}

/* Finds the first line of `text` that `other` lacks, borrowed. Returns its length; 0: `other` lacks
 * no line. */
static size_t find_line(const char *text, const char *other, const char **ret_line)
{
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        size_t size = strcspn(line, "\n") + 1;
        bool is_there = false;
        for (const char *its = other; *its && !is_there; its += strcspn(its, "\n") + 1)
            is_there = strncmp(its, line, size) == 0;
        *ret_line = line;
        if (!is_there)
            return size - 1;
    }
    return 0;
}

static int check_shape(struct store *store, const struct embedded_sql *steps, int version,
                       struct error *err)
{
    char *wants = describe_steps(steps, version), *has = describe(store->db, wants);
    int code = sqlite3_errcode(store->db), status = 0;
    const char *line = "";
    assert(wants); /* the steps are our own */
    size_t missing = has ? find_line(wants, has, &line) : 0;
    size_t other = has && !missing ? find_line(has, wants, &line) : 0;
    if (!has && (code & 0xff) == SQLITE_ERROR) { /* a view shows what the file lacks */
        status = refuse_other(store, version, sqlite3_errmsg(store->db), err);
    } else if (!has) {
        status = store_failed(store, code, "read the schema", err);
    } else if (missing || other) {
        char *what = text_format("this one's has %s %.*s", missing ? "the" : "no",
                                 (int)(missing ? missing : other), line);
        status = refuse_other(store, version, what, err);
        free(what);
    }
    free(has);
    free(wants);
    return status;
}

static int check_digest(struct store *store, const struct embedded_sql *step, int version,
                        struct error *err)
{
    char digest[DIGEST_SIZE], taken[128], own[128];
    char *sql = text_format("SELECT ifnull((SELECT name || ' ' || digest FROM migration"
                            "                WHERE version = %d), '')",
                            version);
    int status = store_ask(store, sql, NULL, taken, sizeof taken, err);
    free(sql);
    step_digest(step, digest);
    (void)snprintf(own, sizeof own, "%s %s", step->name, digest);
    if (status < 0 || !taken[0] || text_equal(taken, own))
        return status;
    char *what = text_format("%s, this one's is %s", taken, own);
    status = refuse_other(store, version, what, err);
    free(what);
    return status;
}

static int store_check_steps(struct store *store, const struct embedded_sql *steps, int version,
                             struct error *err)
{
    int64_t has_digests = 0;
    int status = store_number(store, "SELECT count(*) FROM sqlite_schema WHERE name = 'migration'",
                              &has_digests, err);
    if (status == 0 && !has_digests && version > 0)
        status = check_shape(store, steps, version, err);
    for (int i = 0; status == 0 && has_digests && i < version; i++)
        status = check_digest(store, &steps[i], i + 1, err);
    return status;
}

static int keep_digests(struct store *store, const struct embedded_sql *steps, int count,
                        struct error *err)
{
    int status = 0;
    for (int i = 0; status == 0 && i < count; i++) {
        char digest[DIGEST_SIZE];
        step_digest(&steps[i], digest);
        char *sql = text_format("INSERT OR IGNORE INTO migration (version, name, digest)"
                                " VALUES (%d, '%s', '%s')",
                                i + 1, steps[i].name, digest);
        status = store_exec(store, sql, "migrate", err);
        free(sql);
    }
    return status;
}

int store_migrate(struct store *store, const struct embedded_sql *steps, int count,
                  struct error *err)
{
    int64_t version;
    int status = store_identify(store, &version, err);
    if (status == 0)
        status = store_check_steps(store, steps, version < count ? (int)version : count, err);
    if (status < 0 || version >= count)
        return status;
    status = store_begin_as(store, STORE_ANYBODY, err);
    for (int i = (int)version; status == 0 && i < count; i++)
        status = migrate_step(store, &steps[i], i + 1, err);
    if (status == 0)
        status = keep_digests(store, steps, count, err);
    if (status == 0)
        return store_commit(store, err);
    store_rollback(store);
    return status;
}
