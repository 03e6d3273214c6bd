/* The record as a file: making it, refusing it, migrating it, reading it from other programs. */
#include "tests/unit/record.h"

#include "daemon/store/store_private.h"
#include "lib/expr/check.h"
#include "lib/file.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void assert_version(struct record *record, int version)
{
    char *text = text_format("%d", version);
    record_assert(record, "PRAGMA user_version", text);
    free(text);
}

static void a_new_record_is_private_and_current(void **state)
{
    (void)state;
    struct record record;
    struct stat status;
    mode_t mask = umask(0);
    record_open(&record);
    umask(mask);
    assert_int_equal(stat(record.path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_version(&record, SCHEMA_VERSION);
    record_assert(&record, "PRAGMA application_id", "1885893476");
    record_assert(&record, "PRAGMA journal_mode", "wal");
    record_assert(&record, "PRAGMA integrity_check", "ok");
    record_reopen(&record);
    assert_version(&record, SCHEMA_VERSION);
    record_close(&record);
}

static void a_file_that_others_can_read_is_closed_to_them(void **state)
{
    (void)state;
    struct record record;
    struct stat status;
    record_open(&record);
    assert_int_equal(chmod(record.path, 0644), 0);
    record_reopen(&record);
    assert_int_equal(stat(record.path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    record_close(&record);
}

/* Every table is STRICT, so that no column of numbers ever has a text. */
static void every_table_is_strict(void **state)
{
    (void)state;
    struct record record;
    record_open(&record);
    record_assert(&record,
                  "SELECT name FROM pragma_table_list WHERE type = 'table' AND NOT strict"
                  " AND name NOT LIKE 'sqlite_%'",
                  "");
    record_close(&record);
}

static void every_view_can_be_read(void **state)
{
    (void)state;
    struct record record;
    record_open(&record);
    char *views = record_ask(&record, "SELECT name FROM sqlite_schema WHERE type = 'view'");
    int count = 0;
    for (char *rest = views, *view; (view = strsep(&rest, ",")); count++) {
        char *sql = text_format("SELECT count(*) FROM %s", view);
        record_assert(&record, sql, "0");
        free(sql);
    }
    assert_true(count >= 7);
    free(views);
    record_close(&record);
}

static void every_table_column_and_view_is_on_the_page(void **state)
{
    (void)state;
    struct record record;
    char *page = record_read_source("doc/record.md");
    record_open(&record);
    char *names = record_ask(&record, "SELECT name FROM sqlite_schema WHERE type = 'table'"
                                      " AND name NOT LIKE 'sqlite_%'");
    for (char *rest = names, *table; (table = strsep(&rest, ","));) {
        char *heading = text_format("\n### %s\n", table), *section = strstr(page, heading);
        if (!section)
            fail_msg("doc/record.md has no section on %s", table);
        char *end = strstr(section + 1, "\n##");
        char *ask = text_format("SELECT name FROM pragma_table_info('%s')", table);
        char *columns = record_ask(&record, ask);
        for (char *others = columns, *column; (column = strsep(&others, ","));) {
            char *row = text_format("\n| `%s` | ", column), *found = strstr(section, row);
            if (!found || (end && found > end))
                fail_msg("doc/record.md does not say what %s.%s is", table, column);
            free(row);
        }
        free(heading);
        free(ask);
        free(columns);
    }
    free(names);
    names = record_ask(&record, "SELECT name FROM sqlite_schema WHERE type = 'view'");
    for (char *rest = names, *view; (view = strsep(&rest, ","));) {
        char *row = text_format("\n| `%s` | ", view);
        if (!strstr(page, row))
            fail_msg("doc/record.md does not say what %s shows", view);
        free(row);
    }
    free(names);
    free(page);
    record_close(&record);
}

static void every_query_on_the_page_works(void **state)
{
    (void)state;
    static const char begin[] = "```sql\n";
    struct record record;
    struct error err;
    char *page = record_read_source("doc/record.md");
    int count = 0;
    record_open(&record);
    for (char *sql = strstr(page, begin); sql; sql = strstr(sql, begin), count++) {
        sql += strlen(begin);
        char *end = strstr(sql, "```");
        assert_non_null(end);
        *end = '\0';
        if (store_exec(record.store, sql, "read", &err) < 0)
            fail_msg("%s: %s", sql, err.message);
        sql = end + 1;
    }
    assert_true(count > 3);
    free(page);
    record_close(&record);
}

/* Returns the names in `CHECK (column IN ('a', 'b'))` of a table, each after a space. */
static char *checked_names(const struct record *record, const char *table, const char *column)
{
    char *ask = text_format("SELECT sql FROM sqlite_schema WHERE name = '%s'", table);
    char *sql = record_ask(record, ask), *start = text_format("CHECK (%s IN (", column);
    struct text names = {0};
    char *list = strstr(sql, start);
    if (!list)
        fail_msg("%s.%s has no CHECK", table, column);
    list += strlen(start);
    list[strcspn(list, ")")] = '\0';
    for (char *name = strchr(list, '\''); name; name = strchr(name, '\'')) {
        size_t size = strcspn(name + 1, "'");
        text_addf(&names, " %.*s", (int)size, name + 1);
        name += size + 2;
    }
    free(ask);
    free(sql);
    free(start);
    return text_steal(&names);
}

/* The rows of the X-macros; most columns have NULL for "none". */
#define STATE_NAME(symbol, name, flag)          " " name
#define WORD_NAME(symbol, name)                 " " name
#define STOP_NAME(symbol, name, outcome, cause) " " name
#define CAUSE_NAME                              STOP_NAME
static const char none[] = " none";

static void the_checks_name_what_the_core_names(void **state)
{
    (void)state;
    char *kept = NULL, *outcomes = NULL;
    struct text text = {0};
    for (int kind = 0; kind < FX_COUNT; kind++)
        if (core_effect_rows[kind].is_kept)
            text_addf(&text, " %s", core_effect_rows[kind].name);
    kept = text_steal(&text);
    for (int outcome = 0; outcome <= CHECK_ERROR; outcome++)
        text_addf(&text, " %s", check_outcome_name((enum check_outcome)outcome));
    outcomes = text_steal(&text);
    const struct {
        const char *table, *column, *names;
    } cases[] = {
        {"phase", "state", PHASE_STATES(STATE_NAME)},
        {"phase", "hold", PHASE_HOLDS(WORD_NAME)},
        {"phase", "hold_budget", BUDGETS(WORD_NAME)},
        {"run", "state", RUN_STATES(STATE_NAME)},
        {"run", "wish", RUN_WISHES(WORD_NAME)},
        {"run", "outcome", RUN_OUTCOMES(WORD_NAME)},
        {"run", "cause", RUN_CAUSES(CAUSE_NAME)},
        {"run", "stop_reason", STOP_REASONS(STOP_NAME)},
        {"failure", "blame", FAILURE_BLAMES(WORD_NAME)},
        {"event", "type", EVENT_TYPES(WORD_NAME)},
        {"event", "result", GATE_RESULTS(WORD_NAME)},
        {"outbox", "kind", kept},
        {"verdict", "outcome", outcomes},
        {"notice", "kind", NOTICE_KINDS(WORD_NAME)},
        {"preflight", "outcome", PREFLIGHT_OUTCOMES(WORD_NAME)},
        {"preflight_row", "outcome", PREFLIGHT_OUTCOMES(WORD_NAME)},
        {"remedy", "resume", REMEDY_RESUMES(WORD_NAME)},
    };
    struct record record;
    record_open(&record);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *expected = cases[i].names;
        char *names = checked_names(&record, cases[i].table, cases[i].column);
        if (text_starts(expected, none) && !text_starts(names, none))
            expected += strlen(none);
        assert_string_equal(names, expected);
        free(names);
    }
    record_close(&record);
    free(kept);
    free(outcomes);
}

/* SQLite gives up like this after it has lost a race for the WAL many times. */
static void a_lost_race_for_the_file_may_pass(void **state)
{
    static const int codes[] = {SQLITE_BUSY, SQLITE_BUSY_SNAPSHOT, SQLITE_LOCKED, SQLITE_PROTOCOL};
    struct record record;
    (void)state;
    record_open(&record);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        assert_int_equal(store_failed(record.store, codes[i], "open", NULL), -EBUSY);
    record_close(&record);
}

static void a_file_that_is_no_record_of_this_version_is_refused_unchanged(void **state)
{
    (void)state;
    static const struct {
        const char *claim, *sql, *bytes; /* the change by SQL, or the bytes of the whole file */
        int code;
        const char *message;
    } cases[] = {
        {"newer", "PRAGMA user_version = 99", NULL, -ENOTSUP, "newer phased"},
        {"another program's", "PRAGMA application_id = 7", NULL, -EINVAL, "another program"},
        {"nobody's", "PRAGMA application_id = 0", NULL, -EINVAL, "another program"},
        {"a text", NULL,
         "this is not a database, but it is long enough to look like one. ...........", -EINVAL,
         "not a database"},
        {"a table is missing", "DROP TABLE checkpoint", NULL, -EINVAL, "checkpoint"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct record record;
        struct error err;
        char *before, *after;
        record_open(&record);
        store_close(record.store);
        record.store = NULL;
        if (cases[i].sql)
            record_tamper(&record, cases[i].sql);
        else
            file_replace(record.path, cases[i].bytes, strlen(cases[i].bytes), 0600, &err);
        size_t size_before, size_after;
        assert_int_equal(file_read(record.path, 1 << 20, &before, &size_before, &err), 0);
        int result = store_open(record.path, "/runs", &record.store, &err);
        assert_int_equal(result, cases[i].code);
        assert_string_equal(err.where, record.path);
        if (!strstr(err.message, cases[i].message))
            fail_msg("%s: %s", cases[i].claim, err.message);
        assert_int_equal(file_read(record.path, 1 << 20, &after, &size_after, &err), 0);
        assert_int_equal(size_after, size_before);
        assert_memory_equal(after, before, size_before);
        free(before);
        free(after);
        record_close(&record);
    }
}

static void a_damaged_file_is_named_as_damaged(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    char *data;
    size_t size;
    record_open(&record);
    store_close(record.store);
    record.store = NULL;
    assert_int_equal(file_read(record.path, 1 << 20, &data, &size, &err), 0);
    memset(data + 3 * 4096, 0xff, 4096); /* a page of a table or an index */
    assert_int_equal(file_replace(record.path, data, size, 0600, &err), 0);
    assert_int_equal(store_open(record.path, "/runs", &record.store, &err), -EUCLEAN);
    free(data);
    record_close(&record);
}

static void a_path_that_cannot_be_opened_says_why(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int code;
    } cases[] = {
        {"/nowhere/phased.db", -ENOENT},
        {"/tmp", -EISDIR},
        {"/dev/null/phased.db", -ENOTDIR},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct store *store;
        struct error err;
        int result = store_open(cases[i].path, "/runs", &store, &err);
        assert_int_equal(result, cases[i].code);
        assert_string_equal(err.where, cases[i].path);
    }
}

/* A migration may change after a file has taken it. The number alone does not tell the schema. */
static void a_record_with_another_migration_of_the_same_number_is_refused(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    record_open(&record);
    store_close(record.store);
    record.store = NULL;
    record_tamper(&record, "UPDATE migration SET digest = 'beef' WHERE version = 12");
    assert_int_equal(store_open(record.path, "/runs", &record.store, &err), -ENOTSUP);
    if (!strstr(err.message, "made its schema 12: 012_seat beef; this build has 012_seat "))
        fail_msg("%s", err.message);
    assert_non_null(strstr(err.message, "move the file away"));
    record_close(&record);
}

/* Records have digests of migrations that phased no longer has. */
static void a_digest_of_a_migration_that_is_gone_does_not_count(void **state)
{
    (void)state;
    struct record record;
    record_open(&record);
    record_assert(&record, "SELECT version FROM migration ORDER BY version LIMIT 1", "12");
    record_tamper(&record, "INSERT INTO migration VALUES (2, '002_on_the_nodes', 'beef')");
    record_reopen(&record);
    record_make_older(&record, SCHEMA_OLDEST);
    record_tamper(&record, "UPDATE migration SET digest = 'beef'");
    record_reopen(&record);
    assert_version(&record, SCHEMA_VERSION);
    record_close(&record);
}

static void a_record_of_a_schema_before_11_is_refused_unchanged(void **state)
{
    (void)state;
    for (int version = 1; version < SCHEMA_OLDEST; version++) {
        struct record record;
        struct error err;
        char *before, *after;
        size_t size_before, size_after;
        record_open(&record);
        record_make_older(&record, SCHEMA_OLDEST);
        char *mark = text_format("PRAGMA user_version = %d", version);
        record_tamper(&record, mark);
        assert_int_equal(file_read(record.path, 1 << 20, &before, &size_before, &err), 0);
        assert_int_equal(store_open(record.path, "/runs", &record.store, &err), -ENOTSUP);
        char *expected = text_format("cannot open the record: it has schema %d, and this phased "
                                     "knows 11 and later. The record stays as it is. ",
                                     version);
        assert_string_equal(err.where, record.path);
        if (!text_starts(err.message, expected))
            fail_msg("%s", err.message);
        assert_int_equal(file_read(record.path, 1 << 20, &after, &size_after, &err), 0);
        assert_int_equal(size_after, size_before);
        assert_memory_equal(after, before, size_before);
        free(mark);
        free(expected);
        free(before);
        free(after);
        record_close(&record);
    }
}

/* People have views and indexes of their own, also of tables that a later migration makes again.
 * Even a view that does not work any more is no hindrance. */
static void what_people_add_to_an_older_record_stays(void **state)
{
    (void)state;
    for (int version = SCHEMA_OLDEST; version < SCHEMA_VERSION; version++) {
        struct record record;
        struct error err;
        record_open(&record);
        record_make_older(&record, version);
        record_tamper(&record, "CREATE VIEW v_ru AS SELECT id FROM v_run;"
                               "CREATE VIEW mine AS SELECT id, kind FROM outbox;"
                               "CREATE VIEW lost AS SELECT gone FROM v_run;"
                               "CREATE INDEX run_mine ON run (started)");
        if (store_open(record.path, "/runs", &record.store, &err) < 0)
            fail_msg("version %d: %s", version, err.message);
        assert_version(&record, SCHEMA_VERSION);
        char *count = text_format("%d", SCHEMA_VERSION);
        record_assert(&record, "SELECT count(*) FROM migration", count);
        record_assert(&record, "SELECT count(*) FROM mine", "0");
        record_assert(&record,
                      "SELECT count(*) FROM sqlite_schema"
                      " WHERE name IN ('v_ru', 'lost', 'run_mine')",
                      "3");
        free(count);
        record_close(&record);
    }
}

static void all_migrations_are_applied_together_or_not_at_all(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    record_open(&record);
    struct embedded_sql list[MIGRATION_COUNT + 2] = {0};
    memcpy(list, migrations, sizeof *list * MIGRATION_COUNT);
    list[MIGRATION_COUNT] = (struct embedded_sql){"more", "CREATE TABLE more (id INTEGER) STRICT"};
    list[MIGRATION_COUNT + 1] = (struct embedded_sql){
        "bad", "CREATE TABLE worse (id INTEGER) STRICT; CREATE TABLE workflow (id INTEGER)"};
    assert_int_equal(store_migrate(record.store, list, MIGRATION_COUNT + 2, &err), -EINVAL);
    assert_true(text_starts(err.message, "bad: "));
    assert_version(&record, SCHEMA_VERSION);
    record_assert(&record, "SELECT count(*) FROM sqlite_schema WHERE name IN ('more', 'worse')",
                  "0");
    assert_int_equal(store_migrate(record.store, list, MIGRATION_COUNT + 1, &err), 0);
    assert_version(&record, SCHEMA_VERSION + 1);
    record_assert(&record, "SELECT count(*) FROM more", "0");
    record_close(&record);
}

static void other_programs_read_committed_rows_while_the_daemon_writes(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    record_open(&record);
    struct workflow *workflow = record_workflow(1);
    struct store_submission submission = record_submission();
    record_begin(&record);
    assert_int_equal(store_workflow_insert(record.store, workflow, &submission, &err), 0);
    record_assert(&record, "SELECT count(*) FROM v_workflow", "0");
    record_commit(&record);
    record_assert(&record, "SELECT count(*) FROM v_workflow", "1");
    record_submission_fini(&submission);
    workflow_free(workflow);
    record_close(&record);
}

static void a_record_for_one_process_needs_no_shared_memory(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    struct store *second;
    record_open(&record); /* with WAL, as on a local disk */
    struct workflow *workflow = record_workflow(1);
    record_insert(&record, workflow);
    store_close(record.store);
    assert_int_equal(store_open_as(record.path, "/runs", STORE_ALONE, &record.store, &err), 0);
    char *memory = text_format("%s-shm", record.path);
    assert_int_equal(access(memory, F_OK), -1);
    struct core_effect save = {.kind = FX_SAVE_WORKFLOW, .workflow = workflow};
    record_apply(&record, &save);
    assert_int_equal(store_open_as(record.path, "/runs", STORE_ALONE, &second, &err), -EBUSY);
    store_close(record.store);
    assert_int_equal(store_open_as(record.path, "/runs", STORE_SHARED, &record.store, &err), 0);
    record_assert(&record, "PRAGMA journal_mode", "wal");
    record_assert(&record, "SELECT count(*) FROM workflow", "1");
    free(memory);
    workflow_free(workflow);
    record_close(&record);
}

/* The lock should have kept the second daemon from starting, whatever happened to it. */
static void a_daemon_that_was_replaced_cannot_write(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    struct store *second;
    record_open(&record);
    assert_int_equal(store_check_lease(record.store, NULL), 0);
    assert_int_equal(store_open(record.path, "/runs", &second, &err), 0);
    assert_int_equal(store_check_lease(record.store, NULL), -ESTALE);
    assert_int_equal(store_begin(record.store, &err), -ESTALE);
    assert_non_null(strstr(err.message, "another daemon serves this home now: process "));
    assert_int_equal(store_begin(second, &err), 0); /* the other daemon has no transaction */
    assert_int_equal(store_commit(second, &err), 0);
    store_close(second);
    assert_int_equal(store_begin(record.store, &err), -ESTALE); /* also not later */
    record_reopen(&record);
    record_begin(&record);
    record_commit(&record);
    record_close(&record);
}

static void a_local_file_system_is_recognised_as_local(void **state)
{
    (void)state;
    assert_false(store_is_remote("/proc/phased.db"));
    assert_false(store_is_remote("/phased.db"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_record_is_private_and_current),
        cmocka_unit_test(a_file_that_others_can_read_is_closed_to_them),
        cmocka_unit_test(every_table_is_strict),
        cmocka_unit_test(every_view_can_be_read),
        cmocka_unit_test(every_table_column_and_view_is_on_the_page),
        cmocka_unit_test(every_query_on_the_page_works),
        cmocka_unit_test(the_checks_name_what_the_core_names),
        cmocka_unit_test(a_file_that_is_no_record_of_this_version_is_refused_unchanged),
        cmocka_unit_test(a_damaged_file_is_named_as_damaged),
        cmocka_unit_test(a_path_that_cannot_be_opened_says_why),
        cmocka_unit_test(a_record_with_another_migration_of_the_same_number_is_refused),
        cmocka_unit_test(a_digest_of_a_migration_that_is_gone_does_not_count),
        cmocka_unit_test(a_record_of_a_schema_before_11_is_refused_unchanged),
        cmocka_unit_test(what_people_add_to_an_older_record_stays),
        cmocka_unit_test(all_migrations_are_applied_together_or_not_at_all),
        cmocka_unit_test(a_lost_race_for_the_file_may_pass),
        cmocka_unit_test(other_programs_read_committed_rows_while_the_daemon_writes),
        cmocka_unit_test(a_record_for_one_process_needs_no_shared_memory),
        cmocka_unit_test(a_daemon_that_was_replaced_cannot_write),
        cmocka_unit_test(a_local_file_system_is_recognised_as_local),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
