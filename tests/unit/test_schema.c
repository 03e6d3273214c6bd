/* The schema of a new record, which schema/record makes at once, and the schema of an old record,
 * which the migrations make, are the same. */
#include "tests/unit/record.h"

#include "daemon/store/store_private.h"
#include "lib/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The length of the word, the number, the quoted text or the sign with which the SQL begins. */
static size_t token_length(const char *sql)
{
    size_t length = 1;
    if (*sql == '\'' || *sql == '"') {
        const char *end = strchr(sql + 1, *sql);
        assert_non_null(end);
        return (size_t)(end - sql) + 1;
    }
    if (!is_of_word(*sql))
        return 1;
    while (is_of_word(sql[length]))
        length++;
    return length;
}

/* Adds the SQL with one space between its tokens, without comments. A renamed table has quotes
 * about its name, which do not count. */
static void add_plain(struct text *plain, const char *sql)
{
    while (*sql) {
        if (isspace((unsigned char)*sql)) {
            sql++;
        } else if (text_starts(sql, "--")) {
            sql += strcspn(sql, "\n");
        } else {
            size_t length = token_length(sql);
            bool is_name = *sql == '"';
            text_addf(plain, " %.*s", (int)(is_name ? length - 2 : length), sql + is_name);
            sql += length;
        }
    }
}

/* Returns a line for each object of the schema, in the order of their names. */
static char *plain_schema(const struct record *record)
{
    sqlite3 *db;
    sqlite3_stmt *stmt;
    struct text plain = {0};
    assert_int_equal(sqlite3_open(record->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT name, type, tbl_name, ifnull(sql, '')"
                                        "  FROM sqlite_schema ORDER BY name",
                                        -1, &stmt, NULL),
                     SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        text_addf(&plain, "%s (%s, %s):", sqlite3_column_text(stmt, 0),
                  sqlite3_column_text(stmt, 1), sqlite3_column_text(stmt, 2));
        add_plain(&plain, (const char *)sqlite3_column_text(stmt, 3));
        text_addf(&plain, "\n");
    }
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return text_steal(&plain);
}

/* The schemas are large, so the failure shows only where they begin to differ. */
static void assert_same(const char *fresh, const char *migrated)
{
    size_t at = 0;
    while (fresh[at] && fresh[at] == migrated[at])
        at++;
    if (!fresh[at] && !migrated[at])
        return;
    size_t line = at, before = at > 60 ? at - 60 : 0;
    while (line > 0 && fresh[line - 1] != '\n')
        line--;
    if (before < line)
        before = line;
    fail_msg("at %.*s\n  schema/record:  ... %.100s\n  the migrations: ... %.100s",
             (int)strcspn(fresh + line, ":"), fresh + line, fresh + before, migrated + before);
}

static void comments_spaces_and_the_quotes_of_a_name_do_not_count(void **state)
{
    (void)state;
    struct text one = {0}, other = {0};
    add_plain(&one, "CREATE TABLE \"a_1\" (\n    b TEXT, -- it's \"b\"\n    c INTEGER) STRICT");
    add_plain(&other, "CREATE TABLE a_1(b TEXT\n, c  INTEGER)STRICT");
    assert_string_equal(text_string(&one), text_string(&other));
    text_fini(&other);
    add_plain(&other, "CREATE TABLE a_1 (b TEXT, c INTEGER CHECK (c IN ('--  x'))) STRICT");
    assert_string_equal(text_string(&other),
                        " CREATE TABLE a_1 ( b TEXT , c INTEGER CHECK ( c IN ( '--  x' ) ) )"
                        " STRICT");
    text_fini(&one);
    text_fini(&other);
}

static void a_migrated_record_has_the_schema_of_a_new_one(void **state)
{
    (void)state;
    static const char ask[] = "SELECT version || ' ' || name || ' ' || digest FROM migration"
                              " WHERE version >= 12 ORDER BY version";
    struct record record;
    record_open(&record);
    char *fresh = plain_schema(&record), *digests = record_ask(&record, ask);
    record_make_older(&record, SCHEMA_OLDEST);
    record_reopen(&record);
    char *migrated = plain_schema(&record);
    assert_non_null(strstr(fresh, "\nworkflow (table, workflow): CREATE TABLE workflow ( id "));
    assert_same(fresh, migrated);
    record_assert(&record, ask, digests);
    free(fresh);
    free(migrated);
    free(digests);
    record_close(&record);
}

/* embed.awk takes the numbers from the names of the files. */
static void migrations_have_the_numbers_of_their_versions(void **state)
{
    (void)state;
    for (int i = 0; i < MIGRATION_COUNT; i++)
        assert_int_equal(strtol(migrations[i].name, NULL, 10), MIGRATION_FIRST + i);
    assert_int_equal(SCHEMA_VERSION, MIGRATION_FIRST + MIGRATION_COUNT - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comments_spaces_and_the_quotes_of_a_name_do_not_count),
        cmocka_unit_test(a_migrated_record_has_the_schema_of_a_new_one),
        cmocka_unit_test(migrations_have_the_numbers_of_their_versions),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
