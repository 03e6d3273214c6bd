/* Faults of the record: a write that fails does nothing, and the failure is reported. */
#include "tests/unit/record.h"

#include "daemon/store/store_private.h"
#include "lib/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child: opens the record as a user who may not write the folder. */
static void open_as_nobody(const struct record *record)
{
    struct store *store;
    struct error err;
    if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
        _exit(1);
    int result = store_open(record->path, "/runs", &store, &err);
    bool is_clear = result == -EROFS && text_equal(err.where, record->path) &&
                    strstr(err.message, "cannot be written");
    if (!is_clear)
        fprintf(stderr, "# %d %s\n", result, result < 0 ? err.message : "");
    _exit(is_clear ? 0 : 2);
}

/* Runs this in a child, which ends without any cleanup, as by kill -9. */
static void in_a_child(void (*run)(const struct record *record), const struct record *record)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        run(record);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_folder_that_cannot_be_written_is_a_clear_failure(void **state)
{
    (void)state;
    struct record record;
    record_open(&record);
    store_close(record.store);
    record.store = NULL;
    /* The file itself could be written, but SQLite needs a journal beside it. */
    if (geteuid() == 0) {
        assert_int_equal(chown(record.path, 65534, 65534), 0);
        assert_int_equal(chmod(record.folder, 0755), 0);
    } else {
        assert_int_equal(chmod(record.folder, 0500), 0);
    }
    in_a_child(open_as_nobody, &record);
    assert_int_equal(chmod(record.folder, 0700), 0);
    record_close(&record);
}

static void commit_one_and_begin_another(const struct record *record)
{
    struct store *store;
    struct store_submission submission = record_submission();
    if (store_open(record->path, "/runs", &store, NULL) < 0)
        _exit(1);
    for (unsigned i = 1; i <= 2; i++) {
        struct workflow *workflow = record_workflow(i);
        if (store_begin(store, NULL) < 0 ||
            store_workflow_insert(store, workflow, &submission, NULL) < 0 ||
            (i == 1 && store_commit(store, NULL) < 0))
            _exit(2);
        workflow_free(workflow);
    }
    _exit(0);
}

static void a_killed_daemon_leaves_exactly_what_it_committed(void **state)
{
    (void)state;
    struct record record;
    record_open(&record);
    store_close(record.store);
    in_a_child(commit_one_and_begin_another, &record);
    assert_int_equal(store_open(record.path, "/runs", &record.store, NULL), 0);
    record_assert(&record, "SELECT id FROM workflow", "1");
    record_assert(&record, "SELECT workflow || name FROM phase ORDER BY 1", "1train,1validate");
    record_assert(&record, "PRAGMA integrity_check", "ok");
    record_close(&record);
}

/* Fills the record until a write fails. Then nothing of the transaction may be there. */
static void assert_fills_up_whole(struct record *record)
{
    struct error err;
    struct workflow *workflow = record_workflow(1);
    record_insert(record, workflow);
    record_add_run(record, &workflow->phases[0], 1, 1);
    record_begin(record);
    int result = store_metric_add(record->store, 1, 1, "loss", 1, 1, &err);
    assert_int_equal(result, 0);
    record_commit(record);

    record_begin(record);
    for (int i = 2; result == 0 && i < 1000000; i++)
        result = store_metric_add(record->store, 1, i, i % 2 ? "loss" : "new", 1, 1, &err);
    int committed = store_commit(record->store, &err);
    assert_int_equal(committed, -ENOSPC);
    assert_true(result == 0 || result == -ENOSPC);
    assert_non_null(strstr(err.message, "disk is full"));
    workflow_free(workflow);
}

static void assert_nothing_half_written(struct record *record)
{
    struct error err;
    record_assert(record, "SELECT step FROM metric", "1");
    record_assert(record, "SELECT name FROM metric_name", "loss");
    /* The name that was rolled back is unknown again, and can be written. */
    record_begin(record);
    assert_int_equal(store_metric_add(record->store, 1, 2, "new", 1, 1, &err), 0);
    record_commit(record);
    record_assert(record, "SELECT name || step FROM v_metric ORDER BY 1", "loss1,new2");
    record_assert(record, "PRAGMA integrity_check", "ok");
}

static void a_full_record_is_rolled_back_whole(void **state)
{
    (void)state;
    struct record record;
    int64_t pages;
    record_open(&record);
    assert_int_equal(store_number(record.store, "PRAGMA max_page_count = 100", &pages, NULL), 0);
    assert_fills_up_whole(&record);
    assert_int_equal(store_number(record.store, "PRAGMA max_page_count = 100000", &pages, NULL), 0);
    assert_nothing_half_written(&record);
    record_close(&record);
}

/* The kernel refuses to write beyond the limit, like a full disk or quota. */
static void a_full_disk_is_rolled_back_whole(void **state)
{
    (void)state;
    struct record record;
    struct rlimit limit, small;
    record_open(&record);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    small = (struct rlimit){.rlim_cur = 1 << 20, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_fills_up_whole(&record);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    (void)signal(SIGXFSZ, handler);
    assert_nothing_half_written(&record);
    record_close(&record);
}

static void a_spoiled_transaction_takes_no_more_writes(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    record_open(&record);
    record_begin(&record);
    struct workflow *workflow = record_workflow(1);
    struct core_effect save = {.kind = FX_SAVE_WORKFLOW, .workflow = workflow};
    assert_int_equal(store_apply(record.store, &save, 1, &err), -ENOENT); /* not inserted */
    assert_int_equal(store_journal_set(record.store, 1, "n1", 5, &err), -ENOENT);
    assert_int_equal(store_commit(record.store, &err), -ENOENT);
    assert_non_null(strstr(err.message, "no workflow 1"));
    /* The next transaction works. */
    record_insert(&record, workflow);
    record_apply(&record, &save);
    workflow_free(workflow);
    record_close(&record);
}

static void uncommitted_rows_are_gone_after_a_restart(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    struct workflow *workflow = record_workflow(1);
    struct store_submission submission = record_submission();
    record_open(&record);
    record_begin(&record);
    assert_int_equal(store_workflow_insert(record.store, workflow, &submission, &err), 0);
    record_reopen(&record);
    record_assert(&record, "SELECT count(*) FROM workflow", "0");
    record_submission_fini(&submission);
    workflow_free(workflow);
    record_close(&record);
}

static void a_person_who_writes_makes_the_daemon_wait_and_try_again(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    sqlite3 *db;
    record_open(&record);
    assert_int_equal(sqlite3_open(record.path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(store_begin(record.store, &err), -EBUSY);
    assert_true(text_starts(err.message, "could not"));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    record_begin(&record);
    record_commit(&record);
    record_close(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_that_cannot_be_written_is_a_clear_failure),
        cmocka_unit_test(a_killed_daemon_leaves_exactly_what_it_committed),
        cmocka_unit_test(a_full_record_is_rolled_back_whole),
        cmocka_unit_test(a_full_disk_is_rolled_back_whole),
        cmocka_unit_test(a_spoiled_transaction_takes_no_more_writes),
        cmocka_unit_test(uncommitted_rows_are_gone_after_a_restart),
        cmocka_unit_test(a_person_who_writes_makes_the_daemon_wait_and_try_again),
    };
    return cmocka_run_group_tests_name("store faults", tests, NULL, NULL);
}
