/* Which checkpoints are removed when the phase keeps only some. */
#include "tests/unit/checkpoint_files.h"

#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

/* Saves a checkpoint, and looks until it is whole. */
static void save(struct checkpoints *checkpoints, unsigned step, size_t size)
{
    char *name = text_format("c_%u", step);
    put(name, size);
    free(name);
    checkpoints_look(checkpoints, later());
    checkpoints_look(checkpoints, later());
}

static void pruning_removes_only_checkpoints_of_this_run_and_keeps_two(void **state)
{
    (void)state;
    struct text found = {0};
    put("c_1", 5);
    put("other", 5);
    struct checkpoints *checkpoints = begin("c_{step}", 1, &found);
    for (int step = 2; step <= 5; step++) {
        char *name = text_format(step == 3 ? "c_%d/file" : "c_%d", step);
        put(name, 5);
        free(name);
        checkpoints_look(checkpoints, later());
        checkpoints_look(checkpoints, later());
    }
    put("c_6.tmp", 5);
    checkpoints_look_last(checkpoints, CHECKPOINTS_ENDED_WELL, later());
    assert_true(is_there("c_1") && is_there("other") && is_there("c_6.tmp"));
    assert_true(!is_there("c_2") && !is_there("c_3"));
    assert_true(is_there("c_4") && is_there("c_5"));
    checkpoints_free(checkpoints);
    text_fini(&found);
}

/* Makes the checkpoints of steps 1, 2, ... that the row describes. */
static void inherit(struct checkpoints *checkpoints, const char *before)
{
    json_t *saved = json_object();
    for (unsigned step = 1; step <= strlen(before); step++) {
        char *path = text_format("%s/c_%u", folder, step);
        if (before[step - 1] != '.')
            json_object_set_new(saved, path, json_boolean(before[step - 1] == 'd'));
        free(path);
    }
    checkpoints_inherit(checkpoints, saved);
    json_decref(saved);
}

enum { STEP_LAST = 60 }; /* the last step in the tests of `keep` */

/* Checks which of the checkpoints c_1, c_2, ... are left. */
static void assert_kept(const char *claim, const char *expected)
{
    struct text kept = {0};
    for (int step = 1; step <= STEP_LAST; step++) {
        char *name = text_format("c_%d", step);
        if (is_there(name))
            text_addf(&kept, "%s%d", kept.size ? " " : "", step);
        free(name);
    }
    if (!text_equal(text_string(&kept), expected))
        fail_msg("%s: %s instead of %s", claim, text_string(&kept), expected);
    text_fini(&kept);
}

/* What exists before a run: d: a good checkpoint of an earlier run; s: one that is not reliable; .:
 * one that nobody knows. `kept` is what is left after the run has saved `count` more. */
static void keep_counts_the_checkpoints_of_all_runs(void **state)
{
    static const struct {
        const char *claim, *before;  /* describes steps 1, 2, ... */
        unsigned keep, first, count; /* this run saves steps first, first + 1, ... */
        const char *kept;
    } rows[] = {
        {"all runs together", "dddd", 2, 5, 1, "4 5"},
        {"once the run has saved one", "dddd", 2, 5, 0, "1 2 3 4"},
        {"at least two", "ddd", 1, 4, 1, "3 4"},
        {"not what nobody knows", ".ddd.", 2, 6, 2, "1 5 6 7"},
        {"suspect ones take no place", "ddss", 2, 5, 1, "2 5"},
        {"but stay while there is room", "ds", 3, 5, 1, "1 2 5"},
        {"not what a run saves that counts from 0", "......ddd", 2, 1, 3, "2 3 4 5 6 8 9"},
        {"none, without keep", "dds", 0, 5, 1, "1 2 3 5"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct text found = {0};
        for (unsigned step = 1; step <= strlen(rows[i].before); step++) {
            char *name = text_format("c_%u", step);
            if (rows[i].count != 3 || rows[i].before[step - 1] != '.' || step > 3)
                put(name, 5);
            free(name);
        }
        struct checkpoints *checkpoints = begin("c_{step}", rows[i].keep, &found);
        inherit(checkpoints, rows[i].before);
        checkpoints_look(checkpoints, later());
        for (unsigned step = rows[i].first; step < rows[i].first + rows[i].count; step++)
            save(checkpoints, step, 5);
        assert_kept(rows[i].claim, rows[i].kept);
        checkpoints_free(checkpoints);
        text_fini(&found);
        folder_remove(state);
        folder_make(state);
    }
}

/* Saves steps 10, 20, ... Guards have vouched for the steps below `vouched`. If the next metric
 * fails a guard, the other checkpoints are suspect. */
static void pruning_keeps_the_last_checkpoint_that_no_guard_can_make_suspect(void **state)
{
    static const struct {
        const char *claim, *before; /* describes steps 1, 2, ... as above */
        int vouched[6];             /* the value when step 10, 20, ... is saved */
        const char *kept;
    } rows[] = {
        {"two, where metrics are frequent", "", {11, 21, 31, 41, 51, 61}, "50 60"},
        {"besides two", "", {11, 11, 11, 11, 11, 11}, "10 50 60"},
        {"the newest of them", "", {11, 21, 21, 21, 21, 21}, "20 50 60"},
        {"until there is a newer one", "", {11, 11, 11, 11, 51, 51}, "50 60"},
        {"of an earlier run", "dd", {0}, "2 50 60"},
        {"until this one has its own", "dd", {0, 0, 0, 0, 0, 41}, "40 50 60"},
        {"nothing, where no checkpoint is", "", {0}, "50 60"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text found = {0};
        for (unsigned step = 1; step <= strlen(rows[i].before); step++) {
            char *name = text_format("c_%u", step);
            put(name, 5);
            free(name);
        }
        struct checkpoints *checkpoints = begin("c_{step}", 2, &found);
        inherit(checkpoints, rows[i].before);
        for (unsigned j = 0; j < 6; j++) {
            checkpoints_vouch(checkpoints, rows[i].vouched[j]);
            save(checkpoints, 10 * (j + 1), 5);
        }
        assert_kept(rows[i].claim, rows[i].kept);
        checkpoints_free(checkpoints);
        text_fini(&found);
        folder_remove(state);
        folder_make(state);
    }
}

static void a_checkpoint_after_a_failed_guard_removes_no_other(void **state)
{
    (void)state;
    struct text found = {0};
    struct checkpoints *checkpoints = begin("c_{step}", 2, &found);
    for (unsigned step = 1; step <= 6; step++) {
        if (step == 4)
            checkpoints_suspect(checkpoints, 4, later());
        save(checkpoints, step, 5);
    }
    assert_true(!is_there("c_1") && is_there("c_2") && is_there("c_3"));
    checkpoints_free(checkpoints);
    text_fini(&found);
}

static void a_checkpoint_that_may_be_torn_takes_no_place(void **state)
{
    (void)state;
    struct text found = {0};
    put("c_9", 200); /* of an earlier run; somebody cuts it */
    struct checkpoints *checkpoints = begin("c_{step}", 2, &found);
    put("c_9", 4);
    for (unsigned step = 1; step <= 3; step++)
        save(checkpoints, step, 200);
    assert_kept("two whole ones", "2 3 9");
    checkpoints_free(checkpoints);
    text_fini(&found);
}

static void pruning_removes_nothing_outside_the_folder_of_the_phase(void **state)
{
    (void)state;
    struct text found = {0};
    struct checkpoints *checkpoints;
    char *pattern = text_format("%s/c_{step}", folder), *out = text_format("%s/out", folder);
    assert_int_equal(checkpoints_new(pattern, out, 2, note, &found, &checkpoints, NULL), 0);
    for (int step = 1; step <= 4; step++) {
        char *name = text_format("c_%d", step);
        put(name, 5);
        free(name);
    }
    checkpoints_look_last(checkpoints, CHECKPOINTS_ENDED_WELL, later());
    assert_true(is_there("c_1") && is_there("c_4"));
    checkpoints_free(checkpoints);
    text_fini(&found);
    free(pattern);
    free(out);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(pruning_removes_only_checkpoints_of_this_run_and_keeps_two),
        TEST(keep_counts_the_checkpoints_of_all_runs),
        TEST(pruning_keeps_the_last_checkpoint_that_no_guard_can_make_suspect),
        TEST(a_checkpoint_after_a_failed_guard_removes_no_other),
        TEST(a_checkpoint_that_may_be_torn_takes_no_place),
        TEST(pruning_removes_nothing_outside_the_folder_of_the_phase),
    };
    return cmocka_run_group_tests_name("keep", tests, NULL, NULL);
}
