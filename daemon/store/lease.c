/* The lease: the record itself says which daemon may write it. The lock of the home only keeps a
 * second daemon from starting by mistake, and somebody may have deleted the lock.
 *
 * If the record is on a file system of a network (STORE_ALONE), SQLite itself holds the file and
 * reads no page twice. In that case a second daemon cannot open the file, so no daemon has to see a
 * new lease. If the locks of that file system do not work, nothing keeps two daemons on two hosts
 * apart. */
#include "daemon/store/store_private.h"

#include "lib/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

_Static_assert(sizeof((struct store *)0)->owner == MAC_TOKEN_SIZE, "mac_random() fills it");

void lease_take(struct store *store)
{
    char host[256] = "";
    (void)gethostname(host, sizeof host - 1); /* only people read it */
    mac_random(store->owner, sizeof store->owner);
    struct stmt *stmt = store_stmt(store, Q_LEASE_TAKE);
    stmt_bind_text(stmt, ":owner", store->owner);
    stmt_bind_int(stmt, ":pid", getpid());
    stmt_bind_text(stmt, ":host", host);
    (void)stmt_run(stmt, NULL); /* the commit reports a failure */
}

int store_check_lease(struct store *store, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_LEASE_GET);
    int status = stmt_step(stmt, err);
    if (status < 0)
        return status;
    const char *owner = status > 0 ? stmt_text(stmt, "owner") : NULL;
    if (!owner) {
        status = error_set_at(err, -ESTALE, store->path, 0, 0,
                              "the record has lost its lease, so that another daemon may write it");
    } else if (text_equal(owner, store->owner)) {
        status = 0;
    } else {
        int64_t pid = stmt_int(stmt, "pid");
        const char *host = stmt_text(stmt, "host");
        status = error_set_at(err, -ESTALE, store->path, 0, 0,
                              "another daemon serves this home now: process %" PRId64 " on %s", pid,
                              host);
    }
    stmt_reset(stmt);
    return status;
}

int store_cluster(struct store *store, char *name, size_t size, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_CLUSTER_GET);
    int status = stmt_step(stmt, err);
    (void)snprintf(name, size, "%s", status > 0 ? stmt_text(stmt, "cluster") : "");
    stmt_reset(stmt);
    return status < 0 ? status : 0;
}

int store_set_cluster(struct store *store, const char *name, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_CLUSTER_SET);
    stmt_bind_text(stmt, ":cluster", name);
    return stmt_run(stmt, err);
}
