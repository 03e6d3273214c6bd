/* One prepared statement: bound by names, read column by column in the order of its SELECT.
 *
 * Binding cannot fail in the caller's face: the first failure is kept, and stmt_step() reports it.
 * A statement is ready again, its bindings gone, as soon as stmt_step() has returned 0 or less; who
 * stops before that calls stmt_reset(). Bound texts are borrowed until then. */
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
    const char *name;    /* of its file in schema/queries */
    const char *unbound; /* the first parameter that could not be bound; NULL: none */
    int column;          /* the next one to be read */
};

void stmt_bind_int(struct stmt *stmt, const char *name, int64_t value);
/* 0 is NULL: no such object, no such time. */
void stmt_bind_id(struct stmt *stmt, const char *name, uint64_t id);
void stmt_bind_time(struct stmt *stmt, const char *name, int64_t time_ms);
/* NaN is NULL: SQLite makes it so, and here it is said. */
void stmt_bind_real(struct stmt *stmt, const char *name, double value);
/* NULL is NULL. */
void stmt_bind_text(struct stmt *stmt, const char *name, const char *text);
/* An empty text is NULL. */
void stmt_bind_words(struct stmt *stmt, const char *name, const char *text);
/* As compact JSON; NULL is NULL. */
void stmt_bind_json(struct stmt *stmt, const char *name, const json_t *json);

/* 1: there is a row; 0: there is none, or no more; negative: it failed. */
int stmt_step(struct stmt *stmt, struct error *err);
/* Steps a statement that gives no rows. */
int stmt_run(struct stmt *stmt, struct error *err);
/* Steps to the one row of what has this id. -ENOENT: there is none. */
int stmt_find(struct stmt *stmt, const char *kind, uint64_t id, struct error *err);
void stmt_reset(struct stmt *stmt);

/* The next column of the row. */
bool stmt_next_is_null(const struct stmt *stmt);
bool stmt_next_bool(struct stmt *stmt);
int64_t stmt_next_int(struct stmt *stmt); /* NULL: 0, as no id and no time */
unsigned stmt_next_unsigned(struct stmt *stmt);
double stmt_next_real(struct stmt *stmt);      /* NULL: NaN */
const char *stmt_next_text(struct stmt *stmt); /* borrowed until the next step; may be NULL */
char *stmt_next_copy(struct stmt *stmt);       /* the caller's to free(); may be NULL */
/* Cut short where it does not fit; NULL: empty. */
void stmt_next_words(struct stmt *stmt, char *buffer, size_t size);
/* A new reference. NULL where the text is none. */
json_t *stmt_next_json(struct stmt *stmt);

#endif
