/* Opening the record.
 *
 * The record uses WAL, so that people's sqlite3 can read while the daemon writes. Every commit is
 * synced: an intent to submit a job must outlive a power cut, or the job could be submitted twice.
 */
#include "daemon/store/store.h"

#include "daemon/store/store_private.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { STORE_CHECK_BYTES_MAX = 32 << 20 }; /* checked at open: some 0.1 s */

/* f_type of statfs(2). FUSE is in the list because sshfs and the file systems of many clusters use
 * it.
 */
static const unsigned remote_filesystems[] = {
    0x6969,     /* NFS */
    0x0bd00bd0, /* Lustre */
    0x47504653, /* GPFS */
    0x19830326, /* BeeGFS */
    0x00c36400, /* Ceph */
    0xaad7aaea, /* PanFS */
    0x517b,     /* SMB */
    0xff534d42, /* CIFS */
    0xfe534d42, /* SMB 2 */
    0x5346414f, /* AFS */
    0x6b414653, /* kAFS */
    0x01021997, /* 9P */
    0x20030528, /* OrangeFS */
    0x65735546, /* FUSE */
};

bool store_is_remote(const char *path)
{
    char *folder = xstrdup(path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0'; /* the root keeps its slash */
    struct statfs status;
    bool is_remote = false;
    if (statfs(slash ? folder : ".", &status) == 0)
        for (size_t i = 0; i < sizeof remote_filesystems / sizeof *remote_filesystems; i++)
            is_remote |= (unsigned)status.f_type == remote_filesystems[i];
    free(folder);
    return is_remote;
}

/* Reads every page, so a large file would delay the start. -EUCLEAN: `err` has SQLite's first
 * complaint. */
static int store_check(struct store *store, struct error *err)
{
    char complaint[256] = "";
    int status = store_ask(store, "PRAGMA quick_check(1)", NULL, complaint, sizeof complaint, err);
    if (status < 0 || text_equal(complaint, "ok"))
        return status;
    return error_set_at(
        err, -EUCLEAN, store->path, 0, 0,
        "the record is damaged (%s): put back a copy of the record, or move the record away",
        complaint);
}

/* Makes the file, or checks that only its owner can read it: it holds secrets. */
static int store_make_file(const char *path, int64_t *ret_bytes, struct error *err)
{
    int file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return error_set_at(err, -errno, path, 0, 0, "cannot open the record: %s", strerror(errno));
    struct stat found;
    int status = 0;
    if (fstat(file, &found) < 0 || ((found.st_mode & 077) && fchmod(file, 0600) < 0))
        status = error_set_at(err, -errno, path, 0, 0, "cannot keep the record private: %s",
                              strerror(errno));
    else if (!S_ISREG(found.st_mode))
        status = error_set_at(err, -EINVAL, path, 0, 0, "cannot open the record: not a file");
    else
        *ret_bytes = found.st_size;
    (void)close(file); /* nothing was written */
    return status;
}

static int store_connect(struct store *store, struct error *err)
{
    /* Nobody asks how much memory SQLite has, and counting takes a lock around each malloc().
     * SQLite refuses this call if it is in use already: then the option is set. */
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int code = sqlite3_open_v2(store->path, &store->db, flags, NULL);
    if (code != SQLITE_OK)
        return store_failed(store, code, "open", err);
    /* A misspelt column is an error, not a text. No SQL may write to SQLite's own tables. */
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    /* A table that is made anew is missing for a moment, and a person's own view may show it. */
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_LEGACY_ALTER_TABLE, 1, NULL);
    (void)sqlite3_busy_timeout(store->db, STORE_BUSY_MS);
    return 0;
}

static int store_set_journal(struct store *store, enum store_sharing sharing, struct error *err)
{
    const char *wanted = sharing == STORE_SHARED ? "wal" : "truncate";
    char mode[16] = "", *sql = text_format("PRAGMA journal_mode = %s", wanted);
    int status = store_ask(store, sql, NULL, mode, sizeof mode, err);
    free(sql);
    if (status == 0 && !text_equal(mode, wanted))
        return error_set_at(
            err, -EIO, store->path, 0, 0,
            "cannot open the record: SQLite keeps the journal mode %s and does not switch to %s",
            mode, wanted);
    if (status == 0)
        status = store_exec(store,
                            "PRAGMA synchronous = FULL; PRAGMA cache_size = -8000;"
                            "PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 67108864;",
                            "open", err);
    return status;
}

static int store_prepare(struct store *store, struct error *err)
{
    for (int i = 0; i < QUERY_COUNT; i++) {
        struct stmt *stmt = &store->stmts[i];
        *stmt = (struct stmt){.store = store, .name = queries[i].name};
        int code = sqlite3_prepare_v3(store->db, queries[i].sql, -1, SQLITE_PREPARE_PERSISTENT,
                                      &stmt->sqlite, NULL);
        if (code != SQLITE_OK)
            return error_set_at(err, -EINVAL, store->path, 0, 0, "cannot prepare %s: %s",
                                stmt->name, sqlite3_errmsg(store->db));
        stmt->column_count = sqlite3_column_count(stmt->sqlite);
        stmt->columns = xcalloc((size_t)stmt->column_count, sizeof *stmt->columns);
        for (int column = 0; column < stmt->column_count; column++)
            stmt->columns[column] = xstrdup(sqlite3_column_name(stmt->sqlite, column));
    }
    return 0;
}

static int store_take_lease(struct store *store, struct error *err)
{
    int status = store_begin_as(store, STORE_ANYBODY, err);
    if (status < 0)
        return status;
    lease_take(store);
    return store_commit(store, err);
}

static int store_set_up(struct store *store, enum store_sharing sharing, int64_t bytes,
                        struct error *err)
{
    int64_t version;
    int status = store_connect(store, err);
    /* Before the first read: the file may still use WAL, which needs no shared memory in exclusive
     * mode. */
    if (status == 0 && sharing == STORE_ALONE)
        status = store_exec(store, "PRAGMA locking_mode = EXCLUSIVE", "open", err);
    if (status == 0)
        status = store_identify(store, &version, err);
    if (status == 0)
        status = store_set_journal(store, sharing, err);
    if (status == 0 && sqlite3_db_readonly(store->db, "main") == 1)
        status = error_set_at(err, -EROFS, store->path, 0, 0, "cannot write to the record");
    if (status == 0 && bytes > 0 && bytes <= STORE_CHECK_BYTES_MAX)
        status = store_check(store, err);
    if (status == 0)
        status = store_migrate(store, migrations, MIGRATION_COUNT, err);
    if (status == 0)
        status = store_exec(store, "PRAGMA foreign_keys = ON", "open", err);
    if (status == 0)
        status = store_prepare(store, err);
    if (status == 0)
        status = store_take_lease(store, err);
    return status;
}

int store_open_as(const char *path, const char *runs, enum store_sharing sharing,
                  struct store **ret_store, struct error *err)
{
    int64_t bytes = 0;
    int status = store_make_file(path, &bytes, err);
    if (status < 0)
        return status;
    struct store *store = xcalloc(1, sizeof *store);
    store->path = xstrdup(path);
    store->runs = xstrdup(runs);
    store->metric_ids = json_object();
    status = store_set_up(store, sharing, bytes, err);
    if (status < 0)
        store_close(store);
    else
        *ret_store = store;
    return status;
}

int store_open(const char *path, const char *runs, struct store **ret_store, struct error *err)
{
    enum store_sharing sharing = store_is_remote(path) ? STORE_ALONE : STORE_SHARED;
    return store_open_as(path, runs, sharing, ret_store, err);
}

void store_close(struct store *store)
{
    if (!store)
        return;
    store_rollback(store);
    for (int i = 0; i < QUERY_COUNT; i++) {
        struct stmt *stmt = &store->stmts[i];
        (void)sqlite3_finalize(stmt->sqlite); /* repeats the code of a failed step */
        for (int column = 0; column < stmt->column_count; column++)
            free(stmt->columns[column]);
        free(stmt->columns);
    }
    int code = sqlite3_close(store->db);
    assert(code == SQLITE_OK); /* otherwise a statement was not finalised */
    json_decref(store->metric_ids);
    free(store->path);
    free(store->runs);
    free(store);
}
