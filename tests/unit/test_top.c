/* The pictures of the live view, at 80, 100 and 200 columns, with 1 and with 500 workflows. */
#include "tests/unit/unit.h"

#include "tests/unit/top_world.h"

#include "cli/top/draw.h"
#include "cli/top/keys.h"
#include "cli/top/paths.h"
#include "cli/top/spark.h"
#include "cli/top/top.h"
#include "lib/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const int widths[] = {80, 100, 200};

/* Compares rows from `first` on. */
static void assert_rows(const struct top_world *world, int first, const char *const *rows)
{
    for (int i = 0; rows[i]; i++)
        assert_string_equal(top_world_row(world, first + i), rows[i]);
}

static void a_list_shows_what_fits(void **state)
{
    (void)state;
    static const struct {
        int columns;
        const char *rows[3];
    } pictures[] = {
        {80,
         {"WORKFLOW  NAME   STATE   PHASE     STEP    ETA  PROGRESS      AGE  GPU TIME",
          "       7  llama  active  train  320/600  1m04s  #####.....  1h00m     8h00m"}},
        {60,
         {"WORKFLOW  NAME   STATE   PHASE     STEP    ETA  PROGRESS",
          "       7  llama  active  train  320/600  1m04s  #####....."}},
        {100,
         {"WORKFLOW  NAME   STATE   PHASE     STEP    ETA  PROGRESS      AGE  GPU TIME    COST  "
          "NOTE",
          "       7  llama  active  train  320/600  1m04s  #####.....  1h00m     8h00m  $19.60"}},
        {30, {"WORKFLOW  NAME   STATE   PHASE", "       7  llama  active  train"}},
    };
    for (size_t i = 0; i < sizeof pictures / sizeof pictures[0]; i++) {
        struct top_world world;
        top_world_init(&world);
        world.model.terminal.unicode = false;
        top_world_workflow(&world);
        (void)top_world_picture(&world, 5, pictures[i].columns);
        assert_rows(&world, 1, pictures[i].rows);
        assert_int_equal(top_world_colour(&world, "active"), COLOUR_YELLOW);
        top_world_fini(&world);
    }
}

static void a_long_name_leaves_room_for_the_other_columns(void **state)
{
    (void)state;
    static const char name[] = "distillation-of-the-large-teacher-into-8b";
    struct top_world world;
    top_world_init(&world);
    top_world_answer(
        &world, PATHS_WORKFLOWS,
        "{'workflows': [{'workflow': 7, 'name': 'distillation-of-the-large-teacher-into-8b',"
        " 'state': 'held', 'submitted': 1.0, 'cost_usd': 3.0, 'phases': [{'phase': 'production',"
        " 'state': 'held', 'hold': 'gate', 'step': 58679, 'total': 60000, 'eta_s': 5.0,"
        " 'reason': 'gate failed: refinement and grad_norm'}]}], 'total': 1}");
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        (void)top_world_picture(&world, 5, widths[i]);
        assert_non_null(strstr(top_world_row(&world, 1), "STEP"));
        assert_non_null(strstr(top_world_row(&world, 2), "58679/60000"));
        assert_int_equal(top_world_colour(&world, "held"), COLOUR_MAGENTA);
        assert_non_null(strstr(top_world_row(&world, 2), "production"));
    }
    assert_non_null(strstr(top_world_row(&world, 2), "gate failed: refinement and grad_norm"));
    assert_non_null(strstr(top_world_row(&world, 2), name));
    (void)top_world_picture(&world, 5, 80);
    assert_string_equal(top_world_row(&world, 2),
                        "       7  distillat…-into-8b  held   production  58679/60000  5.0s"
                        "  gate failed…");
    top_world_fini(&world);
}

static void five_hundred_workflows_are_one_screen(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        struct top_world world;
        top_world_init(&world);
        top_world_many(&world, 500);
        (void)top_world_picture(&world, 24, widths[i]);
        assert_true(text_starts(top_world_row(&world, 0), "phased    50 held  450 queued"));
        assert_true(text_starts(top_world_row(&world, 2), "     500  job-500  held"));
        assert_true(text_starts(top_world_row(&world, 22), "     480  job-480  held"));
        for (unsigned down = 0; down < 21; down++)
            top_world_press(&world, 'j');
        assert_true(text_starts(top_world_row(&world, 22), "     479  job-479  queued"));
        assert_int_equal(grid_cell(&world.grid, 22, 0)->mark, GRID_SELECTED);
        top_world_press(&world, 'G');
        assert_true(text_starts(top_world_row(&world, 22), "       1  job-1    queued"));
        assert_int_equal(grid_cell(&world.grid, 22, widths[i] - 1)->mark, GRID_SELECTED);
        top_world_press(&world, TOP_KEY_PAGE_UP);
        assert_true(text_starts(top_world_row(&world, 2), "      22  job-22 "));
        assert_int_equal(grid_cell(&world.grid, 2, 0)->mark, GRID_SELECTED);
        top_world_press(&world, 'g');
        assert_true(text_starts(top_world_row(&world, 2), "     500  job-500"));
        assert_int_equal(top_world_colour(&world, "queued"), COLOUR_BLUE);
        top_world_fini(&world);
    }
}

static void a_held_phase_is_told_while_another_branch_runs(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_answer(&world, PATHS_WORKFLOWS,
                     "{'workflows': [{'workflow': 7, 'name': 'trm', 'state': 'running',"
                     " 'submitted': 1.0, 'phases': [{'phase': 'sleeps', 'state': 'active'},"
                     " {'phase': 'judged', 'state': 'held', 'hold': 'gate'}]}], 'total': 1}");
    (void)top_world_picture(&world, 24, 80);
    assert_true(text_starts(top_world_row(&world, 2), "       7  trm   held   judged"));
    top_world_fini(&world);
}

static void what_is_not_listed_is_counted(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    assert_non_null(strstr(top_world_picture(&world, 5, 80), "asking ..."));
    top_world_answer(&world, PATHS_WORKFLOWS, "{'workflows': [], 'total': 0}");
    assert_non_null(strstr(top_world_picture(&world, 5, 80), "no workflows; submit one"));
    top_world_answer(&world, PATHS_WORKFLOWS,
                     "{'workflows': [{'workflow': 7, 'name': 'a', 'state': 'succeeded', 'phases':"
                     " []}], 'total': 1201}");
    assert_non_null(
        strstr(top_world_picture(&world, 5, 80), "1 succeeded  and 1200 more, found by /"));
    top_world_fini(&world);
}

/* A member that runs, or a phase that is at work, comes before those that wait. */
static void a_workflow_whose_jobs_only_wait_is_queued(void **state)
{
    (void)state;
#define SWEEP(states)                                                                              \
    "{'phase': 'sweep', 'state': 'blocked', 'members': 3, 'of_members': {'begun': 3, 'ended': 0,"  \
    " 'states': {" states "}, 'attempts': 3}}"
    static const char *const cases[][2] = {
        {SWEEP("'queued': 3"), " queued  sweep"},
        {SWEEP("'queued': 2, 'active': 1"), " active  sweep"},
        {SWEEP("'queued': 3") ", {'phase': 'other', 'state': 'active'}", " active  other"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct top_world world;
        top_world_init(&world);
        char *answer = text_format("{'workflows': [{'workflow': 7, 'name': 'a', 'state':"
                                   " 'running', 'phases': [%s]}]}",
                                   cases[i][0]);
        top_world_answer(&world, PATHS_WORKFLOWS, answer);
        assert_non_null(strstr(top_world_picture(&world, 24, 80), cases[i][1]));
        free(answer);
        top_world_fini(&world);
    }
}

static void the_bar_of_a_matrix_counts_its_members(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_answer(&world, PATHS_WORKFLOWS,
                     "{'workflows': [{'workflow': 7, 'name': 'a', 'state': 'running', 'phases':"
                     " [{'phase': 'sweep', 'state': 'active', 'members': 4, 'of_members': {'begun':"
                     " 3, 'ended': 2, 'states': {'active': 1}, 'attempts': 3}}]}]}");
    static const char cells[] = "  2 of 4  █████░░░░░";
    assert_non_null(strstr(top_world_picture(&world, 24, 80), cells));
    top_world_fini(&world);
}

static void a_notice_that_a_phase_stops_goes_when_it_has_stopped(void **state)
{
    (void)state;
#define LIST(state, run)                                                                           \
    "{'workflows': [{'workflow': 7, 'name': 'a', 'state': 'running', 'phases': [{'phase':"         \
    " 'train', 'state': '" state "', 'run': {'state': '" run "', 'wish': 'hold'}}]}]}"
    static const char stopping[] = LIST("active", "running"), held[] = LIST("held", "ended");
    struct top_world world;
    top_world_init(&world);
    top_world_answer(&world, PATHS_WORKFLOWS, stopping);
    (void)top_world_picture(&world, 24, 80);
    top_world_type(&world, "h");
    struct reply reply = {.request = world.model.decision};
    reply.json = json_pack("{s:[s], s:[s]}", "phases", "7/train", "stopping", "7/train");
    model_take(&world.model, &reply, world.clock_s);
    top_world_answer(&world, PATHS_WORKFLOWS, stopping);
    (void)top_world_picture(&world, 24, 80);
    assert_string_equal(top_world_row(&world, 22), "7/train is being held: its run stops");
    top_world_answer(&world, PATHS_WORKFLOWS, held);
    (void)top_world_picture(&world, 24, 80);
    assert_string_equal(top_world_row(&world, 22), "");
    top_world_fini(&world);
}

/* --- A workflow ------------------------------------------------------------------------------- */

static void a_workflow_is_a_tree_with_its_current_phase(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "7 llama  active  submitted 13:13:20  $19.60  llama.yaml                 14:13:20",
        "-- phases ----------------------------------------------------------------------",
        "PHASE         STATE      PROGRESS       STEP    ETA  METRIC     CURVE     RUNS",
        "warmup        succeeded  ##########  100/100         loss 4.5                1",
        "` train       active     #####.....  320/600  1m04s  loss 2.25  #*+=~-._     2",
        "  | + ladder  blocked    ..........   0 of 2                                 0",
        "  ` export    blocked                                                        0",
        "-- 7/train ---------------------------------------------------------------------",
        "active      on n1",
        "checkpoint  /home/anna/step_300.ckpt",
        "spent       7h46m of GPU time, $19.00",
        "-- gate, 1 of 3 checks pass so far ---------------------------------------------",
        "gate of 7/train: so far; the gate judges a run that succeeds",
        "  CHECK  VALUE  BOUNDS   WINDOW       VERDICT",
        "  far     2.25  below 2               failing",
        "  late          below 1               too early",
        "  low     2.25  below 3  steps 1-320  passed",
        "-- GPUs ------------------------------------------------------------------------",
        "NODE  TAKES  GPUS  BUSY    LEAST  IDLE  MEMORY  POWER  TEMP  NOTE",
        "n1              1   97%  97% (0)",
        "-- runs ------------------------------------------------------------------------",
        "RUN        STATE    OUTCOME    JOB  NODES  STARTED     TOOK  STEPS  MESSAGE",
        "7/train#2  running              12  n1     14:03:20  10m00s",
        "7/train#1  ended    preempted   11  n2     13:13:20  48m20s",
        NULL,
    };
    struct top_world world;
    top_world_init(&world);
    world.model.terminal.unicode = false; /* a line of the picture is a line of this file */
    top_world_workflow(&world);
    (void)top_world_picture(&world, 25, 80);
    top_world_press(&world, TOP_KEY_ENTER);
    assert_rows(&world, 0, rows);
    assert_int_equal(grid_cell(&world.grid, 4, 0)->mark, GRID_SELECTED);
    assert_int_equal(top_world_colour(&world, "succeeded"), COLOUR_GREEN);
    assert_int_equal(top_world_colour(&world, "blocked"), COLOUR_DIM);
    top_world_fini(&world);
}

static void a_wide_terminal_has_panes_side_by_side(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_workflow(&world);
    (void)top_world_picture(&world, 24, 200);
    top_world_press(&world, TOP_KEY_ENTER);
    assert_true(text_starts(top_world_row(&world, 7), "── 7/train ──"));
    assert_non_null(strstr(top_world_row(&world, 7), "  ── gate, 1 of 3 "));
    assert_non_null(strstr(top_world_row(&world, 8), "gate of 7/train: so far"));
    assert_true(text_starts(top_world_row(&world, 5), "  ├ ▸ ladder"));
    assert_non_null(strstr(top_world_row(&world, 4), "█░░░░░░░░░░  320"));
    assert_non_null(strstr(top_world_row(&world, 4), "loss 2.25  █▇▆▅"));
    assert_non_null(strstr(top_world_row(&world, 4), "7h46m  $19.00  on n1"));
    assert_non_null(strstr(top_world_picture(&world, 24, 139), "\n── gate, 1")); /* stacked */
    top_world_fini(&world);
}

static void without_gpus_there_is_no_pane_of_gpus(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_workflow(&world);
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        (void)top_world_picture(&world, 24, widths[i]);
        top_world_press(&world, TOP_KEY_ENTER);
        top_world_type(&world, "gjjj"); /* a phase without a run */
        assert_null(strstr(top_world_picture(&world, 24, widths[i]), "─ GPUs"));
        assert_non_null(strstr(top_world_picture(&world, 24, widths[i]), "─ runs"));
        for (int pane = 0; pane < 3; pane++)
            top_world_press(&world, TOP_KEY_TAB);
        assert_non_null(strstr(top_world_picture(&world, 24, widths[i]), "─ GPUs"));
        top_world_press(&world, TOP_KEY_ESCAPE);
    }
    top_world_fini(&world);
}

static void the_members_of_a_matrix_unfold(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_workflow(&world);
    (void)top_world_picture(&world, 24, 80);
    top_world_press(&world, TOP_KEY_ENTER);
    top_world_press(&world, 'j');
    top_world_press(&world, TOP_KEY_ENTER);
    assert_true(text_starts(top_world_row(&world, 5), "  ├ ▾ ladder    blocked"));
    assert_true(text_starts(top_world_row(&world, 6), "  │ ├ ladder.1  blocked"));
    assert_true(text_starts(top_world_row(&world, 7), "  │ └ ladder.2  blocked"));
    assert_true(text_starts(top_world_row(&world, 8), "  └ export      blocked"));
    assert_int_equal(grid_cell(&world.grid, 5, 0)->mark, GRID_SELECTED);
    assert_non_null(strstr(top_world_picture(&world, 24, 80), "a matrix has no runs of its own"));
    top_world_press(&world, 'j');
    assert_non_null(strstr(top_world_picture(&world, 24, 80), "\nmember  lr 0.1\n"));
    (void)top_world_picture(&world, 24, 200);
    assert_true(text_ends(top_world_row(&world, 6), "  lr 0.1"));
    assert_true(text_ends(top_world_row(&world, 7), "  lr 0.2, batch 8 (best); no GPU"));
    (void)top_world_picture(&world, 24, 80);
    top_world_press(&world, 'k');
    top_world_press(&world, TOP_KEY_ENTER);
    assert_true(text_starts(top_world_row(&world, 6), "  └ export"));
    top_world_fini(&world);
}

static void an_eta_is_not_told_before_it_is_known(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_answer(&world, PATHS_WORKFLOWS,
                     "{'workflows': [{'workflow': 7, 'name': 'a', 'state': 'running', 'submitted':"
                     " 1.0, 'phases': [{'phase': 'p', 'state': 'active', 'step': 3, 'total': 9,"
                     " 'eta_s': null}]}], 'total': 1}");
    (void)top_world_picture(&world, 5, 80);
    assert_non_null(strstr(top_world_row(&world, 2), "3/9  ███░░░░░░░"));
    top_world_fini(&world);
}

/* --- A run ------------------------------------------------------------------------------------ */

static void a_run_shows_its_metrics_and_its_log(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "7/train#2  running  #####.....  320/600  1m04s left  for 10m00s         14:13:20",
        "-- metrics, steps 1 to 4 -------------------------------------------------------",
        "METRIC  VALUE  NEWEST STEPS",
        "loss        1  #+-_",
        "lr        0.1",
        "-- log of rank 0, one of 2, following ------------------------------------------",
        "14:13:19 one",
        "100 %",
        "a?b",
        "",
        NULL,
    };
    struct top_world world;
    top_world_init(&world);
    world.model.terminal.unicode = false;
    top_world_run(&world, "2026-09-21T14:13:19.001Z one\n50 %\r100 %\r\n\033[31ma\033[0m\001b\n");
    (void)top_world_picture(&world, 11, 80);
    assert_rows(&world, 0, rows);
    top_world_fini(&world);
}

static void long_lines_fold_after_words(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_run(&world, "first\n"
                          "the quick brown fox jumps over the lazy dog\n"
                          "0123456789012345678901234\n");
    (void)top_world_picture(&world, 15, 20);
    static const char *const rows[] = {"first", "the quick brown fox",  "jumps over the lazy",
                                       "dog",   "01234567890123456789", "01234",
                                       NULL};
    assert_rows(&world, 6, rows);
    (void)top_world_picture(&world, 11, 20); /* it follows: the end is seen */
    assert_rows(&world, 6, rows + 2);
    top_world_press(&world, 'k');
    assert_rows(&world, 6, (const char *const[]){rows[1], rows[2], rows[3], rows[4], NULL});
    top_world_press(&world, 'g');
    assert_rows(&world, 6, (const char *const[]){rows[0], rows[1], NULL});
    top_world_fini(&world);
}

/* --- All places ------------------------------------------------------------------------------- */

static void a_daemon_that_is_away_is_told_until_it_is_back(void **state)
{
    (void)state;
    static const char message[] = "phased does not answer; trying again (training goes on)";
    struct top_world world;
    top_world_init(&world);
    top_world_workflow(&world);
    assert_null(strstr(top_world_picture(&world, 8, 80), message));
    top_world_fail(&world, PATHS_PING, -ECONNREFUSED, "no daemon is running");
    (void)top_world_picture(&world, 8, 80);
    assert_string_equal(top_world_row(&world, 6), message);
    assert_int_equal(top_world_colour(&world, "phased does"), COLOUR_RED);
    assert_non_null(strstr(top_world_row(&world, 2), "llama")); /* what is known stays */
    top_world_answer(&world, PATHS_PING, "{'cluster': {'name': 'c', 'answering': true}}");
    assert_null(strstr(top_world_picture(&world, 8, 80), message));

    const struct request slow = {.kind = REQUEST_GET, .path = PATHS_PING};
    model_ask(&world.model, &slow, world.clock_s); /* it is stopped: nothing comes back */
    world.clock_s += 4;
    assert_null(strstr(top_world_picture(&world, 8, 80), message));
    world.clock_s += 2;
    assert_non_null(strstr(top_world_picture(&world, 8, 80), message));
    top_world_fini(&world);
}

static void what_stops_all_work_is_told(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_answer(&world, PATHS_PING,
                     "{'cluster': {'name': 'c', 'answering': false, 'message': 'timed out'},"
                     " 'home': '/h', 'trouble': 'disk full', 'trouble_since': 1790000000}");
    assert_non_null(strstr(top_world_picture(&world, 10, 160),
                           ": what is shown is of that time, and nothing new begins: disk full "
                           "(home /h)\n"
                           "Slurm does not answer, so nothing new begins: timed out\n"));
    top_world_fini(&world);
}

static void no_size_is_too_small(void **state)
{
    (void)state;
    for (int place = 0; place < 4; place++) {
        struct top_world world;
        top_world_init(&world);
        if (place == 2)
            top_world_run(&world, "one\ntwo\nthree three three\n");
        else
            top_world_workflow(&world);
        (void)top_world_picture(&world, 24, 80);
        if (place == 1)
            top_world_press(&world, TOP_KEY_ENTER);
        if (place == 3)
            top_world_press(&world, '?');
        for (int rows = 1; rows < 20; rows++)
            for (int columns = 1; columns < 30; columns++)
                (void)top_world_picture(&world, rows, columns);
        top_world_fini(&world);
    }
}

static void no_name_commands_the_terminal(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_answer(&world, PATHS_WORKFLOWS,
                     "{'workflows': [{'workflow': 7, 'name': 'a\\u001b]0;x\\u0007\\u202eb損', "
                     "'state': 'held', 'phases': []}], 'total': 1}");
    (void)top_world_picture(&world, 5, 80);
    assert_true(text_starts(top_world_row(&world, 2), "       7  a?]0;x??b損  held"));
    for (int i = 0; i < world.grid.rows * world.grid.columns; i++)
        assert_true(text_is_plain(world.grid.cells[i].letter, ""));
    top_world_fini(&world);
}

static void rows_are_shared_by_need(void **state)
{
    (void)state;
    static const struct {
        int wanted[4], focus, rows, shared[4];
    } rows[] = {
        {{3, 3, 3, 3}, 0, 20, {3, 3, 3, 11}},  {{9, 9, 9, 9}, 2, 20, {5, 3, 9, 3}},
        {{9, 9, 99, 2}, 2, 20, {5, 3, 10, 2}}, {{2, 2, 99, 2}, 2, 20, {2, 2, 14, 2}},
        {{5, 5, 5, 5}, 0, 3, {1, 1, 1, 0}},    {{5, 5, 5, 5}, -1, 8, {5, 1, 1, 1}},
        {{5, 5, 5, 5}, 1, -4, {0, 0, 0, 0}},   {{5, 5, 0, 5}, 0, 12, {5, 4, 0, 3}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int shared[4];
        draw_share(rows[i].wanted, 4, rows[i].focus, rows[i].rows, shared);
        for (int pane = 0; pane < 4; pane++)
            assert_int_equal(shared[pane], rows[i].shared[pane]);
    }
}

static void a_curve_fits_its_columns(void **state)
{
    (void)state;
    static const struct {
        const char *values;
        int columns;
        bool unicode;
        const char *curve;
    } rows[] = {
        {"[1, 2, 3, 4, 5, 6, 7, 8]", 8, true, "▁▂▃▄▅▆▇█"},
        {"[1, 2, 3, 4, 5, 6, 7, 8]", 4, true, "▁▃▆█"},
        {"[1, 2, 3, 4, 5, 6, 7, 8]", 20, false, "_.-~=+*#"},
        {"[1, 8, \"nan\", 1, \"inf\"]", 9, true, "▁█x▁x"},
        {"[1, null, 8]", 9, true, "▁█"},
        {"[5, 5, 5]", 9, true, "▁▁▁"},
        {"[5]", 9, true, ""},
        {"[]", 9, true, ""},
        {"[1, 2]", -3, true, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *values = json_loads(rows[i].values, 0, NULL);
        json_t *steps = json_array();
        for (size_t step = 0; step < json_array_size(values); step++)
            json_array_append_new(steps, json_integer((json_int_t)(10 * step)));
        struct spark spark = {0};
        struct text text = {0};
        spark_add(&spark, steps, values);
        spark_write(&spark, rows[i].columns, rows[i].unicode, &text);
        assert_string_equal(text_string(&text), rows[i].curve);
        text_fini(&text);
        spark_fini(&spark);
        json_decref(steps);
        json_decref(values);
    }
}

static void a_curve_stands_over_its_steps(void **state)
{
    (void)state;
    json_t *steps = json_pack("[iiiii]", 1, 2, 3, 4, 1000);
    json_t *values = json_pack("[iiiii]", 8, 8, 8, 8, 1);
    struct spark spark = {0};
    struct text text = {0};
    spark_add(&spark, steps, values);
    spark_write(&spark, 5, true, &text);
    assert_string_equal(text_string(&text), "████▁");
    text_fini(&text);
    spark_fini(&spark);
    json_decref(steps);
    json_decref(values);
}

static void without_ncurses_it_says_what_to_install(void **state)
{
    (void)state;
    struct error err;
    assert_int_equal(top_run(NULL, &err), -ENOTSUP);
    assert_non_null(strstr(err.message, "libncurses-dev"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_shows_what_fits),
        cmocka_unit_test(a_long_name_leaves_room_for_the_other_columns),
        cmocka_unit_test(five_hundred_workflows_are_one_screen),
        cmocka_unit_test(a_held_phase_is_told_while_another_branch_runs),
        cmocka_unit_test(what_is_not_listed_is_counted),
        cmocka_unit_test(a_workflow_whose_jobs_only_wait_is_queued),
        cmocka_unit_test(the_bar_of_a_matrix_counts_its_members),
        cmocka_unit_test(a_notice_that_a_phase_stops_goes_when_it_has_stopped),
        cmocka_unit_test(a_workflow_is_a_tree_with_its_current_phase),
        cmocka_unit_test(a_wide_terminal_has_panes_side_by_side),
        cmocka_unit_test(without_gpus_there_is_no_pane_of_gpus),
        cmocka_unit_test(the_members_of_a_matrix_unfold),
        cmocka_unit_test(an_eta_is_not_told_before_it_is_known),
        cmocka_unit_test(a_run_shows_its_metrics_and_its_log),
        cmocka_unit_test(long_lines_fold_after_words),
        cmocka_unit_test(a_daemon_that_is_away_is_told_until_it_is_back),
        cmocka_unit_test(what_stops_all_work_is_told),
        cmocka_unit_test(no_size_is_too_small),
        cmocka_unit_test(no_name_commands_the_terminal),
        cmocka_unit_test(rows_are_shared_by_need),
        cmocka_unit_test(a_curve_fits_its_columns),
        cmocka_unit_test(a_curve_stands_over_its_steps),
        cmocka_unit_test(without_ncurses_it_says_what_to_install),
    };
    return cmocka_run_group_tests_name("top", tests, NULL, NULL);
}
