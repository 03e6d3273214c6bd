/* What a lead finds after a requeue, or when it goes on alone: checkpoints of earlier runs, and the
 * next run. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/protocol/outcome.h"
#include "lib/saved.h"
#include "lib/text.h"
#include "worker/lead/alone.h"
#include "worker/lead/job_folder.h"
#include "worker/protocol/assignment.h"
#include "worker/protocol/lineage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RUNS = 3, CHECKPOINTS = 3, SIZE = 100 };

/* Writes the folder of a run. `resume` is the step at which it began, 0: at the start. */
static void put_run(unsigned attempt, int resume, const char *more)
{
    char *from =
        resume ? text_format("{\"path\": \"%s/out/%d\", \"step\": %d}", folder, resume, resume)
               : text_format("null");
    char *json = text_format("{\"run\": %u, \"workflow\": 7, \"phase\": \"train\", \"attempt\": "
                             "%u, \"job_dir\": \"%s/job\","
                             " \"run_dir\": \"%s/%u\", \"out_dir\": \"%s/out\", \"daemon_file\": "
                             "\"/d\", \"environment\": {},"
                             " \"spec\": {\"run\": \"true\"}, \"resume\": %s%s}",
                             attempt + 10, attempt, folder, folder, attempt, folder, from, more);
    folder_put(json, "%u/run.json", attempt);
    folder_put("0000000000000000000000000000000000000000000000000000000000000000", "%u/secret",
               attempt);
    free(json);
    free(from);
}

struct past_run {
    int resume;
    int suspect;            /* suspect from this step on; 0: nothing is suspect; negative: that was
                               told before anything was saved */
    int steps[CHECKPOINTS]; /* negative: the size is wrong now; 0: no checkpoint */
};

struct lineage_row {
    const char *claim;
    unsigned count;
    struct past_run runs[RUNS];
    int gone;     /* the checkpoint of this step was deleted */
    int expected; /* 0: from the start */
};

static void put_past_run(unsigned attempt, const struct past_run *run)
{
    struct text journal = {0};
    put_run(attempt, run->resume, "");
    for (unsigned i = 0; i < CHECKPOINTS && run->steps[i]; i++) {
        int step = abs(run->steps[i]);
        text_addf(&journal,
                  "{\"seq\": %u, \"time\": 1.5, \"type\": \"checkpoint\", \"path\": \"%s/out/%d\","
                  " \"step\": %d, \"bytes\": %d}\n",
                  i + 1, folder, step, step, SIZE);
        char *data = text_format("%0*d", run->steps[i] < 0 ? SIZE / 2 : SIZE, step);
        folder_put(data, "out/%d", step);
        free(data);
    }
    if (run->suspect) { /* another node reported it */
        char *entry =
            text_format("{\"seq\": 1, \"time\": %s, \"type\": \"suspect\", \"step\": %d}\n",
                        run->suspect < 0 ? "1.5" : "4e9", abs(run->suspect));
        folder_put(entry, "%u/journal/n2.jsonl", attempt);
        free(entry);
    }
    folder_put(text_string(&journal), "%u/journal/n1.jsonl", attempt);
    text_fini(&journal);
}

static void a_run_resumes_from_the_newest_whole_checkpoint_of_its_lineage(void **state)
{
    static const struct lineage_row rows[] = {
        {"none", 1, {{0, 0, {0}}}, 0, 0},
        {"the newest", 1, {{0, 0, {10, 20, 30}}}, 0, 30},
        {"the one before one of the wrong size", 1, {{0, 0, {10, 20, -30}}}, 0, 20},
        {"the one before one that is gone", 1, {{0, 0, {10, 20, 30}}}, 30, 20},
        {"one of an earlier run", 3, {{0, 0, {10, 20}}, {20, 0, {0}}, {20, 0, {0}}}, 0, 20},
        {"the newest of all runs", 3, {{0, 0, {10, 20}}, {20, 0, {30}}, {30, 0, {40}}}, 0, 40},
        {"not one that a later run turned away from",
         2,
         {{0, 0, {10, 20, 30}}, {10, 0, {0}}},
         0,
         10},
        {"one that a later run came back to",
         3,
         {{0, 0, {10, 20}}, {10, 0, {0}}, {20, 0, {0}}},
         0,
         20},
        {"not one from before a new start", 2, {{0, 0, {10, 20}}, {0, 0, {0}}}, 0, 0},
        {"the start, when all are broken", 2, {{0, 0, {-10, -20}}, {20, 0, {-30}}}, 0, 0},
        {"the last good one", 1, {{0, 25, {10, 20, 30}}}, 0, 20},
        {"the last good one of an earlier run", 2, {{0, 0, {10, 20}}, {20, 25, {30}}}, 0, 20},
        {"the start, if no checkpoint is good", 1, {{0, 5, {10, 20}}}, 0, 0},
        {"a suspect one that a person has chosen", 2, {{0, 25, {10, 30}}, {30, 0, {0}}}, 0, 30},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        folder_remove(NULL);
        folder_make(NULL);
        for (unsigned run = 0; run < rows[i].count; run++)
            put_past_run(run + 1, &rows[i].runs[run]);
        char *gone = text_format("%s/out/%d", folder, rows[i].gone);
        (void)unlink(gone); /* it exists only if the row says so */
        json_t *found = lineage_checkpoint(folder, rows[i].count);
        int step = (int)json_integer_value(json_object_get(found, "step"));
        if (step != rows[i].expected || !found != !rows[i].expected)
            fail_msg("%s: step %d instead of %d", rows[i].claim, step, rows[i].expected);
        json_decref(found);
        free(gone);
    }
}

/* Such a run has no journal of an agent. If a person chose its start, the daemon lets no lead
 * choose: its run.json has no `known_step`. */
static void a_run_that_never_began_turns_away_from_no_checkpoint(void **state)
{
    static const struct {
        const char *chosen;
        int expected;
    } rows[] = {{", \"known_step\": 10", 20}, {"", 10}};
    (void)state;
    put_past_run(1, &(struct past_run){0, 0, {10, 20}});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put_run(2, 10, rows[i].chosen);
        folder_put("", "2/journal/lead.jsonl");
        json_t *found = lineage_checkpoint(folder, 2);
        assert_int_equal(json_integer_value(json_object_get(found, "step")), rows[i].expected);
        json_decref(found);
    }
}

static void a_checkpoint_of_several_files_needs_all_of_them(void **state)
{
    (void)state;
    put_run(1, 0, "");
    folder_put("12345", "out/a");
    folder_put("123", "out/b");
    char *journal =
        text_format("{\"seq\": 1, \"time\": 1.5, \"type\": \"checkpoint\", \"path\": \"%s/out/a\","
                    " \"step\": 5, \"bytes\": 8, \"paths\": [\"%s/out/a\", \"%s/out/b\"]}\n",
                    folder, folder, folder);
    folder_put(journal, "1/journal/n1.jsonl");
    json_t *found = lineage_checkpoint(folder, 1);
    assert_int_equal(json_integer_value(json_object_get(found, "step")), 5);
    json_decref(found);
    char *path = text_format("%s/out/b", folder);
    assert_int_equal(unlink(path), 0);
    found = lineage_checkpoint(folder, 1);
    assert_null(found);
    json_decref(found);
    free(path);
    free(journal);
}

/* Notes which checkpoints existed before a run: steps, with a size each; 0 ends them. */
static void put_notes(unsigned attempt, const int *steps)
{
    struct saved_pattern *pattern;
    struct saved_list there;
    char *text = text_format("%s/out/{step}", folder),
         *run_dir = text_format("%s/%u", folder, attempt);
    for (; *steps; steps++)
        folder_put("before", "out/%d", *steps);
    assert_int_equal(saved_pattern_new(text, &pattern, NULL), 0);
    assert_int_equal(saved_look(pattern, -1, &there), 0);
    assert_int_equal(saved_note(run_dir, pattern, &there, NULL), 0);
    saved_list_fini(&there);
    saved_pattern_free(pattern);
    free(run_dir);
    free(text);
}

/* A program may name its files by the time. Nobody could report such a step. */
static void a_step_that_no_journal_can_tell_is_no_checkpoint(void **state)
{
    struct saved_pattern *pattern;
    struct saved_list list = {0};
    char *text = text_format("%s/out/{step}", folder);
    (void)state;
    folder_put("now", "out/20261105123456789");
    folder_put("too large", "out/9007199254740992");
    folder_put("largest", "out/9007199254740991");
    assert_int_equal(saved_pattern_new(text, &pattern, NULL), 0);
    assert_int_equal(saved_look(pattern, -1, &list), 0);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.items[0].step, 9007199254740991);
    saved_list_fini(&list);
    saved_pattern_free(pattern);
    free(text);
}

/* Agents that are killed have not reported the last checkpoints. */
static void an_unreported_checkpoint_of_a_run_is_found(void **state)
{
    static const struct {
        const char *claim;
        struct past_run runs[2];
        unsigned count;
        int before[3];  /* checkpoints of the first run, with the same names */
        int left, size; /* not reported, after the last run */
        int expected;
    } rows[] = {
        {"a newer one", {{0, 0, {10, 20}}}, 1, {0}, 36, SIZE, 36},
        {"the first one", {{0, 0, {0}}}, 1, {0}, 36, SIZE, 36},
        {"not one that is torn", {{0, 0, {10, 20}}}, 1, {0}, 36, SIZE / 2, 20},
        {"not what was there before", {{0, 0, {10, 20}}}, 1, {36}, 0, 0, 20},
        {"what was there before and was written again", {{0, 0, {10, 20}}}, 1, {36}, 36, SIZE, 36},
        {"not a suspect one", {{0, 30, {10, 20}}}, 1, {0}, 36, SIZE, 20},
        {"one saved before the guard broke", {{0, 40, {10, 20}}}, 1, {0}, 36, SIZE, 36},
        {"not one saved after the guard broke", {{0, -40, {10, 20}}}, 1, {0}, 36, SIZE, 20},
        {"of a run that went on", {{0, 0, {10}}, {10, 0, {0}}}, 2, {0}, 20, SIZE, 20},
        {"not what a run did not go on from", {{0, 0, {10, 30}}, {10, 0, {0}}}, 2, {0}, 0, 0, 10},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        folder_remove(NULL);
        folder_make(NULL);
        for (unsigned run = 0; run < rows[i].count; run++) {
            put_run(run + 1, rows[i].runs[run].resume, "");
            put_notes(run + 1, run == 0 ? rows[i].before : (int[]){0});
            put_past_run(run + 1, &rows[i].runs[run]);
        }
        char *data = text_format("%0*d", rows[i].size, rows[i].left);
        if (rows[i].left)
            folder_put(data, "out/%d", rows[i].left);
        json_t *found = lineage_checkpoint(folder, rows[i].count);
        int step = (int)json_integer_value(json_object_get(found, "step"));
        if (step != rows[i].expected)
            fail_msg("%s: step %d instead of %d", rows[i].claim, step, rows[i].expected);
        json_decref(found);
        free(data);
    }
}

/* If an agent has reported a size of whole checkpoints, it counts more than any rule of thumb. */
static void an_unreported_checkpoint_is_compared_with_reported_ones(void **state)
{
    static const struct {
        const char *claim;
        int told[3], left[2]; /* bytes; 0 ends them */
        int before;           /* bytes of the first one before the run began; 0: it did not exist */
        int found;            /* how many of those that are left */
    } rows[] = {
        {"one as large as what was told", {100}, {100}, 0, 1},
        {"one that is smaller by a hundredth", {100}, {99}, 0, 1},
        {"not a smaller one", {100}, {98}, 0, 0},
        {"one that is larger", {100}, {150}, 0, 1},
        {"one no smaller than others were, where sizes vary", {100, 98, 103}, {99}, 0, 1},
        {"not one that is smaller than all", {100, 98, 103}, {97}, 0, 0},
        {"not much less than the last, where they grow", {50, 100}, {85}, 0, 0},
        {"any, where there is nothing to compare with", {0}, {50}, 0, 1},
        {"the larger, where nobody has told anything", {0}, {100, 85}, 0, 1},
        {"both, where they are nearly alike", {0}, {100, 95}, 0, 2},
        {"not one that was larger before the run", {0}, {98}, 100, 0},
        {"one that was a hundredth larger before the run", {0}, {99}, 100, 1},
        {"one that was written again", {0}, {101}, 100, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *told = json_array();
        folder_remove(NULL);
        folder_make(NULL);
        put_run(1, 0, "");
        char *before = text_format("%0*d", rows[i].before, 0);
        if (rows[i].before)
            folder_put(before, "out/36");
        put_notes(1, (int[]){0});
        free(before);
        for (unsigned j = 0; j < 3 && rows[i].told[j]; j++)
            json_array_append_new(told, json_pack("{s:i}", "bytes", rows[i].told[j]));
        for (int j = 0; j < 2 && rows[i].left[j]; j++) {
            char *data = text_format("%0*d", rows[i].left[j], 0);
            folder_put(data, "out/%d", 36 + j);
            free(data);
        }
        json_t *left = saved_left(folder, 1, -1, &saved_no_limit, told);
        if ((int)json_array_size(left) != rows[i].found)
            fail_msg("%s: %zu instead of %d", rows[i].claim, json_array_size(left), rows[i].found);
        json_decref(left);
        json_decref(told);
    }
}

/* Nobody saw the smaller checkpoint become whole, so its size does not count. */
static void an_unreported_checkpoint_is_not_compared_with_an_unseen_one(void **state)
{
    (void)state;
    put_run(1, 0, "");
    put_notes(1, (int[]){0});
    char *journal = text_format("{\"seq\": 1, \"time\": 1.5, \"type\": \"checkpoint\", \"path\": "
                                "\"%s/out/10\", \"step\": 10,"
                                " \"bytes\": 100}\n"
                                "{\"seq\": 2, \"time\": 2.5, \"type\": \"checkpoint\", \"path\": "
                                "\"%s/out/20\", \"step\": 20,"
                                " \"bytes\": 40, \"unseen\": true}\n",
                                folder, folder);
    folder_put(journal, "1/journal/n1.jsonl");
    char *data = text_format("%0100d", 0);
    folder_put(data, "out/10");
    folder_put(data + 60, "out/20");
    folder_put(data + 50, "out/30"); /* torn */
    json_t *found = lineage_checkpoint(folder, 1);
    assert_int_equal(json_integer_value(json_object_get(found, "step")), 20);
    json_decref(found);
    free(data);
    free(journal);
}

/* Files that existed when the third run began belong to the second run, and later ones do not. */
static void checkpoints_of_a_run_and_of_the_next_run_are_distinguished(void **state)
{
    (void)state;
    put_run(1, 0, "");
    put_notes(1, (int[]){10, 0});
    folder_put("left by the first", "out/20");
    put_run(2, 20, "");
    put_notes(2, (int[]){0});
    folder_put("left by the second", "out/30");
    json_t *first = saved_left(folder, 1, -1, &saved_no_limit, NULL),
           *second = saved_left(folder, 2, 20, &saved_no_limit, NULL);
    assert_int_equal(json_array_size(first), 1);
    assert_int_equal(json_array_size(second), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(first, 0), "step")), 20);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(second, 0), "step")), 30);
    json_decref(first);
    json_decref(second);
}

struct saved_row {
    const char *name; /* NULL: the end */
    bool is_there, is_good;
};

/* `resume`: the path of the checkpoint of step 20, from which run 3 resumes. */
static void assert_saved(const char *resume, const struct saved_row *rows)
{
    json_t *from = json_pack("{s:s, s:i}", "path", resume, "step", 20),
           *saved = lineage_saved(folder, 2, from);
    for (; rows->name; rows++) {
        char *path = text_format("%s/out/%s", folder, rows->name);
        const json_t *is_good = json_object_get(saved, path);
        if ((is_good != NULL) != rows->is_there || json_is_true(is_good) != rows->is_good)
            fail_msg("%s is %s", rows->name, is_good ? "there, good or not" : "not there");
        free(path);
    }
    json_decref(saved);
    json_decref(from);
}

static void a_checkpoint_of_an_earlier_run_counts_up_to_where_the_next_began(void **state)
{
    static const struct saved_row expected[] = {
        {"10", true, true},  {"20", true, true},   {"30", true, false}, {"40", true, false},
        {"50", true, false}, {"60", false, false}, {NULL, 0, 0}};
    (void)state;
    put_past_run(1, &(struct past_run){0, 0, {10, 20, 30}});
    put_past_run(2, &(struct past_run){20, 45, {-40, 50}});
    folder_put("unknown", "out/60");
    assert_saved("/out/20", expected);
}

/* Run 2 resumed at 10 and led nowhere, so the run that resumes at 20 goes on from run 1. */
static void checkpoints_of_a_run_that_led_nowhere_are_no_good(void **state)
{
    (void)state;
    put_past_run(1, &(struct past_run){0, 0, {10, 20}});
    put_past_run(2, &(struct past_run){10, 0, {15}});
    char *path = text_format("%s/out/20", folder);
    assert_saved(path, (struct saved_row[]){
                           {"10", true, true}, {"15", true, false}, {"20", true, true}, {0}});
    put_notes(2, (int[]){20, 0});
    put_past_run(3, &(struct past_run){0, 0, {20}}); /* for the file, which run 2 did not report */
    assert_saved(path, (struct saved_row[]){{"15", true, true}, {0}});
    free(path);
}

static void put_preempted(unsigned attempt, int64_t last_step)
{
    char *outcome = text_format(
        "{\"run\": 1, \"job_id\": 4711, \"restarts\": 0, \"outcome\": \"preempted\", "
        "\"cause\": null, \"exit_code\": 0, \"signal\": 0, \"message\": \"\", \"guard\": "
        "null, \"started\": 1.5, \"ended\": 2.5, \"finals\": {}, \"last_step\": %lld, "
        "\"requeues\": true}",
        (long long)last_step);
    put_run(attempt, 0, "");
    folder_put(outcome, "%u/outcome.json", attempt);
    free(outcome);
}

/* Writes the folders of three runs that began anew and were preempted at these steps. */
static unsigned stuck_after(bool has_checkpoint, const int64_t steps[RUNS])
{
    for (unsigned attempt = 1; attempt <= RUNS; attempt++)
        put_preempted(attempt, steps[attempt - 1]);
    return lineage_stuck(folder, RUNS, has_checkpoint);
}

static void runs_that_make_the_same_steps_again_are_stuck(void **state)
{
    (void)state;
    assert_int_equal(stuck_after(true, (int64_t[]){900, 890, 900}), 2);
    assert_int_equal(stuck_after(true, (int64_t[]){900, 890, 901}), 0);
    assert_int_equal(stuck_after(false, (int64_t[]){900, 890, 900}), 0);
    assert_int_equal(stuck_after(true, (int64_t[]){-1, -1, -1}), 3);
    assert_int_equal(stuck_after(false, (int64_t[]){-1, 0, -1}), 1);
    assert_int_equal(stuck_after(false, (int64_t[]){0, -1, -1}), 2);
    /* Nothing can be seen of such a phase. */
    assert_int_equal(stuck_after(false, (int64_t[]){-1, -1, -1}), 0);
}

static void a_run_of_another_job_is_not_taken(void **state)
{
    struct error err;
    char *run_dir = NULL, *job = text_format("%s/elsewhere/job", folder);
    char *current = text_format("{\"run_dir\": \"%s/1\"}", folder);
    (void)state;
    put_run(1, 0, "");
    folder_put(current, "elsewhere/job/current.json");
    assert_int_equal(job_folder_read_current(job, &run_dir, &err), 0); /* with the same name */
    folder_put("{\"job_dir\": \"/home/phased-b\"}", "1/run.json");
    assert_int_equal(job_folder_read_current(job, &run_dir, &err), -EBUSY);
    free(current);
    free(run_dir);
    free(job);
}

static struct assignment *assignment_of(unsigned attempt)
{
    struct assignment *assignment;
    struct error err;
    char *run_dir = text_format("%s/%u", folder, attempt);
    if (assignment_read(run_dir, &assignment, &err) < 0)
        fail_msg("%s", err.message);
    free(run_dir);
    return assignment;
}

static void the_next_run_is_made_once_and_only_for_the_own_job(void **state)
{
    struct error err;
    char *run_dir = NULL, *again = NULL, *third_dir = NULL;
    (void)state;
    put_past_run(1, &(struct past_run){0, 0, {10, 20}});
    struct assignment *last = assignment_of(1);
    assert_int_equal(alone_make_run(last, &run_dir, &err), 0);
    struct assignment *next = assignment_of(2);
    assert_true(next->file.is_alone && next->file.run == 0 && next->file.attempt == 2 &&
                next->resume_step == 20);
    assert_string_equal(next->file.run_dir, run_dir);
    assert_int_equal(alone_make_run(next, &third_dir, &err), 0);
    struct assignment *third = assignment_of(3);
    assert_true(last->known_run == 11 && next->known_run == 11 && third->known_run == 11);
    char *numbered = alone_find_numbered(next);
    assert_string_equal(numbered, last->file.run_dir);
    /* A lead finds the run again if it was killed before it could say that it serves the run. */
    assert_int_equal(alone_make_run(last, &again, &err), 0);
    assert_string_equal(again, run_dir);
    /* A run that the daemon has made meanwhile for another job is not its own. */
    folder_put("{\"job_dir\": \"/another\"}", "2/run.json");
    assert_int_equal(alone_make_run(last, &again, &err), -EBUSY);
    assignment_free(third);
    assignment_free(next);
    assignment_free(last);
    free(numbered);
    free(third_dir);
    free(again);
    free(run_dir);
}

static void a_run_follows_in_the_same_job_as_the_daemon_would_let_it(void **state)
{
    static const struct {
        bool has_checkpoint, is_anew;
        unsigned count;        /* of the preempted runs before the run */
        int64_t steps[RUNS];   /* the last step of each of these runs; -1: no step */
        enum run_outcome kind; /* of the run */
        int64_t last, saved;   /* steps; -1: none */
        bool may_follow;
    } rows[] = {
        {true, false, 0, {0}, OUTCOME_PREEMPTED, -1, -1, true},
        {true, false, 1, {-1}, OUTCOME_PREEMPTED, -1, -1, true},
        {true, false, 2, {-1, -1}, OUTCOME_PREEMPTED, -1, -1, false},
        {true, false, 3, {-1, -1, 20}, OUTCOME_PREEMPTED, -1, -1, true},
        {true, false, 3, {20, -1, -1}, OUTCOME_PREEMPTED, -1, -1, false},
        {true, false, 2, {-1, -1}, OUTCOME_PREEMPTED, 0, -1, true},
        {true, false, 2, {-1, -1}, OUTCOME_PREEMPTED, -1, 20, true},
        {true, true, 2, {-1, -1}, OUTCOME_PREEMPTED, -1, -1, true},
        {false, false, 3, {-1, -1, -1}, OUTCOME_PREEMPTED, -1, -1, true},
        {false, false, 3, {20, -1, -1}, OUTCOME_PREEMPTED, -1, -1, false},
        {false, false, 3, {-1, -1, -1}, OUTCOME_TIMED_OUT, -1, -1, false},
        {true, false, 0, {0}, OUTCOME_TIMED_OUT, 20, -1, false},
        {true, false, 0, {0}, OUTCOME_TIMED_OUT, 20, 20, true},
        {false, false, 0, {0}, OUTCOME_FAILED, -1, -1, false},
        {true, false, 0, {0}, OUTCOME_FAILED, 20, 20, false},
        {true, false, 0, {0}, OUTCOME_CANCELLED, 20, 20, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct outcome outcome = {.kind = rows[i].kind, .last_step = rows[i].last};
        folder_remove(NULL);
        folder_make(NULL);
        for (unsigned before = 0; before < rows[i].count; before++)
            put_preempted(before + 1, rows[i].steps[before]);
        put_run(rows[i].count + 1, 0, rows[i].is_anew ? ", \"anew\": true" : "");
        struct assignment *last = assignment_of(rows[i].count + 1);
        last->checkpoint_path = rows[i].has_checkpoint ? "{step}" : NULL;
        if (alone_may_follow(last, &outcome, rows[i].saved) != rows[i].may_follow)
            fail_msg("row %zu: %d", i, !rows[i].may_follow);
        assignment_free(last);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(a_run_resumes_from_the_newest_whole_checkpoint_of_its_lineage),
        TEST(a_run_that_never_began_turns_away_from_no_checkpoint),
        TEST(a_checkpoint_of_several_files_needs_all_of_them),
        TEST(a_step_that_no_journal_can_tell_is_no_checkpoint),
        TEST(an_unreported_checkpoint_of_a_run_is_found),
        TEST(an_unreported_checkpoint_is_compared_with_reported_ones),
        TEST(an_unreported_checkpoint_is_not_compared_with_an_unseen_one),
        TEST(checkpoints_of_a_run_and_of_the_next_run_are_distinguished),
        TEST(a_checkpoint_of_an_earlier_run_counts_up_to_where_the_next_began),
        TEST(checkpoints_of_a_run_that_led_nowhere_are_no_good),
        TEST(runs_that_make_the_same_steps_again_are_stuck),
        TEST(a_run_of_another_job_is_not_taken),
        TEST(the_next_run_is_made_once_and_only_for_the_own_job),
        TEST(a_run_follows_in_the_same_job_as_the_daemon_would_let_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
