/* What the live view asks for, and what becomes of answers. */
#include "tests/unit/unit.h"

#include "tests/unit/top_world.h"

#include "cli/top/keys.h"
#include "cli/top/paths.h"
#include "cli/top/wants.h"
#include "lib/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is asked for now; empty: nothing. It counts as asked. */
static const char *next_path(struct top_world *world)
{
    static struct request request;
    double wait_s;
    if (!wants_next(&world->model, world->clock_s, &request, &wait_s))
        return "";
    model_ask(&world->model, &request, world->clock_s);
    return request.path;
}

static void answers_are_asked_for_again_when_they_are_old(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    assert_string_equal(next_path(&world), PATHS_WORKFLOWS);
    top_world_answer(&world, PATHS_WORKFLOWS, "{'workflows': []}");
    assert_string_equal(next_path(&world), PATHS_PING);
    top_world_answer(&world, PATHS_PING, "{}");
    assert_string_equal(next_path(&world), "");
    world.clock_s += 0.9;
    assert_string_equal(next_path(&world), "");
    world.clock_s += 0.2;
    assert_string_equal(next_path(&world), PATHS_WORKFLOWS);

    struct reply slow = {.request = {.kind = REQUEST_GET, .path = PATHS_WORKFLOWS}, .took_s = 0.15};
    slow.json = json_pack("{s:[]}", "workflows");
    model_take(&world.model, &slow, world.clock_s);
    world.clock_s += 2.8; /* a daemon that needs 0.15 s is not asked for 3 s */
    assert_string_equal(next_path(&world), "");
    world.clock_s += 0.3;
    assert_string_equal(next_path(&world), PATHS_WORKFLOWS);
    top_world_fini(&world);
}

/* Asks with an answer that needs so long. */
static void answer_slowly(struct top_world *world, const char *path, int code, double took_s)
{
    struct reply reply = {.request = {.kind = REQUEST_GET}, .took_s = took_s};
    (void)snprintf(reply.request.path, sizeof reply.request.path, "%s", path);
    if (code < 0)
        (void)error_set(&reply.error, code, "no answer");
    else
        reply.json = json_object();
    model_ask(&world->model, &reply.request, world->clock_s);
    world->clock_s += took_s;
    model_take(&world->model, &reply, world->clock_s);
}

static void a_daemon_that_did_not_answer_once_is_asked_as_often_as_before(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    answer_slowly(&world, PATHS_WORKFLOWS, -ETIMEDOUT, 60);
    world.clock_s += 1;
    top_world_answer(&world, PATHS_PING, "{}");
    assert_string_equal(next_path(&world), PATHS_WORKFLOWS);
    top_world_fini(&world);
}

static void a_very_slow_daemon_rests_half_a_minute_after_each_answer(void **state)
{
    (void)state;
    static const double took_s[] = {20, 59};
    for (size_t i = 0; i < sizeof took_s / sizeof took_s[0]; i++) {
        struct top_world world;
        top_world_init(&world);
        answer_slowly(&world, PATHS_WORKFLOWS, 0, took_s[i]);
        world.clock_s += 29;
        top_world_answer(&world, PATHS_PING, "{}");
        assert_string_equal(next_path(&world), "");
        world.clock_s += 2;
        assert_string_equal(next_path(&world), PATHS_WORKFLOWS);
        top_world_fini(&world);
    }
}

static void a_daemon_that_is_away_is_tried_each_second(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_fail(&world, PATHS_WORKFLOWS, -ECONNREFUSED, "away");
    assert_string_equal(next_path(&world), "");
    world.clock_s += 1.1;
    assert_string_not_equal(next_path(&world), "");
    top_world_fini(&world);
}

static void a_run_asks_for_what_its_panes_show(void **state)
{
    (void)state;
    struct top_world world;
    struct want wants[WANTS_MAX];
    top_world_init(&world);
    top_world_run(&world, "one\n");
    size_t count = wants_list(&world.model, wants), found = 0;
    static const char *const paths[] = {"/v1/workflows/7", "/v1/workflows/7/phases/train/runs/2",
                                        "/v1/workflows/7/phases/train/runs/2/logs",
                                        "/v1/workflows/7/phases/train/runs/2/metrics?last=1000",
                                        PATHS_PING};
    for (size_t i = 0; i < count; i++)
        for (size_t path = 0; path < sizeof paths / sizeof paths[0]; path++)
            found += text_equal(wants[i].path, paths[path]);
    assert_int_equal(found, sizeof paths / sizeof paths[0]);
    assert_int_equal(count, found);
    top_world_answer(&world, PATHS_PING, "{}");
    world.clock_s += 0.6;
    assert_string_equal(next_path(&world), "/log/rank-0.log");
    top_world_fini(&world);
}

/* A workflow of `count` phases that run and report a loss. */
static void many_phases(struct top_world *world, int count)
{
    struct text phases = {0};
    for (int i = 1; i <= count; i++)
        text_addf(
            &phases,
            "%s{'phase': 'p%d', 'address': '7/p%d', 'state': 'active', 'metrics': {'loss': 2},"
            " 'run': {'address': '7/p%d#1', 'state': 'running'}}",
            i > 1 ? "," : "", i, i, i);
    char *answer = text_format("{'workflows': [{'workflow': 7, 'name': 'a', 'state': 'running',"
                               " 'phases': [%s]}], 'total': 1}",
                               text_string(&phases));
    top_world_answer(world, PATHS_WORKFLOWS, answer);
    free(answer);
    text_fini(&phases);
    (void)top_world_picture(world, 24, 80);
    top_world_press(world, TOP_KEY_ENTER);
}

/* How many curves the live view asks for. Answers all. */
static int answer_curves(struct top_world *world)
{
    struct want wants[WANTS_MAX];
    size_t count = wants_list(&world->model, wants);
    int curves = 0;
    for (size_t i = 0; i < count; i++) {
        if (!strstr(wants[i].path, "&name=loss"))
            continue;
        top_world_answer(world, wants[i].path,
                         "{'steps': [1, 2, 3, 4], 'series': {'loss': [4, 3, 2, 1]}}");
        curves++;
    }
    return curves;
}

static void every_phase_in_view_has_its_curve(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    many_phases(&world, 40);
    (void)top_world_picture(&world, 60, 80);
    assert_int_equal(answer_curves(&world), 40);
    (void)top_world_picture(&world, 60, 80);
    for (int row = 0; row < 40; row++)
        assert_non_null(strstr(top_world_row(&world, 3 + row), "loss 2  █"));
    top_world_fini(&world);
}

/* One answer about a long run ends before its last step. */
static void a_curve_shows_the_whole_run(void **state)
{
    (void)state;
    static const char first[] = "/v1/workflows/7/phases/p1/runs/1/metrics?buckets=200&name=loss";
    static const char second[] =
        "/v1/workflows/7/phases/p1/runs/1/metrics?buckets=200&name=loss&from=50001";
    struct top_world world;
    struct want wants[WANTS_MAX];
    top_world_init(&world);
    many_phases(&world, 1);
    top_world_answer(&world, first,
                     "{'steps': [1, 2, 3, 50000], 'series': {'loss': [8, 8, 8, 4]},"
                     " 'next': 50001}");
    bool is_asked = false;
    for (size_t i = 0, count = wants_list(&world.model, wants); i < count; i++)
        is_asked = is_asked || text_equal(wants[i].path, second);
    assert_true(is_asked);
    top_world_answer(&world, second, "{'steps': [50001, 100000], 'series': {'loss': [4, 1]}}");
    (void)top_world_picture(&world, 24, 80);
    assert_non_null(strstr(top_world_row(&world, 3), "loss 2  ██▄▄▄▁"));
    top_world_fini(&world);
}

static void no_curve_is_asked_for_that_nobody_sees(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    many_phases(&world, 300);
    (void)top_world_picture(&world, 24, 80);
    assert_in_range(answer_curves(&world), 5, 22);
    top_world_press(&world, 'G');
    assert_in_range(answer_curves(&world), 5, 22);
    const char *row = strstr(top_world_picture(&world, 24, 80), "\np300 ");
    assert_non_null(row);
    const char *curve = strstr(row, "loss 2  █");
    assert_true(curve && curve < strchr(row + 1, '\n'));
    top_world_fini(&world);
}

static void a_failure_is_shown_where_its_answer_would_be(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    top_world_workflow(&world);
    (void)top_world_picture(&world, 24, 80);
    top_world_press(&world, TOP_KEY_ENTER);
    top_world_fail(&world, "/v1/workflows/7", -ENOENT, "no workflow 7");
    assert_non_null(strstr(top_world_picture(&world, 24, 80), "no workflow 7\n"));
    top_world_fini(&world);
}

static void more_answers_than_fit_replace_the_oldest(void **state)
{
    (void)state;
    struct top_world world;
    top_world_init(&world);
    for (int i = 0; i < 3 * MODEL_ANSWERS_MAX; i++) {
        char path[40];
        (void)snprintf(path, sizeof path, "/v1/workflows/%d", i + 1);
        world.clock_s++;
        top_world_answer(&world, path, "{}");
    }
    assert_int_equal(world.model.answer_count, MODEL_ANSWERS_MAX);
    assert_non_null(model_json(&world.model, "/v1/workflows/500"));
    assert_null(model_json(&world.model, "/v1/workflows/1"));
    top_world_fini(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_asked_for_again_when_they_are_old),
        cmocka_unit_test(a_daemon_that_did_not_answer_once_is_asked_as_often_as_before),
        cmocka_unit_test(a_very_slow_daemon_rests_half_a_minute_after_each_answer),
        cmocka_unit_test(a_daemon_that_is_away_is_tried_each_second),
        cmocka_unit_test(a_run_asks_for_what_its_panes_show),
        cmocka_unit_test(every_phase_in_view_has_its_curve),
        cmocka_unit_test(a_curve_shows_the_whole_run),
        cmocka_unit_test(no_curve_is_asked_for_that_nobody_sees),
        cmocka_unit_test(a_failure_is_shown_where_its_answer_would_be),
        cmocka_unit_test(more_answers_than_fit_replace_the_oldest),
    };
    return cmocka_run_group_tests_name("top_wants", tests, NULL, NULL);
}
