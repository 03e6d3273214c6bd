/* One prepared statement: its parameters are bound by name, its columns are read by name.
 *
 * Callers need not check that binding worked: the first failure is kept, and stmt_step() reports
 * it. Each parameter is bound once. When stmt_step() has returned 0 or less, the statement is ready
 * again and has lost its bindings. A caller that stops before that calls stmt_reset(). Bound texts
 * are borrowed until then.
 *
 * A function that gets a statement from its caller names the queries in its comment, as Q_NAME:
 * tests/unit/test_queries.c looks up the names that the function binds and reads. */
#ifndef PHASED_DAEMON_STORE_STMT_H
#define PHASED_DAEMON_STORE_STMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>
#include <sqlite3.h>

struct error;
struct store;

struct stmt {
    struct store *store;
    sqlite3_stmt *sqlite;
    const char *name;    /* as schema/queries gives it */
    const char *unbound; /* the first parameter that could not be bound; NULL: all could */
    int bound;           /* how many parameters have a value */
    char **columns;      /* their names: sqlite3_column_name() is slow */
    int column_count;
    int column; /* the column that was read last */
};

void stmt_bind_int(struct stmt *stmt, const char *name, int64_t value);
/* A negative number is NULL: not known. */
void stmt_bind_known(struct stmt *stmt, const char *name, int64_t value);
/* 0 is NULL: no such object, no such time. */
void stmt_bind_id(struct stmt *stmt, const char *name, uint64_t id);
void stmt_bind_time(struct stmt *stmt, const char *name, int64_t time_ms);
/* NaN is NULL, as SQLite makes it. */
void stmt_bind_real(struct stmt *stmt, const char *name, double value);
/* A NULL pointer binds NULL. */
void stmt_bind_text(struct stmt *stmt, const char *name, const char *text);
/* An empty text is NULL. */
void stmt_bind_words(struct stmt *stmt, const char *name, const char *text);
/* As compact JSON; a NULL pointer binds NULL. */
void stmt_bind_json(struct stmt *stmt, const char *name, const json_t *json);

/* 1: there is a row; 0: there is no row, or no further row; negative: the step failed. */
int stmt_step(struct stmt *stmt, struct error *err);
/* Steps a statement that gives no rows. */
int stmt_run(struct stmt *stmt, struct error *err);
/* Steps to the one row of the object with this id. -ENOENT: there is no such row. */
int stmt_find(struct stmt *stmt, const char *kind, uint64_t id, struct error *err);
/* Step to the one row, read this column of it, and end the statement. 0: there is no row, or the
 * column is NULL. */
int stmt_read_int(struct stmt *stmt, const char *column, int64_t *ret_value, struct error *err);
int stmt_read_id(struct stmt *stmt, const char *column, uint64_t *ret_id, struct error *err);
void stmt_reset(struct stmt *stmt);

/* A column of the row. The query must have it. */
bool stmt_is_null(struct stmt *stmt, const char *column);
bool stmt_bool(struct stmt *stmt, const char *column);
int64_t stmt_int(struct stmt *stmt, const char *column); /* NULL: 0, as no time */
uint64_t stmt_id(struct stmt *stmt, const char *column); /* NULL: 0, as no id */
unsigned stmt_unsigned(struct stmt *stmt, const char *column);
double stmt_real(struct stmt *stmt, const char *column); /* NULL: NaN */
/* Borrowed until the next step; may be NULL. */
const char *stmt_text(struct stmt *stmt, const char *column);
char *stmt_copy(struct stmt *stmt, const char *column); /* the caller's to free(); may be NULL */
/* A text that does not fit is cut short; NULL becomes an empty text. */
void stmt_words(struct stmt *stmt, const char *column, char *buffer, size_t size);
/* A new reference. NULL: the text is not JSON. */
json_t *stmt_json(struct stmt *stmt, const char *column);

#endif
