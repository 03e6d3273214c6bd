/* Which files are a checkpoint, and when a checkpoint is whole. */
#include "tests/unit/checkpoint_files.h"

#include "lib/checkpoint.h"
#include "lib/error.h"
#include "lib/saved.h"
#include "lib/text.h"
#include "worker/node/checkpoints.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void the_step_is_read_from_the_name(void **state)
{
    static const struct {
        const char *pattern, *name;
        int step; /* -1: none */
    } rows[] = {
        {"*_{step}*", "model_000500.pt", 500},
        {"*_{step}*", "optim_000500_rank3.pt", 500},
        {"*_{step}*", "model_v2_000500.pt", 500},
        {"ckpt-{step}.pt", "ckpt-7.pt", 7},
        {"ckpt-{step}.pt", "ckpt-7xpt", -1},
        {"ckpt-{step}", "ckpt-7", 7},
        {"ckpt-{step}", "ckpt-7a", -1},
        {"ckpt-{step}", "ckpt-a", -1},
        {"ckpt-{step}", "ckpt-123456789012345678901234567890", -1},
        {"step{step}-{step}", "step5-5", 5},
        {"[mn]_{step}", "m_3", 3},
        {"[!mn]_{step}", "m_3", -1},
        {"?_{step}", "x_9", 9},
        {"a\\[b]/\\*\\?\\\\m_{step}", "a[b]/*?\\m_3", 3},
        {"a\\[b]/m_{step}", "ab/m_3", -1},
        {"\\m_{step}\\d", "m_3d", 3},
        {"*_{step}*", "model_500.pt.tmp", -1},
        {"*_{step}*", "model_500.tmp-abc", -1},
        {"*_{step}*", "model_500.part", -1},
        {"*_{step}*", ".model_500", -1},
        {"*_{step}*", "model_500~", -1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct text found = {0}, wanted = {0};
        struct checkpoints *checkpoints = begin(rows[i].pattern, 0, &found);
        put(rows[i].name, 3);
        checkpoints_look_last(checkpoints, CHECKPOINTS_ENDED_WELL, later());
        if (rows[i].step >= 0)
            text_addf(&wanted, "%d 3 %s; ", rows[i].step, rows[i].name);
        assert_string_equal(text_string(&found), text_string(&wanted));
        checkpoints_free(checkpoints);
        text_fini(&found);
        text_fini(&wanted);
        folder_remove(state);
        folder_make(state);
    }
}

static void a_pattern_needs_a_step(void **state)
{
    (void)state;
    struct checkpoints *checkpoints;
    struct error err;
    int result = checkpoints_new("/out/model.pt", "/out", 0, NULL, NULL, &checkpoints, &err);
    assert_int_equal(result, -EINVAL);
    assert_string_equal(err.message, "checkpoint.path has no {step}: /out/model.pt");
}

static void a_checkpoint_is_whole_when_two_looks_agree(void **state)
{
    (void)state;
    struct text found = {0};
    struct checkpoints *checkpoints = begin("c_{step}*", 0, &found);
    put("c_1.a", 5);
    checkpoints_look(checkpoints, later());
    put("c_1.a", 6);
    checkpoints_look(checkpoints, later());
    put("c_1.b", 1);
    checkpoints_look(checkpoints, later());
    assert_string_equal(text_string(&found), "");
    checkpoints_look(checkpoints, later());
    checkpoints_look(checkpoints, later());
    assert_string_equal(text_string(&found), "1 7 c_1.a; ");
    checkpoints_free(checkpoints);
    text_fini(&found);
}

static void a_folder_is_measured_with_all_its_files(void **state)
{
    (void)state;
    struct text found = {0};
    struct checkpoints *checkpoints = begin("checkpoint-{step}", 0, &found);
    put("checkpoint-40/weights", 10);
    checkpoints_look(checkpoints, later());
    put("checkpoint-40/optimizer", 10);
    checkpoints_look(checkpoints, later());
    checkpoints_look(checkpoints, later());
    assert_string_equal(text_string(&found), "40 20 checkpoint-40; ");
    checkpoints_free(checkpoints);
    text_fini(&found);
}

/* Daemon and worker call the same function, so they cannot disagree. */
static void files_deep_in_a_folder_count_in_every_look(void **state)
{
    (void)state;
    struct text found = {0}, name = {0};
    struct checkpoints *checkpoints = begin("deep_{step}", 0, &found);
    text_add(&name, "deep_5/");
    for (int depth = 1; depth <= 20; depth++) {
        char *file = text_format("%sfile", text_string(&name));
        put(file, 10);
        free(file);
        text_addf(&name, "%d/", depth);
    }
    checkpoints_look(checkpoints, later());
    checkpoints_look(checkpoints, later());
    assert_string_equal(text_string(&found), "5 200 deep_5; ");
    char *path = text_format("%s/deep_5", folder);
    assert_true(checkpoint_is_whole(path, NULL, 200));
    assert_false(checkpoint_is_whole(path, NULL, 201));
    free(path);
    checkpoints_free(checkpoints);
    text_fini(&name);
    text_fini(&found);
}

static void a_near_look_sees_new_files_but_none_deep_below(void **state)
{
    struct checkpoint_extent before = {0}, after = {0};
    (void)state;
    put("step_500/model.pt.part", 10);
    put("step_500/deep/diary", 10);
    checkpoint_measure_near(folder, &before);
    assert_int_equal(before.bytes, 10);
    put("step_500/deep/diary", 20);
    checkpoint_measure_near(folder, &after);
    assert_true(checkpoint_extent_equal(&before, &after));
    after = (struct checkpoint_extent){0};
    put("step_500/model.pt.part", 20);
    checkpoint_measure_near(folder, &after);
    assert_false(checkpoint_extent_equal(&before, &after));
    assert_int_equal(after.bytes, 20);
}

static void an_existing_checkpoint_is_reported_only_when_it_changes(void **state)
{
    (void)state;
    struct text found = {0};
    put("c_1", 5);
    put("c_2", 5);
    struct checkpoints *checkpoints = begin("c_{step}", 0, &found);
    put("c_2", 9);
    checkpoints_look(checkpoints, later());
    checkpoints_look(checkpoints, later());
    checkpoints_look_last(checkpoints, CHECKPOINTS_ENDED_WELL, later());
    assert_string_equal(text_string(&found), "2 9 c_2; ");
    checkpoints_free(checkpoints);
    text_fini(&found);
}

/* Somebody cuts a checkpoint of an earlier run, and one of this run, or the program writes smaller
 * ones. Then the program writes both again. */
static void a_checkpoint_that_shrinks_may_be_torn(void **state)
{
    (void)state;
    struct text found = {0};
    put("c_1", 200);
    struct checkpoints *checkpoints = begin("c_{step}", 0, &found);
    put("c_2", 200);
    checkpoints_look(checkpoints, later());
    checkpoints_look(checkpoints, later());
    assert_string_equal(text_string(&found), "2 200 c_2; ");
    put("c_1", 100);
    put("c_2", 4);
    for (int i = 0; i < 3; i++)
        checkpoints_look(checkpoints, later());
    assert_string_equal(text_string(&found), "2 200 c_2; 1 100 c_1 unseen; 2 4 c_2 unseen; ");
    put("c_1", 199);
    put("c_2", 199);
    text_clear(&found);
    checkpoints_look(checkpoints, later());
    checkpoints_look(checkpoints, later());
    assert_string_equal(text_string(&found), "1 199 c_1; 2 199 c_2; ");
    checkpoints_free(checkpoints);
    text_fini(&found);
}

static void a_checkpoint_of_a_killed_writer_must_look_whole(void **state)
{
    static const struct {
        const char *claim;
        size_t first, last; /* bytes of a checkpoint that is whole, and of the last checkpoint */
        int64_t seen_ms;    /* so long before the last look, another look saw it; 0: none did */
        bool is_believed;
    } rows[] = {
        {"as large as a whole one", 100, 100, 0, true},
        {"smaller, and never seen", 100, 50, 0, false},
        {"the first, and never seen", 0, 100, 0, false},
        {"the first, seen just now", 0, 100, 1, false},
        {"smaller, seen just now", 100, 50, CHECKPOINTS_PAUSE_MS - 1, false},
        {"the first, seen before", 0, 100, CHECKPOINTS_PAUSE_MS, true},
        {"smaller, seen before", 100, 50, CHECKPOINTS_PAUSE_MS, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct text found = {0};
        struct checkpoints *checkpoints = begin("c_{step}", 0, &found);
        if (rows[i].first) {
            put("c_1", rows[i].first);
            checkpoints_look(checkpoints, later());
            checkpoints_look(checkpoints, later());
        }
        put("c_2", rows[i].last);
        int64_t last_ms = later();
        if (rows[i].seen_ms > 0)
            checkpoints_look(checkpoints, last_ms - rows[i].seen_ms);
        checkpoints_look_last(checkpoints, CHECKPOINTS_CUT_OFF, last_ms);
        if ((strstr(text_string(&found), "c_2") != NULL) != rows[i].is_believed)
            fail_msg("%s: %s", rows[i].claim, text_string(&found));
        checkpoints_free(checkpoints);
        text_fini(&found);
        folder_remove(state);
        folder_make(state);
    }
}

static void a_resumed_checkpoint_says_how_large_a_whole_one_is(void **state)
{
    struct text found = {0};
    char *run_dir = text_format("%s/1", folder), *resumed = text_format("%s/c_1", folder);
    (void)state;
    put("c_1", 200);
    struct checkpoints *checkpoints = begin("c_{step}", 0, &found);
    (void)mkdir(run_dir, 0700); /* it is not there */
    assert_int_equal(checkpoints_note(checkpoints, run_dir, NULL), 0);
    checkpoints_resume(checkpoints, resumed);
    put("c_2", 200);
    put("c_3", 199); /* its numbers may have fewer digits */
    put("c_4", 150);
    checkpoints_look_last(checkpoints, CHECKPOINTS_CUT_OFF, later());
    assert_string_equal(text_string(&found), "2 200 c_2; ");
    assert_int_equal(checkpoints_note_left_out(checkpoints, run_dir, NULL), 0);
    json_t *left = saved_left(folder, 1, 2, &saved_no_limit, NULL);
    assert_int_equal(json_array_size(left), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(left, 0), "step")), 3);
    json_decref(left);
    checkpoints_free(checkpoints);
    text_fini(&found);
    free(run_dir);
    free(resumed);
}

/* Returns how many checkpoints of the first run, after step 1, are found when the run is over. */
static size_t found_later(json_t *take_told)
{
    json_t *left = saved_left(folder, 1, 1, &saved_no_limit, take_told);
    size_t count = json_array_size(left);
    json_decref(take_told);
    json_decref(left);
    return count;
}

static json_t *told(const char *name, int bytes)
{
    json_t *list = json_array();
    char *path = text_format("%s/%s", folder, name);
    json_array_append_new(list,
                          json_pack("{s:s, s:i, s:i}", "path", path, "step", 1, "bytes", bytes));
    free(path);
    return list;
}

static void note_first_run(const struct checkpoints *checkpoints)
{
    char *run_dir = text_format("%s/1", folder);
    (void)mkdir(run_dir, 0700); /* it may exist */
    assert_int_equal(checkpoints_note(checkpoints, run_dir, NULL), 0);
    free(run_dir);
}

static void a_checkpoint_that_the_agent_rejects_is_never_used(void **state)
{
    struct text found = {0};
    struct checkpoints *checkpoints = begin("c_{step}", 0, &found);
    char *run_dir = text_format("%s/1", folder);
    (void)state;
    note_first_run(checkpoints);
    put("c_1", 200);
    checkpoints_look(checkpoints, later());
    checkpoints_look(checkpoints, later());
    put("c_2", 199); /* its numbers may have fewer digits */
    put("c_3", 197);
    checkpoints_look_last(checkpoints, CHECKPOINTS_CUT_OFF, later());
    assert_string_equal(text_string(&found), "1 200 c_1; ");
    assert_int_equal(found_later(told("c_1", 198)), 2); /* as if the agent had been killed now */
    assert_int_equal(checkpoints_note_left_out(checkpoints, run_dir, NULL), 0);
    assert_int_equal(found_later(told("c_1", 198)), 1);
    assert_int_equal(found_later(json_array()),
                     1); /* also if there is nothing to compare it with */
    put("c_3", 200);     /* by a program that lived longer than the agent */
    assert_int_equal(found_later(told("c_1", 198)), 2);
    checkpoints_free(checkpoints);
    text_fini(&found);
    free(run_dir);
}

/* A phase would begin anew without its only checkpoint. So the next run tries it. */
static void a_phase_without_a_whole_checkpoint_keeps_what_may_be_torn(void **state)
{
    struct text found = {0};
    struct checkpoints *checkpoints = begin("c_{step}", 0, &found);
    char *run_dir = text_format("%s/1", folder);
    (void)state;
    note_first_run(checkpoints);
    put("c_2", 200);
    checkpoints_look_last(checkpoints, CHECKPOINTS_CUT_OFF, later());
    assert_string_equal(text_string(&found), "");
    assert_int_equal(checkpoints_note_left_out(checkpoints, run_dir, NULL), 0);
    assert_int_equal(found_later(json_array()), 1);
    checkpoints_free(checkpoints);
    text_fini(&found);
    free(run_dir);
}

/* The whole ones may all have the same size. Then no digits make the difference. */
static void a_checkpoint_that_lacks_a_byte_of_equal_ones_is_torn(void **state)
{
    struct text found = {0};
    struct checkpoints *checkpoints = begin("c_{step}", 0, &found);
    (void)state;
    note_first_run(checkpoints);
    put("c_1", 200);
    put("c_2", 199);
    json_t *equal = told("c_1", 200), *almost = told("c_1", 200);
    json_t *same = told("c_1", 200), *other = told("c_1", 201);
    json_array_extend(equal, same);
    assert_int_equal(found_later(json_incref(equal)), 1); /* two say little */
    json_array_extend(equal, same);
    json_array_extend(almost, same);
    json_array_extend(almost, other);
    json_decref(same);
    json_decref(other);
    assert_int_equal(found_later(equal), 0);
    assert_int_equal(found_later(almost), 1);
    checkpoints_free(checkpoints);
    text_fini(&found);
}

/* Some checkpoints are nearly complete by their bytes. Only a small file that comes last shows that
 * they are whole. */
static void a_checkpoint_with_fewer_files_than_a_whole_one_is_torn(void **state)
{
    struct text found = {0};
    struct checkpoints *checkpoints = begin("c_{step}", 0, &found);
    (void)state;
    note_first_run(checkpoints);
    put("c_1/model", 200);
    put("c_1/state", 1);
    put("c_2/model", 200);
    assert_int_equal(found_later(told("c_1", 201)), 0);
    assert_int_equal(found_later(told("c_1", 200)), 1); /* c_1 is not as it was reported */
    put("c_2/state", 1);
    assert_int_equal(found_later(told("c_1", 201)), 1);
    checkpoints_free(checkpoints);
    text_fini(&found);
}

static void a_checkpoint_begun_after_a_failed_guard_is_suspect_at_any_step(void **state)
{
    (void)state;
    struct text found = {0};
    struct checkpoints *checkpoints = begin("c_{step}", 0, &found);
    put("c_20", 5);
    put("c_30", 5);
    checkpoints_suspect(checkpoints, 25, later());
    put("c_20", 9); /* it is still being written */
    put("c_3", 5);  /* possibly of an epoch */
    put("c_40", 5);
    checkpoints_look(checkpoints, later());
    checkpoints_look_last(checkpoints, CHECKPOINTS_ENDED_WELL, later());
    assert_non_null(strstr(text_string(&found), "20 9 c_20; "));
    assert_non_null(strstr(text_string(&found), "30 5 c_30 suspect; "));
    assert_non_null(strstr(text_string(&found), "3 5 c_3 suspect; "));
    assert_non_null(strstr(text_string(&found), "40 5 c_40 suspect; "));
    checkpoints_free(checkpoints);
    text_fini(&found);
}

/* Renames the folder of the checkpoints away for one look, as a file system may hide it. */
static void look_without_the_folder(struct checkpoints *checkpoints)
{
    char *hidden = text_format("%s.hidden", folder);
    assert_int_equal(rename(folder, hidden), 0);
    checkpoints_look(checkpoints, later());
    assert_int_equal(rename(hidden, folder), 0);
    free(hidden);
}

static void a_look_that_fails_makes_no_checkpoint_new(void **state)
{
    (void)state;
    struct text found = {0};
    put("c_9", 200);
    struct checkpoints *checkpoints = begin("c_{step}", 2, &found);
    look_without_the_folder(checkpoints);
    checkpoints_look(checkpoints, later());
    checkpoints_look(checkpoints, later());
    assert_string_equal(text_string(&found), "");
    for (int step = 1; step <= 2; step++) {
        put(step == 1 ? "c_1" : "c_2", 200);
        checkpoints_look(checkpoints, later());
        checkpoints_look(checkpoints, later());
    }
    uint64_t changes = checkpoints_changes(checkpoints);
    look_without_the_folder(checkpoints);
    checkpoints_look(checkpoints, later());
    checkpoints_look_last(checkpoints, CHECKPOINTS_ENDED_WELL, later());
    assert_string_equal(text_string(&found), "1 200 c_1; 2 200 c_2; ");
    assert_int_equal(checkpoints_changes(checkpoints), changes);
    checkpoints_free(checkpoints);
    text_fini(&found);
}

/* A file of a checkpoint is hidden for some looks, which looks like a smaller checkpoint. */
static void a_look_that_misses_a_file_makes_no_checkpoint_new(void **state)
{
    (void)state;
    struct text found = {0};
    char *file = text_format("%s/c_9/b", folder), *hidden = text_format("%s/hidden", folder);
    put("c_9/a", 200);
    put("c_9/b", 100);
    struct checkpoints *checkpoints = begin("c_{step}", 2, &found);
    assert_int_equal(rename(file, hidden), 0);
    for (int look = 1; look <= 3; look++)
        checkpoints_look(checkpoints, later());
    assert_int_equal(rename(hidden, file), 0);
    checkpoints_look(checkpoints, later());
    checkpoints_look(checkpoints, later());
    assert_string_equal(text_string(&found), "9 200 c_9 unseen; ");
    put("c_9/b", 101);
    checkpoints_look(checkpoints, later());
    checkpoints_look(checkpoints, later());
    assert_string_equal(text_string(&found), "9 200 c_9 unseen; 9 301 c_9; ");
    checkpoints_free(checkpoints);
    text_fini(&found);
    free(file);
    free(hidden);
}

/* Without the first look, old checkpoints would count as those of this run. */
static void a_first_look_that_fails_is_an_error(void **state)
{
    (void)state;
    struct rlimit limit, none;
    struct checkpoints *checkpoints;
    struct error err;
    char *pattern = text_format("%s/c_{step}", folder);
    put("c_9", 200);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int result = checkpoints_new(pattern, folder, 2, NULL, NULL, &checkpoints, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(result, -EIO);
    assert_non_null(strstr(err.message, folder));
    free(pattern);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(the_step_is_read_from_the_name),
        TEST(a_pattern_needs_a_step),
        TEST(a_checkpoint_is_whole_when_two_looks_agree),
        TEST(a_folder_is_measured_with_all_its_files),
        TEST(files_deep_in_a_folder_count_in_every_look),
        TEST(a_near_look_sees_new_files_but_none_deep_below),
        TEST(an_existing_checkpoint_is_reported_only_when_it_changes),
        TEST(a_checkpoint_that_shrinks_may_be_torn),
        TEST(a_checkpoint_of_a_killed_writer_must_look_whole),
        TEST(a_resumed_checkpoint_says_how_large_a_whole_one_is),
        TEST(a_checkpoint_that_the_agent_rejects_is_never_used),
        TEST(a_phase_without_a_whole_checkpoint_keeps_what_may_be_torn),
        TEST(a_checkpoint_that_lacks_a_byte_of_equal_ones_is_torn),
        TEST(a_checkpoint_with_fewer_files_than_a_whole_one_is_torn),
        TEST(a_checkpoint_begun_after_a_failed_guard_is_suspect_at_any_step),
        TEST(a_look_that_fails_makes_no_checkpoint_new),
        TEST(a_look_that_misses_a_file_makes_no_checkpoint_new),
        TEST(a_first_look_that_fails_is_an_error),
    };
    return cmocka_run_group_tests_name("checkpoints", tests, NULL, NULL);
}
