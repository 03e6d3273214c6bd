/* Which version of the schema a file has, and the migrations to the newest version.
 *
 * A number is not enough to tell the schema: a migration may have changed after a file had taken
 * it. So a file keeps a digest of each migration that it has taken. */
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
    MIGRATION_OLDEST = 10, /* earlier files keep no digests; no release made them */
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
    if (version > MIGRATION_COUNT)
        return error_set_at(err, -ENOTSUP, store->path, 0, 0,
                            "cannot open the record: a newer phased wrote it (schema %" PRId64
                            ", this phased knows %d)",
                            version, MIGRATION_COUNT);
    if (version > 0 && version < MIGRATION_OLDEST)
        return error_set_at(err, -ENOTSUP, store->path, 0, 0,
                            "cannot open the record: it has schema %" PRId64
                            ", and this phased knows %d and later. The record stays as it is. "
                            "Open it with the build that made it, or move the file away to begin "
                            "a new record",
                            version, MIGRATION_OLDEST);
    *ret_version = version;
    return 0;
}

static int apply_migration(struct store *store, const struct embedded_sql *migration, int version,
                           struct error *err)
{
    int status = store_exec(store, migration->sql, "migrate", err);
    char *mark = text_format("PRAGMA user_version = %d; PRAGMA application_id = %d", version,
                             STORE_APPLICATION_ID);
    if (status == 0)
        status = store_exec(store, mark, "migrate", err);
    free(mark);
    if (status < 0 && err)
        (void)error_prefix(err, "%s", migration->name);
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
                                i + 1, list[i].name, digest);
        status = store_exec(store, sql, "migrate", err);
        free(sql);
    }
    return status;
}

int store_migrate(struct store *store, const struct embedded_sql *list, int count,
                  struct error *err)
{
    int64_t version;
    int status = store_identify(store, &version, err);
    for (int i = 0; status == 0 && i < version && i < count; i++)
        status = check_digest(store, &list[i], i + 1, err);
    if (status < 0 || version >= count)
        return status;
    status = store_begin_as(store, STORE_ANYBODY, err);
    for (int i = (int)version; status == 0 && i < count; i++)
        status = apply_migration(store, &list[i], i + 1, err);
    if (status == 0)
        status = keep_digests(store, list, count, err);
    if (status == 0)
        return store_commit(store, err);
    store_rollback(store);
    return status;
}
