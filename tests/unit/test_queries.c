/* The queries: the names with which daemon/store binds parameters and reads columns, and what they
 * read. */
#include "tests/unit/record.h"

#include "daemon/store/store_private.h"
#include "lib/file.h"
#include "lib/text.h"

#include <glob.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PARAMETER "\"(:[a-z_]+)\""
#define COLUMN                                                                                     \
    "stmt_(is_null|bool|int|id|read_int|read_id|unsigned|real|text|copy|words|json)"               \
    "\\([a-z]+,[[:space:]]*\"([a-z_]+)\""

enum { NAME_SIZE = 64, COLUMNS_MAX = 64 };

/* What was found in the functions that were read so far. */
struct scan {
    struct stmt *stmts;
    bool is_used[QUERY_COUNT];
    bool is_read[QUERY_COUNT][COLUMNS_MAX];
    struct text problems;
};

/* Finds the next match from *at on. Its last group is the name. Moves *at behind the match. */
static bool next_name(const char *pattern, const char **at, char ret_name[NAME_SIZE])
{
    regex_t regex;
    regmatch_t groups[3];
    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED), 0);
    bool is_found = regexec(&regex, *at, 3, groups, 0) == 0;
    if (is_found) {
        regmatch_t group = groups[regex.re_nsub];
        (void)snprintf(ret_name, NAME_SIZE, "%.*s", (int)(group.rm_eo - group.rm_so),
                       *at + group.rm_so);
        *at += group.rm_eo;
    }
    regfree(&regex);
    return is_found;
}

/* Reads one function with its comment. The function binds a parameter if one of its queries has it.
 * It reads a column if all of its queries with columns have it. */
static void scan_function(struct scan *scan, const char *function)
{
    bool is_named[QUERY_COUNT] = {false};
    char name[NAME_SIZE];
    for (const char *at = function; next_name("[^A-Z_]Q_([A-Z_]+)", &at, name);)
        for (int i = 0; i < QUERY_COUNT; i++)
            if (strcasecmp(scan->stmts[i].name, name) == 0)
                is_named[i] = scan->is_used[i] = true;
    for (const char *at = function; next_name(PARAMETER, &at, name);) {
        int found = 0;
        for (int i = 0; i < QUERY_COUNT; i++)
            found += is_named[i] && sqlite3_bind_parameter_index(scan->stmts[i].sqlite, name) > 0;
        if (!found)
            text_addf(&scan->problems, "no parameter %s in a query of %.160s\n", name, function);
    }
    for (const char *at = function; next_name(COLUMN, &at, name);) {
        int found = 0, missing = 0;
        for (int i = 0; i < QUERY_COUNT; i++) {
            int column = 0, count = is_named[i] ? scan->stmts[i].column_count : 0;
            while (column < count && !text_equal(scan->stmts[i].columns[column], name))
                column++;
            missing += count > 0 && column == count;
            if (column < count)
                scan->is_read[i][column] = ++found;
        }
        if (!found || missing)
            text_addf(&scan->problems, "no column %s in a query of %.160s\n", name, function);
    }
}

/* A function ends at a brace in the first column. */
static void scan_file(struct scan *scan, char *text)
{
    for (char *end; (end = strstr(text, "\n}\n")); text = end + 1) {
        *end = '\0';
        text += strspn(text, "}\n");
        scan_function(scan, text);
    }
}

static void every_query_is_one_statement(void **state)
{
    struct record record;
    (void)state;
    record_open(&record);
    for (int i = 0; i < QUERY_COUNT; i++) {
        sqlite3_stmt *stmt;
        const char *rest;
        assert_int_equal(sqlite3_prepare_v2(record.store->db, queries[i].sql, -1, &stmt, &rest), 0);
        if (rest[strspn(rest, "\n")] != '\0')
            fail_msg("%s: more than one statement: %s", queries[i].name, rest);
        sqlite3_finalize(stmt);
    }
    record_close(&record);
}

static void every_query_is_used_and_has_what_is_bound_and_read(void **state)
{
    struct record record;
    struct scan scan = {0};
    struct error err;
    const char *source = getenv("SRC");
    char *pattern = text_format("%s/daemon/store/*.c", source ? source : "."), *text;
    glob_t files;
    (void)state;
    record_open(&record);
    scan.stmts = record.store->stmts;
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        assert_int_equal(file_read(files.gl_pathv[i], 1 << 20, &text, NULL, &err), 0);
        scan_file(&scan, text);
        free(text);
    }
    for (int i = 0; i < QUERY_COUNT; i++) {
        if (!scan.is_used[i])
            text_addf(&scan.problems, "no function names %s\n", scan.stmts[i].name);
        /* Rows that become JSON are not read by names. */
        int count = scan.stmts[i].column_count, read = 0;
        for (int column = 0; column < count && column < COLUMNS_MAX; column++)
            read += scan.is_read[i][column];
        if (read > 0 && read < count)
            text_addf(&scan.problems, "no function reads all columns of %s\n", scan.stmts[i].name);
    }
    if (scan.problems.size)
        fail_msg("%s", scan.problems.data);
    text_fini(&scan.problems);
    globfree(&files);
    free(pattern);
    record_close(&record);
}

static void a_name_that_a_query_does_not_have_is_found(void **state)
{
    static const struct {
        const char *function, *problem;
    } cases[] = {
        {"use(Q_SECRET_GET); stmt_bind_id(stmt, \":run\", 1); stmt_text(stmt, \"secret\");", NULL},
        {"/* Q_PHASES_OF_WORKFLOW or Q_MEMBERS_LIST */ stmt_id(stmt, \"run\");", NULL},
        {"use(Q_SECRET_GET); stmt_bind_id(stmt, \":rum\", 1);", "no parameter :rum "},
        {"use(Q_SECRET_GET); stmt_text(stmt,\n  \"secrets\");", "no column secrets "},
        {"/* Q_SECRET_GET or Q_PHASE_SPEC */ stmt_text(stmt, \"secret\");", "no column secret "},
        {"use(Q_SECRET_SET); stmt_text(stmt, \"secret\");", "no column secret "},
        {"stmt_text(stmt, \"secret\");", "no column secret "},
    };
    struct record record;
    (void)state;
    record_open(&record);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scan scan = {.stmts = record.store->stmts};
        scan_function(&scan, cases[i].function);
        const char *problem = text_string(&scan.problems);
        if (cases[i].problem ? !text_starts(problem, cases[i].problem) : *problem)
            fail_msg("%s: %s", cases[i].function, problem);
        text_fini(&scan.problems);
    }
    record_close(&record);
}

static void a_parameter_that_is_wrong_or_missing_fails(void **state)
{
    struct record record;
    struct error err;
    (void)state;
    record_open(&record);
    record_begin(&record);
    struct stmt *stmt = store_stmt(record.store, Q_JOURNAL_GET);
    stmt_bind_id(stmt, ":run", 1);
    assert_true(stmt_step(stmt, &err) < 0);
    assert_string_equal(err.message, "cannot bind every parameter of journal_get");
    stmt_bind_id(stmt, ":run", 1);
    stmt_bind_text(stmt, ":nodes", "n1");
    assert_true(stmt_step(stmt, &err) < 0);
    assert_string_equal(err.message, "cannot bind :nodes of journal_get");
    stmt_bind_id(stmt, ":run", 1);
    stmt_bind_text(stmt, ":node", "n1");
    assert_int_equal(stmt_step(stmt, &err), 0);
    record_close(&record);
}

static void run_sql(const struct record *record, const char *sql)
{
    if (sqlite3_exec(record->store->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(record->store->db));
}

/* Adds `count` phases to the workflow, each with an allocation, a run and a line of history like
 * those of the first phase. */
static void add_phases(struct record *record, unsigned count)
{
    static const char *const tables[] = {"phase", "seat", "job", "run", "event"};
    struct text copy = {0};
    text_addf(&copy,
              "UPDATE copy_phase SET id = id + 1000, position = position + 1, name = 'p' || id;"
              "UPDATE copy_seat SET id = id + 1000, token = printf('%%032d', id + 1000);"
              "UPDATE copy_job SET id = id + 1000, seat = seat + 1000, token = printf('%%032d', id "
              "+ 1000);"
              "UPDATE copy_run SET id = id + 1000, phase = phase + 1000, job = job + 1000,"
              "                    seat = seat + 1000;"
              "UPDATE copy_event SET id = id + 1000, run = run + 1000, phase = phase + 1000;");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char *sql = text_format("CREATE TEMP TABLE copy_%s AS SELECT * FROM %s ORDER BY id LIMIT 1",
                                tables[i], tables[i]);
        run_sql(record, sql);
        text_addf(&copy, "INSERT INTO %s SELECT * FROM copy_%s;", tables[i], tables[i]);
        free(sql);
    }
    run_sql(record, "UPDATE copy_phase SET position = 1");
    record_begin(record);
    for (unsigned i = 0; i < count; i++)
        run_sql(record, text_string(&copy));
    record_commit(record);
    text_fini(&copy);
}

/* How many instructions of SQLite read the first phase of a workflow with this many others. */
static int count_steps(unsigned others)
{
    struct record record;
    struct workflow *workflow = record_workflow(7);
    json_t *phase;
    record_open(&record);
    record_insert(&record, workflow);
    struct run *run = record_add_run(&record, &workflow->phases[0], 11, 21);
    run->state = RUN_RUNNING;
    run->has_begun = true;
    run->seat->allocation->slurm_id = 101;
    run->seat->allocation->state = CLUSTER_JOB_RUNNING;
    run->submitted_ms = run->seat->allocation->started_ms = record_now_ms() - 60000;
    run->started_ms = record_now_ms() - 50000;
    record_save_run(&record, run);
    struct core_effect history = {
        .kind = FX_HISTORY, .workflow = workflow, .phase = run->phase, .run = run};
    record_apply(&record, &history);
    add_phases(&record, others);
    sqlite3_stmt *stmt = store_stmt(record.store, Q_PHASE_ANSWER)->sqlite;
    (void)sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, true);
    assert_int_equal(answer_phase(record.store, 7, "validate", &phase, NULL), 0);
    assert_true(json_real_value(json_object_get(phase, "gpu_seconds")) > 0);
    json_decref(phase);
    int steps = sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, true);
    workflow_free(workflow);
    record_close(&record);
    return steps;
}

/* Otherwise the status of a large matrix takes the square of its members. */
static void a_phase_is_read_without_the_other_phases(void **state)
{
    int alone = count_steps(0), beside = count_steps(200);
    (void)state;
    assert_true(alone > 0);
    if (beside > alone + alone / 10)
        fail_msg("%d instructions instead of %d", beside, alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_query_is_one_statement),
        cmocka_unit_test(every_query_is_used_and_has_what_is_bound_and_read),
        cmocka_unit_test(a_name_that_a_query_does_not_have_is_found),
        cmocka_unit_test(a_parameter_that_is_wrong_or_missing_fails),
        cmocka_unit_test(a_phase_is_read_without_the_other_phases),
    };
    return cmocka_run_group_tests_name("queries", tests, NULL, NULL);
}
