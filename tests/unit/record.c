/* Makes a record for tests. */
#include "tests/unit/record.h"

#include "daemon/store/store_private.h"
#include "lib/file.h"
#include "lib/text.h"
#include "tests/unit/new_record.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int64_t record_now_ms(void)
{
    return 1790000100000;
}

static void record_check(int result, const struct error *err)
{
    if (result < 0)
        fail_msg("%s", err->message);
}

void record_open(struct record *record)
{
    (void)snprintf(record->folder, sizeof record->folder, "/tmp/phased-record-XXXXXX");
    assert_non_null(mkdtemp(record->folder));
    record->path = text_format("%s/phased.db", record->folder);
    new_record(record->path);
    struct error err;
    record_check(store_open(record->path, "/home/runs", &record->store, &err), &err);
}

void record_reopen(struct record *record)
{
    struct error err;
    store_close(record->store);
    record->store = NULL;
    record_check(store_open(record->path, "/home/runs", &record->store, &err), &err);
}

void record_close(struct record *record)
{
    store_close(record->store);
    DIR *folder = opendir(record->folder);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        assert_int_equal(unlinkat(dirfd(folder), entry->d_name, 0), 0);
    }
    assert_int_equal(closedir(folder), 0);
    assert_int_equal(rmdir(record->folder), 0);
    free(record->path);
}

char *record_read_source(const char *path)
{
    const char *source = getenv("SRC");
    char *whole = text_format("%s/%s", source ? source : ".", path), *content = NULL;
    struct error err;
    record_check(file_read(whole, 1 << 20, &content, NULL, &err), &err);
    free(whole);
    return content;
}

void record_tamper(const struct record *record, const char *sql)
{
    sqlite3 *db;
    char *problem = NULL;
    assert_int_equal(sqlite3_open(record->path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &problem) != SQLITE_OK)
        fail_msg("%s", problem);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

void record_make_older(struct record *record, int version)
{
    char *oldest = record_read_source("tests/unit/schema_011.sql");
    char *mark = text_format("PRAGMA user_version = %d; PRAGMA application_id = %d", version,
                             STORE_APPLICATION_ID);
    store_close(record->store);
    record->store = NULL;
    assert_int_equal(unlink(record->path), 0);
    record_tamper(record, oldest);
    for (int next = MIGRATION_FIRST; next <= version; next++)
        record_tamper(record, migrations[next - MIGRATION_FIRST].sql);
    record_tamper(record, mark);
    free(oldest);
    free(mark);
}

void record_begin(struct record *record)
{
    struct error err;
    record_check(store_begin(record->store, &err), &err);
}

void record_commit(struct record *record)
{
    struct error err;
    record_check(store_commit(record->store, &err), &err);
}

void record_apply(struct record *record, const struct core_effect *effect)
{
    struct error err;
    record_begin(record);
    record_check(store_apply(record->store, effect, record_now_ms(), &err), &err);
    record_commit(record);
}

char *record_ask(const struct record *record, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *stmt;
    struct text answer = {0};
    assert_int_equal(sqlite3_open_v2(record->path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(stmt);
        const char *text = (const char *)sqlite3_column_text(stmt, 0);
        if (code == SQLITE_ROW)
            text_addf(&answer, "%s%s", answer.data ? "," : "", text ? text : "");
    }
    if (code != SQLITE_DONE)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    return text_steal(&answer);
}

void record_assert(const struct record *record, const char *sql, const char *expected)
{
    char *answer = record_ask(record, sql);
    assert_string_equal(answer, expected);
    free(answer);
}

static void record_fill_phase(struct phase *phase, struct workflow *workflow, unsigned index)
{
    *phase = (struct phase){
        .workflow = workflow,
        .id = 100 * workflow->id + index,
        .index = index,
        .name = strdup(index == 0 ? "validate" : "train"),
        .state = index == 0 ? PHASE_QUEUED : PHASE_BLOCKED,
        .promote_manual = index == 1,
        .fail_finally = index == 1,
        .has_checkpoint = index == 0,
        .nodes = 2 + index,
        .gpus_per_node = 8,
        .cpus_per_node = 64,
        .time_s = 3600,
        .stop_s = 90,
        .linger_s = 20,
        .gpu_type = index == 0 ? strdup("h100") : NULL,
        .slurm_options = index == 0 ? strdup("{\"partition\":\"preempt\"}") : NULL,
    };
}

struct workflow *record_workflow(uint64_t id)
{
    struct workflow *workflow = calloc(1, sizeof *workflow);
    assert_non_null(workflow);
    workflow->id = id;
    workflow->name = strdup("trm");
    workflow->submitted_ms = 1790000000000;
    workflow->phase_count = 2;
    workflow->phases = calloc(2, sizeof *workflow->phases);
    record_fill_phase(&workflow->phases[0], workflow, 0);
    record_fill_phase(&workflow->phases[1], workflow, 1);
    workflow->phases[1].after = calloc(1, sizeof(unsigned));
    workflow->phases[1].after_count = 1;
    return workflow;
}

struct store_submission record_submission(void)
{
    return (struct store_submission){
        .file = "demo.yaml",
        .spec = "name: trm\n",
        .set = json_pack("{s:s}", "validate.iterations", "10"),
        .resolved = json_pack(
            "{s:s, s:{s:{s:f}}, s:[{s:s, s:{s:i}, s:{s:i, s:s, s:{s:i}}}, {s:s}]}", "name", "trm",
            "price", "by_gpu", "h100", 2.5, "phases", "name", "validate", "progress", "total", 1000,
            "member", "number", 1, "fingerprint", "f00d", "params", "batch", 64, "name", "train"),
        .workdir = "/work dir",
        .environment = json_pack("{s:s}", "PATH", "/bin"),
        .umask = 022,
        .limits = json_pack("[s]", "NOFILE=1024"),
        .host = "login1",
    };
}

void record_submission_fini(struct store_submission *submission)
{
    json_decref((json_t *)submission->set);
    json_decref((json_t *)submission->resolved);
    json_decref((json_t *)submission->environment);
    json_decref((json_t *)submission->limits);
}

void record_insert(struct record *record, const struct workflow *workflow)
{
    struct error err;
    struct store_submission submission = record_submission();
    record_begin(record);
    record_check(store_workflow_insert(record->store, workflow, &submission, &err), &err);
    record_commit(record);
    record_submission_fini(&submission);
}

void record_save_run(struct record *record, struct run *run)
{
    struct error err;
    struct workflow *workflow = run->phase->workflow;
    struct core_effect effects[] = {
        {.kind = FX_SAVE_SEAT, .workflow = workflow, .run = run},
        {.kind = FX_SAVE_JOB,
         .workflow = workflow,
         .run = run,
         .allocation = run->seat->allocation},
        {.kind = FX_SAVE_RUN, .workflow = workflow, .phase = run->phase, .run = run},
        {.kind = FX_SAVE_PHASE, .workflow = workflow, .phase = run->phase},
    };
    record_begin(record);
    for (size_t i = 0; i < sizeof effects / sizeof *effects; i++)
        record_check(store_apply(record->store, &effects[i], record_now_ms(), &err), &err);
    record_commit(record);
}

struct run *record_add_run(struct record *record, struct phase *phase, uint64_t run, uint64_t job)
{
    struct allocation *new_job = workflow_add_allocation(phase->workflow);
    struct seat *seat = workflow_add_seat(phase->workflow);
    new_job->id = seat->id = job;
    new_job->seat = seat;
    seat->allocation = new_job;
    (void)snprintf(new_job->token, sizeof new_job->token, "%032llu", (unsigned long long)job);
    memcpy(seat->token, new_job->token, sizeof seat->token);
    new_job->node_count = phase->nodes;
    new_job->gpus_per_node = phase->gpus_per_node;
    struct run *new_run = workflow_add_run(phase->workflow, phase);
    new_run->id = run;
    new_run->attempt = ++phase->attempts;
    new_run->rung = phase->rung;
    new_run->seat = seat;
    record_save_run(record, new_run);
    return new_run;
}

void record_add_remedy(struct record *record, uint64_t run)
{
    struct error err;
    json_t *changes = json_pack("[{s:s, s:i, s:i}]", "param", "micro_batch", "from", 32, "to", 16);
    struct store_remedy remedy = {.run = run,
                                  .cause = "oom",
                                  .resume = "checkpoint",
                                  .number = 1,
                                  .times = 2,
                                  .changes = changes};
    record_begin(record);
    assert_int_equal(store_remedy_add(record->store, &remedy, 1790000000005, &err), 0);
    record_commit(record);
    json_decref(changes);
}

void record_list_take(json_t *workflow, void *context)
{
    json_array_append_new(context, workflow);
}

json_t *record_list(struct record *record, enum answer_scope scope, unsigned limit, int64_t total)
{
    json_t *workflows = json_array();
    int64_t found;
    const struct answer_list wanted = {.scope = scope, .detail = ANSWER_FULL, .limit = limit};
    assert_int_equal(answer_workflows(record->store, &wanted, record_now_ms(), record_list_take,
                                      workflows, &found, NULL),
                     0);
    assert_int_equal(found, total);
    return workflows;
}

/* The current time for the record's views: strftime('%s'). */
static void tell_now(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    (void)values;
    sqlite3_result_int64(context, record_now_ms() / 1000);
}

static int stop_the_clock(sqlite3 *db, const char **message, const void *api)
{
    (void)message;
    (void)api;
    return sqlite3_create_function(db, "strftime", 1, SQLITE_UTF8 | SQLITE_INNOCUOUS, NULL,
                                   tell_now, NULL, NULL);
}

void record_stop_the_clock(void)
{
    assert_int_equal(sqlite3_auto_extension((void (*)(void))stop_the_clock), SQLITE_OK);
}
