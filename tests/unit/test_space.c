/* When a run looks at the space for its checkpoints, what it concludes, what it says, and which
 * checkpoints it could do without. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/saved.h"
#include "lib/text.h"
#include "worker/node/checkpoints.h"
#include "worker/node/space.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { GB = 1000000000 };

static void verdicts_depend_on_what_fits(void **state)
{
    (void)state;
    static const struct {
        const char *claim;
        double fit; /* how many checkpoints fit */
        struct space_facts facts;
        enum space_verdict verdict;
    } rows[] = {
        {"much space", 5, {.bound = UINT_MAX, .has_grown = true, .has_peaked = true}, SPACE_FINE},
        {"few fit", 4.9, {.bound = UINT_MAX, .has_grown = true, .has_peaked = true}, SPACE_FEW},
        {"one fits", 1, {.bound = UINT_MAX, .has_grown = true, .has_peaked = true}, SPACE_FEW},
        {"none fits", 0.99, {.bound = UINT_MAX, .has_grown = true, .has_peaked = true}, SPACE_FULL},
        {"an empty file system", 0, {.bound = UINT_MAX, .has_peaked = true}, SPACE_FULL},
        {"one is removed for each new one", 1, {.bound = UINT_MAX, .has_peaked = true}, SPACE_FINE},
        {"one is removed before each new one", 0.5, {.bound = UINT_MAX}, SPACE_FINE},
        {"keep sets in soon enough",
         2,
         {.bound = 1, .has_grown = true, .has_peaked = true},
         SPACE_FINE},
        {"keep sets in too late",
         2,
         {.bound = 2, .has_grown = true, .has_peaked = true},
         SPACE_FEW},
        {"keep has set in", 1, {.bound = 0, .has_peaked = true}, SPACE_FINE},
        {"keep removes an old one too late", 0.9, {.bound = 0, .has_peaked = true}, SPACE_FULL},
        {"a run that begins is only warned", 0.9, {.bound = UINT_MAX, .is_begin = true}, SPACE_FEW},
        {"a run that begins with space", 1, {.bound = UINT_MAX, .is_begin = true}, SPACE_FINE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct space_facts facts = rows[i].facts;
        facts.size = GB;
        enum space_verdict verdict = space_judge(&facts, (uint64_t)(rows[i].fit * GB));
        if (verdict != rows[i].verdict)
            fail_msg("%s: %d instead of %d", rows[i].claim, (int)verdict, (int)rows[i].verdict);
    }
}

/* Looks once. Returns whether it is time to judge. */
static bool look(struct space *space, uint64_t bytes, uint64_t changes, unsigned saved, int64_t ms,
                 struct space_facts *ret_facts)
{
    const struct space_look look = {
        .bytes = bytes, .size = 100, .changes = changes, .saved = saved, .bound = UINT_MAX};
    return space_look(space, &look, ms, ret_facts);
}

static void it_is_time_when_nothing_changes_after_a_save(void **state)
{
    (void)state;
    struct space space = {0};
    struct space_facts facts;
    assert_true(look(&space, 100, 0, 0, 0, &facts)); /* the run resumes from a checkpoint */
    assert_true(facts.is_begin && !facts.has_grown);
    assert_false(look(&space, 100, 0, 0, 90000, &facts)); /* nothing was saved */
    assert_false(look(&space, 150, 1, 0, 92000, &facts));
    assert_false(look(&space, 200, 2, 0, 94000, &facts));
    assert_false(look(&space, 200, 2, 1, 96000, &facts));
    assert_false(look(&space, 200, 2, 1, 103999, &facts));
    assert_true(look(&space, 200, 2, 1, 104000, &facts));
    assert_true(!facts.is_begin && facts.has_grown && facts.has_peaked);
    assert_true(facts.every_s == 0);
    assert_false(look(&space, 200, 2, 1, 120000, &facts)); /* once for each save */

    /* Two more; then somebody removes two, which takes some seconds. */
    assert_false(look(&space, 400, 4, 3, 200000, &facts));
    assert_false(look(&space, 200, 4, 3, 206000, &facts));
    assert_false(look(&space, 200, 4, 3, 212000, &facts));
    assert_true(look(&space, 200, 4, 3, 216000, &facts));
    assert_true(!facts.has_grown && facts.has_peaked);
    assert_true(facts.every_s > 55.9 && facts.every_s < 56.1);

    /* The program removes an old one before it writes the next one. */
    assert_false(look(&space, 100, 4, 3, 300000, &facts));
    assert_false(look(&space, 203, 5, 4, 302000, &facts)); /* a few digits more */
    assert_true(look(&space, 203, 5, 4, 312000, &facts));
    assert_true(!facts.has_grown && !facts.has_peaked);
}

static void a_run_without_a_known_checkpoint_is_not_judged(void **state)
{
    (void)state;
    struct space space = {0};
    struct space_facts facts;
    const struct space_look nothing = {.bound = UINT_MAX};
    assert_false(space_look(&space, &nothing, 0, &facts));
    assert_false(space_look(&space, &nothing, 60000, &facts));
    assert_false(look(&space, 100, 1, 1, 70000, &facts));
    assert_true(look(&space, 100, 1, 1, 80000, &facts));
    assert_true(!facts.is_begin && facts.has_grown && facts.has_peaked);
}

static void people_read_figures_and_what_to_delete(void **state)
{
    (void)state;
    static char *paths[2][2] = {{"/out/step 2.pt"}, {"/out/step_1.pt", "/out/step_1.opt"}};
    static const struct saved items[] = {
        {.step = 2, .extent.bytes = 8400000000, .paths = paths[0], .path_count = 1},
        {.step = 1, .extent.bytes = 8300000000, .paths = paths[1], .path_count = 2},
    };
    const struct saved *const spare[] = {&items[0], &items[1]};
    struct space_facts facts = {.size = 8400000000, .every_s = 2000};
    const struct space_facts small = {.size = 3000000, .is_outside = true};
    const struct {
        char *told;
        const char *expected;
    } rows[] = {
        {space_warning(&facts, 25200000000, "/out", spare, 2),
         "room for only 3 more checkpoints in /out: 25.2 GB free, 8.4 GB for each checkpoint, full "
         "in 100 min at this pace; if you do not need them, delete 2 old checkpoints (16.7 GB): rm "
         "-r '/out/step 2.pt' '/out/step_1.pt' '/out/step_1.opt'"},
        {space_warning(&facts, 999960, "/out", spare, 0),
         "no room for the next checkpoint in /out: 1.0 MB free, 8.4 GB for each checkpoint; no old "
         "checkpoint of the phase can be deleted: make room otherwise"},
        {space_warning(&small, 2999000, "/data", spare, 0),
         "no room for the next checkpoint in /data: 2.999 MB free, 3.000 MB for each checkpoint; "
         "phased deletes nothing outside $PHASED_OUT: make room yourself"},
        {space_warning(&small, 11980000, "/data", spare, 1),
         "room for only 3 more checkpoints in /data: 11.98 MB free, 3.00 MB for each checkpoint; "
         "if you do not need them, delete 1 old checkpoint (8.4 GB): rm -r '/out/step 2.pt'"},
        {space_reason(&facts, 512, spare, 2),
         "no room for the next checkpoint: 512 bytes free, 8.4 GB for each checkpoint; delete old "
         "checkpoints (2 have 16.7 GB, `phasectl why` names them), then release"},
        {space_reason(&facts, 0, spare, 0), "no room for the next checkpoint: 0 bytes free, 8.4 GB "
                                            "for each checkpoint; make room, then release"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(rows[i].told, rows[i].expected);
        free(rows[i].told);
    }
}

/* The history keeps the first 1024 bytes of a warning. */
static void a_long_command_is_not_cut_in_the_middle(void **state)
{
    (void)state;
    char path[600];
    memset(path, 'x', sizeof path - 1);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    char *paths[] = {path, path};
    const struct saved large = {.step = 7, .extent.bytes = GB, .paths = paths, .path_count = 2};
    const struct saved small = {.step = 8, .extent.bytes = 1, .paths = paths, .path_count = 1};
    const struct space_facts facts = {.size = GB};
    const struct saved *const spare[] = {&large, &small};
    char *told = space_warning(&facts, 0, path, spare, 2);
    assert_true(strlen(told) < 1000);
    assert_non_null(strstr(told, "delete 2 old checkpoints (1.0 GB): step 7 has the largest"));
    free(told);
}

static void note_nothing(void *context, const struct saved *checkpoint, bool is_suspect,
                         bool is_unseen)
{
    (void)context;
    (void)checkpoint;
    (void)is_suspect;
    (void)is_unseen;
}

/* Steps 2, 3, 4, ... have so many bytes. Step 1 was there before the run, and nobody knows it. */
static void spare_checkpoints_are_listed_and_stay(void **state)
{
    (void)state;
    static const struct {
        const char *claim, *sizes;
        int64_t vouched; /* guards vouch for the steps below */
        const char *spare;
    } rows[] = {
        {"two stay", "55", INT64_MAX, ""},
        {"the largest comes first", "57655", INT64_MAX, "3 4 2 "},
        {"the last good one stays", "57655", 5, "3 2 "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text listed = {0};
        struct checkpoints *checkpoints;
        struct space_look look;
        size_t count, sum = 5;
        char *pattern = text_format("%s/c_{step}", folder), *path = NULL;
        for (size_t step = 1; step <= 1 + strlen(rows[i].sizes); step++) {
            size_t size = step == 1 ? 5 : (size_t)(rows[i].sizes[step - 2] - '0');
            path = text_format("%s/c_%zu", folder, step);
            assert_int_equal(file_replace(path, "123456789", size, 0600, NULL), 0);
            free(path);
            sum += step == 1 ? 0 : size;
            if (step == 1)
                assert_int_equal(
                    checkpoints_new(pattern, folder, 0, note_nothing, NULL, &checkpoints, NULL), 0);
        }
        checkpoints_vouch(checkpoints, rows[i].vouched);
        checkpoints_look_last(checkpoints, CHECKPOINTS_ENDED_WELL, 0);
        checkpoints_space(checkpoints, &look);
        assert_int_equal(look.bytes, sum);
        assert_int_equal(look.saved, strlen(rows[i].sizes));
        assert_int_equal(look.bound, UINT_MAX);
        assert_false(look.is_outside);
        const struct saved **spare = checkpoints_spare(checkpoints, &count);
        for (size_t j = 0; j < count; j++)
            text_addf(&listed, "%lld ", (long long)spare[j]->step);
        if (!text_equal(text_string(&listed), rows[i].spare))
            fail_msg("%s: %s instead of %s", rows[i].claim, text_string(&listed), rows[i].spare);
        free(spare);
        checkpoints_suspect(checkpoints, 1, 0);
        free(checkpoints_spare(checkpoints, &count)); /* nothing is certain any more */
        assert_int_equal(count, 0);
        checkpoints_free(checkpoints);
        text_fini(&listed);
        free(pattern);
        folder_remove(state);
        folder_make(state);
    }
}

static void checkpoints_outside_the_folder_of_the_phase_are_known(void **state)
{
    (void)state;
    struct checkpoints *checkpoints;
    struct space_look look;
    char *pattern = text_format("%s/c_{step}", folder), *path = text_format("%s/c_1", folder);
    assert_int_equal(file_replace(path, "1", 1, 0600, NULL), 0);
    assert_int_equal(checkpoints_new(pattern, "/out", 0, note_nothing, NULL, &checkpoints, NULL),
                     0);
    checkpoints_space(checkpoints, &look);
    assert_true(look.is_outside);
    checkpoints_free(checkpoints);
    free(path);
    free(pattern);
}

static void the_space_of_a_folder_is_known(void **state)
{
    (void)state;
    uint64_t bytes = 0;
    assert_true(space_left("/tmp", &bytes));
    assert_true(bytes > 0);
    assert_false(space_left("/no/such/folder", &bytes));
}

static void the_folder_of_a_pattern_has_no_wildcards(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *folder;
    } rows[] = {
        {"/out/ck_{step}", "/out/"},
        {"/out/run-*/a/ck_{step}", "/out/"},
        {"/a\\[b]\\\\/c\\*d/ck_{step}", "/a[b]\\/c*d/"},
        {"/a[b]/ck_{step}", "/"},
        {"/{step}", "/"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *found = space_folder(rows[i].pattern);
        assert_string_equal(found, rows[i].folder);
        free(found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_depend_on_what_fits),
        cmocka_unit_test(it_is_time_when_nothing_changes_after_a_save),
        cmocka_unit_test(a_run_without_a_known_checkpoint_is_not_judged),
        cmocka_unit_test(people_read_figures_and_what_to_delete),
        cmocka_unit_test(a_long_command_is_not_cut_in_the_middle),
        cmocka_unit_test_setup_teardown(spare_checkpoints_are_listed_and_stay, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(checkpoints_outside_the_folder_of_the_phase_are_known,
                                        folder_make, folder_remove),
        cmocka_unit_test(the_space_of_a_folder_is_known),
        cmocka_unit_test(the_folder_of_a_pattern_has_no_wildcards),
    };
    return cmocka_run_group_tests_name("space", tests, NULL, NULL);
}
