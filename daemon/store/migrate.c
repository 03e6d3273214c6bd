/* Which version of the schema a file has, and how it gets the newest version: a new file gets the
 * whole schema at once, and an older file gets the migrations that it lacks.
 *
 * A number is not enough to tell the schema: a migration may have changed after a file had taken
 * it. So a file keeps a digest of each migration that it has taken. A new file keeps the digests,
 * too, since its schema is what the migrations would have made. */
#include "daemon/store/store_private.h"

#include "lib/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

enum {
    DIGEST_BYTES = 16,
    DIGEST_SIZE = 2 * DIGEST_BYTES + 1,
};

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
    if (version > SCHEMA_VERSION)
        return error_set_at(err, -ENOTSUP, store->path, 0, 0,
                            "cannot open the record: a newer phased wrote it (schema %" PRId64
                            ", this phased knows %d)",
                            version, SCHEMA_VERSION);
    if (version > 0 && version < SCHEMA_OLDEST)
        return error_set_at(err, -ENOTSUP, store->path, 0, 0,
                            "cannot open the record: it has schema %" PRId64
                            ", and this phased knows %d and later. The record stays as it is. "
                            "Open it with the build that made it, or move the file away to begin "
                            "a new record",
                            version, SCHEMA_OLDEST);
    *ret_version = version;
    return 0;
}

/* Applies SQL that leaves the file with this version of the schema. */
static int apply_sql(struct store *store, const struct embedded_sql *sql, int version,
                     struct error *err)
{
    int status = store_exec(store, sql->sql, "migrate", err);
    char *mark = text_format("PRAGMA user_version = %d; PRAGMA application_id = %d", version,
                             STORE_APPLICATION_ID);
    if (status == 0)
        status = store_exec(store, mark, "migrate", err);
    free(mark);
    if (status < 0 && err)
        (void)error_prefix(err, "%s", sql->name);
    return status;
}

/* --- Files with the same number --------------------------------------------------------------- */

static void migration_digest(const struct embedded_sql *migration, char ret_digest[DIGEST_SIZE])
{
    unsigned char bytes[DIGEST_BYTES];
    (void)crypto_generichash(bytes, sizeof bytes, (const unsigned char *)migration->sql,
                             strlen(migration->sql), NULL, 0); /* does not fail for these sizes */
    (void)sodium_bin2hex(ret_digest, DIGEST_SIZE, bytes, sizeof bytes);
}

static int check_digest(struct store *store, const struct embedded_sql *migration, int version,
                        struct error *err)
{
    char digest[DIGEST_SIZE], taken[128], own[128];
    char *sql = text_format("SELECT ifnull((SELECT name || ' ' || digest FROM migration"
                            "                WHERE version = %d), '')",
                            version);
    int status = store_ask(store, sql, NULL, taken, sizeof taken, err);
    free(sql);
    migration_digest(migration, digest);
    (void)snprintf(own, sizeof own, "%s %s", migration->name, digest);
    if (status < 0 || !taken[0] || text_equal(taken, own))
        return status;
    return error_set_at(
        err, -ENOTSUP, store->path, 0, 0,
        "cannot open the record: another build of phased made its schema %d: %s; "
        "this build has %s. Open it with that build, or move the file away to begin "
        "a new record",
        version, taken, own);
}

static int keep_digests(struct store *store, const struct embedded_sql *list, int count,
                        struct error *err)
{
    int status = 0;
    for (int i = 0; status == 0 && i < count; i++) {
        char digest[DIGEST_SIZE];
        migration_digest(&list[i], digest);
        char *sql = text_format("INSERT OR IGNORE INTO migration (version, name, digest)"
                                " VALUES (%d, '%s', '%s')",
                                MIGRATION_FIRST + i, list[i].name, digest);
        status = store_exec(store, sql, "migrate", err);
        free(sql);
    }
    return status;
}

int store_migrate(struct store *store, const struct embedded_sql *list, int count,
                  struct error *err)
{
    const int64_t newest = MIGRATION_FIRST + count - 1;
    int64_t version;
    int status = store_identify(store, &version, err);
    for (int i = 0; status == 0 && i < count && MIGRATION_FIRST + i <= version; i++)
        status = check_digest(store, &list[i], MIGRATION_FIRST + i, err);
    if (status < 0 || version >= newest)
        return status;
    status = store_begin_as(store, STORE_ANYBODY, err);
    if (status == 0 && version == 0) {
        version = SCHEMA_VERSION;
        status = apply_sql(store, &record_schema, SCHEMA_VERSION, err);
    }
    for (int i = (int)version + 1 - MIGRATION_FIRST; status == 0 && i < count; i++)
        status = apply_sql(store, &list[i], MIGRATION_FIRST + i, err);
    if (status == 0)
        status = keep_digests(store, list, count, err);
    if (status == 0)
        return store_commit(store, err);
    store_rollback(store);
    return status;
}
