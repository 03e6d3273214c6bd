/* Inside daemon/store: the open record, its statements, and how SQLite's failures are told. */
#ifndef PHASED_DAEMON_STORE_STORE_PRIVATE_H
#define PHASED_DAEMON_STORE_STORE_PRIVATE_H

#include "daemon/store/stmt.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "schema/queries.h"

#include <sqlite3.h>

enum {
    STORE_APPLICATION_ID = 0x70687364, /* "phsd", in the file's header */
    STORE_BUSY_MS = 1000,              /* a person's sqlite3 may write as long */
};

struct store {
    sqlite3 *db;
    char *path, *runs;
    char owner[MAC_TOKEN_SIZE]; /* the lease of this store has it */
    struct stmt stmts[QUERY_COUNT];
    json_t *metric_ids; /* by name, so that a row costs no look-up in SQL */
    bool in_transaction;
    struct error spoiled; /* the first failure of this transaction; code 0: no write failed */
};

/* The statement, ready to be bound. It must not be in use. */
struct stmt *store_stmt(struct store *store, enum query query);

/* Translates SQLite's newest failure on this connection. `what` says what was tried. */
int store_failed(struct store *store, int code, const char *what, struct error *err);

/* Runs SQL that is not a query: PRAGMAs, transactions, migrations. */
int store_exec(struct store *store, const char *sql, const char *what, struct error *err);

/* The first column of the first row of `sql`: a number, or a text that is cut to `size`. */
int store_ask(struct store *store, const char *sql, int64_t *ret_number, char *text, size_t size,
              struct error *err);
/* The number in the first column of the first row of `sql`. */
int store_number(struct store *store, const char *sql, int64_t *ret_number, struct error *err);

/* The version of the file's schema. Refuses a file of another program, a file of a newer phased,
 * and a version that no migration begins from. */
int store_identify(struct store *store, int64_t *ret_version, struct error *err);
/* Gives a new file the schema, and an older file the migrations that it lacks, all in one
 * transaction. The first of the `count` migrations has the number MIGRATION_FIRST. */
int store_migrate(struct store *store, const struct embedded_sql *list, int count,
                  struct error *err);

enum store_writer {
    STORE_OWNER,   /* the daemon that has the lease */
    STORE_ANYBODY, /* a program that brings the file up to date, or takes the lease */
};
/* store_begin() for a caller that need not have the lease. */
int store_begin_as(struct store *store, enum store_writer writer, struct error *err);
/* Makes this daemon the only writer, even if other daemons have the file open. The caller has begun
 * a transaction; its commit reports a failure. */
void lease_take(struct store *store);

/* Whether the folder of `path` is in a file system of a network. */
bool store_is_remote(const char *path);

enum store_sharing {
    STORE_SHARED, /* WAL: others may read while the daemon writes */
    STORE_ALONE,  /* held exclusively: safe where memory maps and locks are not */
};
/* store_open() with this sharing, whatever the file system needs. */
int store_open_as(const char *path, const char *runs, enum store_sharing sharing,
                  struct store **ret_store, struct error *err);

#endif
