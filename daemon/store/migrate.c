/* Which version of the schema a file has, and the steps to the newest. */
#include "daemon/store/store_private.h"

#include "lib/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* A file that has nothing in it is new, also where a start was killed before its first
 * transaction. */
int store_identify(struct store *store, int64_t *ret_version, struct error *err)
{
    int64_t application = 0, tables = 0, version = 0;
    int result = store_number(store, "PRAGMA application_id", &application, err);
    if (result == 0)
        result = store_number(store, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (result == 0)
        result = store_number(store, "PRAGMA user_version", &version, err);
    if (result < 0)
        return result;
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
    int result = store_exec(store, step->sql, "migrate", err);
    char *mark = text_format("PRAGMA user_version = %d; PRAGMA application_id = %d", version,
                             STORE_APPLICATION_ID);
    if (result == 0)
        result = store_exec(store, mark, "migrate", err);
    free(mark);
    if (result < 0 && err)
        (void)error_prefix(err, "%s", step->name);
    return result;
}

int store_migrate(struct store *store, const struct embedded_sql *steps, int count,
                  struct error *err)
{
    int64_t version;
    int result = store_identify(store, &version, err);
    if (result < 0 || version >= count)
        return result;
    result = store_begin_as(store, STORE_ANYBODY, err);
    for (int i = (int)version; result == 0 && i < count; i++)
        result = migrate_step(store, &steps[i], i + 1, err);
    if (result == 0)
        return store_commit(store, err);
    store_rollback(store);
    return result;
}
