/* Keys, clicks, replies and logs of the live view. */
#include "tests/unit/unit.h"

#include "tests/unit/top_world.h"

#include "cli/top/keys.h"
#include "cli/top/log.h"
#include "cli/top/paths.h"
#include "cli/top/wants.h"
#include "lib/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *selected(const struct top_world *world, enum pane pane)
{
    return world->model.scrolls[pane].key;
}

static const char *last_row(const struct top_world *world)
{
    return top_world_row(world, world->grid.rows - 1);
}

/* --- Keys ------------------------------------------------------------------------------------- */

static void keys_lead_in_and_out(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_workflow(&world);
    (void)top_world_picture(&world, 24, 80);
    top_world_press(&world, TOP_KEY_ENTER);
    assert_int_equal(world.model.place, PLACE_WORKFLOW);
    assert_string_equal(selected(&world, PANE_PHASES), "7/train"); /* the current phase */
    static const enum pane order[] = {PANE_PHASE, PANE_GATE, PANE_GPUS, PANE_RUNS, PANE_PHASES};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        top_world_press(&world, TOP_KEY_TAB);
        assert_int_equal(world.model.focus[PLACE_WORKFLOW], order[i]);
    }
    top_world_press(&world, TOP_KEY_BACK_TAB);
    top_world_press(&world, 'j');
    assert_string_equal(selected(&world, PANE_RUNS), "7/train#1");
    assert_string_equal(selected(&world, PANE_PHASES), "7/train");
    top_world_press(&world, TOP_KEY_ENTER);
    assert_int_equal(world.model.place, PLACE_RUN);
    assert_int_equal(world.model.run.attempt, 1);
    top_world_press(&world, TOP_KEY_ESCAPE);
    top_world_press(&world, TOP_KEY_BACKSPACE);
    assert_int_equal(world.model.place, PLACE_WORKFLOWS);
    top_world_press(&world, TOP_KEY_ESCAPE);
    assert_int_equal(world.model.place, PLACE_WORKFLOWS);
    assert_false(world.model.is_over);
    top_world_press(&world, 'q');
    assert_true(world.model.is_over);
    top_world_fini(&world);
}

static void a_phase_without_a_run_says_so(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_workflow(&world);
    (void)top_world_picture(&world, 24, 80);
    top_world_press(&world, TOP_KEY_ENTER);
    top_world_press(&world, 'G');
    top_world_press(&world, TOP_KEY_ENTER);
    assert_string_equal(top_world_row(&world, 22), "7/export has no run yet");
    top_world_press(&world, 'k');
    assert_string_equal(top_world_row(&world, 22), "");
    top_world_fini(&world);
}

static void help_names_all_keys_and_closes(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_workflow(&world);
    (void)top_world_picture(&world, 24, 80);
    top_world_press(&world, '?');
    assert_non_null(strstr(top_world_picture(&world, 24, 80), "promote: start the next phases"));
    for (const struct keys_help *row = keys_help; row->keys; row++)
        assert_non_null(strstr(top_world_picture(&world, 40, 80), row->keys));
    top_world_press(&world, 'c');
    assert_false(world.model.has_help);
    assert_int_equal(world.model.prompt, PROMPT_NONE); /* the key has only closed the help */
    top_world_fini(&world);
}

static void the_selection_follows_its_workflow(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_many(&world, 5);
    (void)top_world_picture(&world, 24, 80);
    top_world_type(&world, "jj");
    assert_string_equal(selected(&world, PANE_WORKFLOWS), "3");
    top_world_many(&world, 8); /* three newer ones come first */
    (void)top_world_picture(&world, 24, 80);
    assert_string_equal(selected(&world, PANE_WORKFLOWS), "3");
    assert_int_equal(grid_cell(&world.grid, 2 + 5, 0)->mark, GRID_SELECTED);
    top_world_many(&world, 2); /* it is gone: the last one is nearest */
    (void)top_world_picture(&world, 24, 80);
    assert_string_equal(selected(&world, PANE_WORKFLOWS), "1");
    top_world_fini(&world);
}

/* --- Decisions -------------------------------------------------------------------------------- */

/* The decision that is to be sent: "cancel 7/train"; empty: none. */
static const char *decision(struct top_world *world)
{
    static char text[200];
    char name[ADDRESS_TEXT_SIZE];
    struct request request;
    double wait_s;
    bool is_one = wants_next(&world->model, world->clock_s, &request, &wait_s) &&
                  request.kind == REQUEST_DECIDE;
    (void)snprintf(text, sizeof text, "%s %s", is_one ? phase_command_name(request.command) : "",
                   is_one ? address_text(&request.address, name) : "");
    if (is_one)
        model_ask(&world->model, &request, world->clock_s);
    return is_one ? text : "";
}

static void decisions_are_about_what_is_selected(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_workflow(&world);
    (void)top_world_picture(&world, 24, 80);
    top_world_type(&world, "py");
    assert_string_equal(decision(&world), "promote 7");
    assert_string_equal(decision(&world), ""); /* it is sent once */
    top_world_press(&world, 'r');
    assert_string_equal(decision(&world), "retry 7");
    top_world_press(&world, 'R');
    assert_string_equal(decision(&world), "resume 7");
    top_world_press(&world, TOP_KEY_ENTER);
    top_world_press(&world, 'h');
    assert_string_equal(decision(&world), "hold 7/train");
    top_world_press(&world, TOP_KEY_ENTER);
    top_world_type(&world, "py");
    assert_string_equal(decision(&world), "promote 7/train"); /* its run is shown */
    top_world_fini(&world);
}

static void a_decision_waits_until_the_one_before_is_sent(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_many(&world, 5);
    (void)top_world_picture(&world, 24, 80);
    top_world_type(&world, "hh"); /* the second key changes nothing */
    assert_string_equal(top_world_row(&world, 22), "hold 5 ...");
    top_world_type(&world, "jh");
    assert_string_equal(top_world_row(&world, 22),
                        "cannot hold 4 yet: hold 5 is not sent; press again");
    assert_int_equal(top_world_colour(&world, "cannot hold 4"), COLOUR_RED);
    top_world_type(&world, "q"); /* top_run() waits for what is not sent */
    assert_true(model_is_deciding(&world.model));
    assert_string_equal(decision(&world), "hold 5");
    assert_true(model_is_deciding(&world.model)); /* it has no answer yet */
    top_world_type(&world, "h");
    struct reply reply = {.request = world.model.asked,
                          .json = json_pack("{s:[s]}", "phases", "5/train")};
    model_take(&world.model, &reply, world.clock_s);
    assert_string_equal(decision(&world), "hold 4");
    reply = (struct reply){.request = world.model.asked, .json = json_object()};
    model_take(&world.model, &reply, world.clock_s);
    assert_false(model_is_deciding(&world.model));
    top_world_fini(&world);
}

static void a_cancel_wants_a_yes(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_workflow(&world);
    (void)top_world_picture(&world, 24, 80);
    top_world_press(&world, 'c');
    assert_string_equal(last_row(&world),
                        "cancel 7 for good? Its runs stop with a checkpoint. y/n");
    top_world_press(&world, 'n');
    assert_string_equal(decision(&world), "");
    top_world_type(&world, "cq"); /* anything but y is a no, and does nothing else */
    assert_string_equal(decision(&world), "");
    assert_false(world.model.is_over);
    top_world_type(&world, "cy");
    assert_string_equal(decision(&world), "cancel 7");
    top_world_fini(&world);
}

static void a_promotion_wants_a_yes(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_workflow(&world);
    (void)top_world_picture(&world, 24, 80);
    top_world_type(&world, "p");
    assert_string_equal(decision(&world), "");
    assert_string_equal(last_row(&world), "promote 7, whatever the gate says? y/n");
    top_world_type(&world, "q"); /* anything but y is a no, and does nothing else */
    assert_string_equal(decision(&world), "");
    assert_false(world.model.is_over);
    top_world_type(&world, "py");
    assert_string_equal(decision(&world), "promote 7");
    top_world_fini(&world);
}

static void what_has_ended_is_not_cancelled(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_answer(&world, PATHS_WORKFLOWS,
                     "{'workflows': [{'workflow': 5, 'name': 'over', 'state': 'failed', 'phases':"
                     " [{'phase': 'a', 'state': 'failed', 'can': ['retry']}, {'phase': 'b', "
                     "'state': 'skipped'}]}]}");
    (void)top_world_picture(&world, 24, 80);
    top_world_type(&world, "cy");
    assert_string_equal(decision(&world), "");
    top_world_press(&world, 'c');
    assert_string_equal(top_world_row(&world, 22),
                        "cannot cancel 5: it has ended, or is being cancelled");
    assert_true(text_starts(last_row(&world), "Enter open"));
    top_world_fini(&world);
}

static void what_a_person_holds_is_released(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_many(&world, 11);
    (void)top_world_picture(&world, 24, 80);
    top_world_press(&world, 'h');
    assert_string_equal(decision(&world), "hold 11");
    top_world_type(&world, "jh");
    assert_string_equal(decision(&world), "release 10");
    top_world_fini(&world);
}

static void a_workflow_is_held_while_anything_of_it_is_under_way(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second, *decision;
    } cases[] = {
        {"'held', 'can': ['release']", "'active'", "hold 7"},
        {"'active'", "'held', 'can': ['release']", "hold 7"},
        {"'held', 'can': ['release']", "'queued'", "hold 7"},
        {"'held', 'can': ['release']", "'blocked'", "release 7"},
        {"'held', 'can': ['release']", "'succeeded'", "release 7"},
        {"'held', 'can': ['promote']", "'succeeded'", "hold 7"}, /* the daemon says why not */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct top_world world;
        top_world_init(&world);
        char *answer = text_format(
            "{'workflows': [{'workflow': 7, 'name': 'a', 'state': 'running', 'phases': ["
            "{'phase': 'first', 'address': '7/first', 'state': %s},"
            "{'phase': 'second', 'address': '7/second', 'state': %s}]}]}",
            cases[i].first, cases[i].second);
        top_world_answer(&world, PATHS_WORKFLOWS, answer);
        (void)top_world_picture(&world, 24, 80);
        top_world_press(&world, 'h');
        assert_string_equal(decision(&world), cases[i].decision);
        free(answer);
        top_world_fini(&world);
    }
}

/* The matrix itself is blocked. Its members run, or a person holds them. */
static void a_matrix_is_held_while_a_member_is_under_way(void **state)
{
    (void)state;
    static const struct {
        const char *states[2], *decision;
    } cases[] = {
        {{"'held', 'can': ['release']", "'active', 'can': ['hold']"}, "hold 7/sweep"},
        {{"'held', 'can': ['release']", "'succeeded', 'can': []"}, "release 7/sweep"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct top_world world;
        top_world_init(&world);
        char *answer = text_format(
            "{'workflows': [{'workflow': 7, 'name': 'a', 'state': 'running', 'phases': ["
            "{'phase': 'sweep', 'address': '7/sweep', 'state': 'blocked', 'can': ['hold',"
            " 'release'], 'members': 2, 'of_members': {'states': {}}},"
            "{'phase': 'sweep.1', 'matrix': 'sweep', 'address': '7/sweep.1', 'state': %s},"
            "{'phase': 'sweep.2', 'matrix': 'sweep', 'address': '7/sweep.2', 'state': %s}]}]}",
            cases[i].states[0], cases[i].states[1]);
        top_world_answer(&world, PATHS_WORKFLOWS, answer);
        (void)top_world_picture(&world, 24, 80);
        top_world_press(&world, TOP_KEY_ENTER);
        (void)top_world_picture(&world, 24, 80);
        top_world_press(&world, 'h');
        assert_string_equal(decision(&world), cases[i].decision);
        free(answer);
        top_world_fini(&world);
    }
}

static void what_came_of_a_decision_is_told_until_the_next_key(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_workflow(&world);
    (void)top_world_picture(&world, 24, 80);
    top_world_type(&world, "h");
    assert_string_equal(top_world_row(&world, 22), "hold 7 ...");
    struct reply reply = {.request = world.model.decision};
    reply.json =
        json_pack("{s:[s,s], s:[s]}", "phases", "7/train", "7/export", "stopping", "7/train");
    model_take(&world.model, &reply, world.clock_s);
    (void)top_world_picture(&world, 24, 80);
    assert_string_equal(top_world_row(&world, 22),
                        "7/train is being held: its run stops, and 1 more");
    top_world_press(&world, 'j');
    assert_string_equal(top_world_row(&world, 22), "");

    top_world_type(&world, "h");
    reply = (struct reply){.request = world.model.decision};
    (void)error_set(&reply.error, -EBUSY, "7 has ended");
    model_take(&world.model, &reply, world.clock_s);
    (void)top_world_picture(&world, 24, 80);
    assert_string_equal(top_world_row(&world, 22), "7 has ended");
    assert_int_equal(top_world_colour(&world, "7 has ended"), COLOUR_RED);
    top_world_fini(&world);
}

/* --- Searches --------------------------------------------------------------------------------- */

static void a_search_selects_the_next_row_with_the_text(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_many(&world, 500);
    (void)top_world_picture(&world, 24, 80);
    top_world_type(&world, "/JOB-1");
    assert_string_equal(last_row(&world), "/JOB-1_");
    top_world_press(&world, TOP_KEY_ENTER);
    assert_string_equal(selected(&world, PANE_WORKFLOWS), "199");
    top_world_press(&world, 'n');
    assert_string_equal(selected(&world, PANE_WORKFLOWS), "198");
    top_world_type(&world, "NN"); /* round the beginning */
    assert_string_equal(selected(&world, PANE_WORKFLOWS), "1");
    top_world_type(&world, "/nobody");
    top_world_press(&world, TOP_KEY_BACKSPACE);
    top_world_press(&world, TOP_KEY_ENTER);
    assert_string_equal(last_row(&world), "looking for 'nobod' among all workflows ...");
    top_world_answer(&world, PATHS_SEARCH "%6e%6f%62%6f%64", "{'workflows': []}");
    (void)top_world_picture(&world, 24, 80);
    assert_string_equal(last_row(&world), "no workflow has 'nobod'");
    assert_string_equal(selected(&world, PANE_WORKFLOWS), "1");
    top_world_press(&world, TOP_KEY_ESCAPE);
    assert_true(text_starts(last_row(&world), "Enter open"));
    top_world_type(&world, "/x");
    top_world_press(&world, TOP_KEY_ESCAPE);
    assert_true(text_starts(last_row(&world), "Enter open"));
    top_world_fini(&world);
}

static void a_search_finds_what_the_list_leaves_out(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_many(&world, 3);
    (void)top_world_picture(&world, 24, 80);
    top_world_type(&world, "/a b");
    top_world_press(&world, TOP_KEY_ENTER);
    struct want wants[WANTS_MAX];
    assert_int_equal(wants_list(&world.model, wants), 3);
    assert_string_equal(wants[1].path, PATHS_SEARCH "%61%20%62");
    top_world_answer(&world, wants[1].path,
                     "{'workflows': [{'workflow': 2, 'name': 'job-2', 'ended': null},"
                     " {'workflow': 1200, 'name': 'a b', 'state': 'succeeded', 'submitted': 5.0,"
                     " 'ended': 9.0, 'phases': []}], 'total': 1201}");
    (void)top_world_picture(&world, 24, 80);
    assert_string_equal(selected(&world, PANE_WORKFLOWS), "1200");
    assert_true(text_starts(top_world_row(&world, 5), "    1200  a b "));
    assert_string_equal(top_world_row(&world, 6), "");
    top_world_press(&world, TOP_KEY_ENTER);
    assert_int_equal(world.model.workflow.workflow, 1200);
    assert_non_null(strstr(top_world_picture(&world, 24, 80), "1200 a b  succeeded"));
    top_world_press(&world, TOP_KEY_ESCAPE); /* one press: nothing is sought in this place */
    assert_int_equal(world.model.place, PLACE_WORKFLOWS);
    assert_string_equal(selected(&world, PANE_WORKFLOWS), "1200");
    top_world_press(&world, TOP_KEY_ESCAPE);
    assert_string_equal(top_world_row(&world, 5), "");
    top_world_fini(&world);
}

static void escape_ends_only_a_search_that_is_seen(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_run(&world, "one\ntwo\n");
    (void)top_world_picture(&world, 20, 80);
    top_world_type(&world, "/two");
    top_world_press(&world, TOP_KEY_ENTER);
    top_world_press(&world, TOP_KEY_ESCAPE);
    assert_int_equal(world.model.place, PLACE_RUN);
    assert_string_equal(world.model.scrolls[PANE_LOG].search, "");
    top_world_type(&world, "/two");
    top_world_press(&world, TOP_KEY_ENTER);
    top_world_press(&world, TOP_KEY_TAB);
    top_world_press(&world, TOP_KEY_ESCAPE); /* nothing is sought in the other pane */
    assert_int_equal(world.model.place, PLACE_WORKFLOW);
    top_world_fini(&world);
}

/* The first row of the log. */
static const char *log_row(const struct top_world *world)
{
    return top_world_row(world, world->model.scrolls[PANE_LOG].area.row);
}

static void a_log_is_searched_and_followed(void **state)
{
    (void)state;
    struct top_world world;
    struct text log = {0};
    for (int line = 1; line <= 1000; line++)
        text_addf(&log, "line %d%s\n", line, line % 100 ? "" : " Error");
    top_world_init(&world);
    top_world_run(&world, text_string(&log));
    (void)top_world_picture(&world, 20, 80);
    assert_string_equal(top_world_row(&world, 18), "line 1000 Error");
    top_world_type(&world, "/error");
    top_world_press(&world, TOP_KEY_ENTER);
    top_world_type(&world, "n");
    assert_string_equal(log_row(&world), "line 100 Error"); /* 1000 was found first */
    assert_int_equal(grid_cell(&world.grid, world.model.scrolls[PANE_LOG].area.row, 9)->mark,
                     GRID_FOUND);
    assert_false(world.model.scrolls[PANE_LOG].follows);
    top_world_type(&world, "nn");
    assert_string_equal(log_row(&world), "line 300 Error");
    top_world_type(&world, "N");
    assert_string_equal(log_row(&world), "line 200 Error");
    top_world_type(&world, "g");
    assert_string_equal(log_row(&world), "line 1");
    top_world_press(&world, TOP_KEY_PAGE_DOWN);
    assert_string_equal(log_row(&world), "line 13");
    top_world_type(&world, "G");
    assert_string_equal(top_world_row(&world, 18), "line 1000 Error");

    struct reply more = {.request = {.kind = REQUEST_READ, .path = "/log/rank-0.log"},
                         .offset = log_offset(&world.model.log)};
    text_add(&more.bytes, "line 1001\n");
    model_take(&world.model, &more, world.clock_s);
    (void)top_world_picture(&world, 20, 80);
    assert_string_equal(top_world_row(&world, 18), "line 1000 Error"); /* it does not follow */
    top_world_type(&world, "f");
    assert_string_equal(top_world_row(&world, 18), "line 1001");
    text_fini(&log);
    top_world_fini(&world);
}

static void left_and_right_change_the_rank(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_run(&world, "zero\n");
    (void)top_world_picture(&world, 20, 80);
    top_world_press(&world, TOP_KEY_RIGHT);
    assert_string_equal(world.model.log.path, "/log/rank-1.log");
    assert_non_null(strstr(top_world_picture(&world, 20, 80), "log of rank 1, one of 2"));
    struct reply late = {.request = {.kind = REQUEST_READ, .path = "/log/rank-0.log"}};
    text_add(&late.bytes, "of the other rank\n");
    model_take(&world.model, &late, world.clock_s);
    assert_int_equal(world.model.log.count, 0);
    top_world_press(&world, TOP_KEY_RIGHT);
    assert_string_equal(world.model.log.path, "/log/rank-0.log");
    top_world_press(&world, TOP_KEY_LEFT);
    assert_string_equal(world.model.log.path, "/log/rank-1.log");
    top_world_fini(&world);
}

/* --- The mouse -------------------------------------------------------------------------------- */

static void a_click_selects_and_a_click_on_the_selected_row_opens(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_many(&world, 500);
    (void)top_world_picture(&world, 24, 80);
    keys_click(&world.model, KEYS_CLICK, 5, 10);
    (void)top_world_picture(&world, 24, 80);
    assert_string_equal(selected(&world, PANE_WORKFLOWS), "497");
    keys_click(&world.model, KEYS_CLICK, 23, 10); /* the last line is not a row */
    keys_click(&world.model, KEYS_CLICK, 0, 10);
    keys_click(&world.model, KEYS_WHEEL_DOWN, 5, 10);
    (void)top_world_picture(&world, 24, 80);
    assert_string_equal(selected(&world, PANE_WORKFLOWS), "494");
    assert_int_equal(world.model.place, PLACE_WORKFLOWS);
    keys_click(&world.model, KEYS_CLICK, 8, 10);
    assert_int_equal(world.model.place, PLACE_WORKFLOW);
    assert_int_equal(world.model.workflow.workflow, 494);
    top_world_fini(&world);

    top_world_init(&world);
    top_world_workflow(&world);
    (void)top_world_picture(&world, 26, 80);
    top_world_press(&world, TOP_KEY_ENTER);
    keys_click(&world.model, KEYS_CLICK, 23, 3);
    (void)top_world_picture(&world, 26, 80);
    assert_int_equal(world.model.focus[PLACE_WORKFLOW], PANE_RUNS);
    assert_string_equal(selected(&world, PANE_RUNS), "7/train#1");
    keys_click(&world.model, KEYS_CLICK, 24, 3); /* below the last run */
    (void)top_world_picture(&world, 26, 80);
    assert_string_equal(selected(&world, PANE_RUNS), "7/train#1");
    top_world_fini(&world);
}

/* --- Logs ------------------------------------------------------------------------------------- */

static void a_log_grows_and_begins_anew(void **state)
{
    (void)state;
    struct log log = {0};
    struct text line = {0};
    log_open(&log, "/log", 0);
    assert_int_equal(log_offset(&log), -1);
    (void)log_add(&log, 500, "two\nthr", 7);
    assert_int_equal(log_offset(&log), 507);
    (void)log_add(&log, 507, "ee\n", 3);
    assert_int_equal(log.count, 2);
    log_shown_line(&log, 1, &line);
    assert_string_equal(text_string(&line), "three");
    (void)log_add(&log, 0, "anew\n", 5); /* the file has become shorter */
    assert_int_equal(log.count, 1);
    assert_int_equal(log_offset(&log), 5);
    text_fini(&line);
    log_close(&log);
}

static void a_very_long_log_gives_up_its_beginning(void **state)
{
    (void)state;
    struct log log = {0};
    struct text block = {0};
    size_t gone = 0;
    for (int i = 0; i < 1024; i++)
        text_addf(&block, "%1023d\n", i);
    log_open(&log, "/log", 0);
    for (long long i = 0; i < 40; i++)
        gone += log_add(&log, i ? log_offset(&log) : 0, text_string(&block), block.size);
    assert_int_equal(log_offset(&log), 40LL * 1024 * 1024);
    assert_true(log.bytes.size <= 32 * 1024 * 1024);
    assert_int_equal(gone + log.count, 40 * 1024);
    assert_int_equal(log.begin, (long long)gone * 1024);
    text_fini(&block);
    log_close(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_lead_in_and_out),
        cmocka_unit_test(a_phase_without_a_run_says_so),
        cmocka_unit_test(help_names_all_keys_and_closes),
        cmocka_unit_test(the_selection_follows_its_workflow),
        cmocka_unit_test(decisions_are_about_what_is_selected),
        cmocka_unit_test(a_decision_waits_until_the_one_before_is_sent),
        cmocka_unit_test(a_cancel_wants_a_yes),
        cmocka_unit_test(a_promotion_wants_a_yes),
        cmocka_unit_test(what_has_ended_is_not_cancelled),
        cmocka_unit_test(what_a_person_holds_is_released),
        cmocka_unit_test(a_workflow_is_held_while_anything_of_it_is_under_way),
        cmocka_unit_test(a_matrix_is_held_while_a_member_is_under_way),
        cmocka_unit_test(what_came_of_a_decision_is_told_until_the_next_key),
        cmocka_unit_test(a_search_selects_the_next_row_with_the_text),
        cmocka_unit_test(a_search_finds_what_the_list_leaves_out),
        cmocka_unit_test(escape_ends_only_a_search_that_is_seen),
        cmocka_unit_test(a_log_is_searched_and_followed),
        cmocka_unit_test(left_and_right_change_the_rank),
        cmocka_unit_test(a_click_selects_and_a_click_on_the_selected_row_opens),
        cmocka_unit_test(a_log_grows_and_begins_anew),
        cmocka_unit_test(a_very_long_log_gives_up_its_beginning),
    };
    return cmocka_run_group_tests_name("top_keys", tests, NULL, NULL);
}
