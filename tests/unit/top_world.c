/* Answers from texts, and pictures as texts. */
#include "tests/unit/unit.h"

#include "tests/unit/top_world.h"

#include "cli/top/draw.h"
#include "cli/top/keys.h"
#include "cli/top/paths.h"
#include "lib/error.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 24, COLUMNS = 80 };

void top_world_init(struct top_world *world)
{
    const struct terminal terminal = {.fd = -1, .unicode = true};
    *world = (struct top_world){.clock_s = 100};
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    assert_int_equal(setenv("TZ", "UTC0", 1), 0);
    tzset();
    model_init(&world->model, &terminal);
    world->model.now = 1790000000; /* 14:13:20 */
}

void top_world_fini(struct top_world *world)
{
    grid_fini(&world->grid);
    model_fini(&world->model);
}

static struct request get_of(const char *path)
{
    struct request request = {.kind = REQUEST_GET};
    (void)snprintf(request.path, sizeof request.path, "%s", path);
    return request;
}

void top_world_answer(struct top_world *world, const char *path, const char *json)
{
    struct reply reply = {.request = get_of(path), .took_s = 0.01};
    char *text = strdup(json);
    json_error_t error;
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    reply.json = json_loads(text, 0, &error);
    if (!reply.json)
        fail_msg("%s: %s", error.text, text);
    model_ask(&world->model, &reply.request, world->clock_s);
    model_take(&world->model, &reply, world->clock_s);
    free(text);
}

void top_world_fail(struct top_world *world, const char *path, int code, const char *message)
{
    struct reply reply = {.request = get_of(path)};
    (void)error_set(&reply.error, code, "%s", message);
    model_ask(&world->model, &reply.request, world->clock_s);
    model_take(&world->model, &reply, world->clock_s);
}

void top_world_many(struct top_world *world, unsigned count)
{
    struct text text = {0};
    for (unsigned i = count; i > 0; i--)
        text_addf(&text,
                  "%s{'workflow': %u, 'name': 'job-%u', 'state': '%s', 'submitted': 1789999000.0,"
                  " 'ended': null, 'gpu_seconds': 0.0, 'cost_usd': null, 'phases': [{'phase':"
                  " 'train', 'state': '%s', 'can': ['%s', 'cancel'], 'reason': ''}]}",
                  i == count ? "{'workflows': [" : ", ", i, i, i % 10 ? "running" : "held",
                  i % 10 ? "queued" : "held", i % 10 ? "hold" : "release");
    text_addf(&text, "], 'total': %u}", count);
    top_world_answer(world, PATHS_WORKFLOWS, text_string(&text));
    text_fini(&text);
}

void top_world_workflow(struct top_world *world)
{
    top_world_answer(
        world, PATHS_WORKFLOWS,
        "{'workflows': [{'workflow': 7, 'name': 'llama', 'state': 'running', 'submitted':"
        " 1789996400.0, 'ended': null, 'gpu_seconds': 28800.0, 'cost_usd': 19.6, 'phases':"
        " [{'phase': 'warmup', 'state': 'succeeded', 'step': 100, 'total': 100},"
        "  {'phase': 'train', 'state': 'active', 'can': ['hold', 'cancel'], 'step': 320, 'total': "
        "600,"
        "  'eta_s': 64.0}]}],"
        " 'total': 1}");
    top_world_answer(
        world, "/v1/workflows/7",
        "{'workflow': 7, 'name': 'llama', 'state': 'running', 'submitted': 1789996400.0, 'ended':"
        " null, 'file': 'llama.yaml', 'gpu_seconds': 28800.0, 'cost_usd': 19.6, 'phases':"
        " [{'phase': 'warmup', 'address': '7/warmup', 'state': 'succeeded', 'after': [], 'step':"
        " 100, 'total': 100, 'reason': 'promoted by its gate', 'metrics': {'loss': 4.5},"
        " 'attempts': 1, 'gpu_seconds': 800.0, 'cost_usd': 0.6, 'run': {'address':"
        " '7/warmup#1', 'state': 'ended'}},"
        " {'phase': 'train', 'address': '7/train', 'state': 'active', 'can': ['hold', 'cancel'],"
        " 'after': ['warmup'], 'step':"
        " 320, 'total': 600, 'eta_s': 64.0, 'reason': '', 'metrics': {'loss': 2.25}, 'attempts':"
        " 2, 'gpu_seconds': 28000.0, 'cost_usd': 19.0, 'checkpoint': '/home/anna/step_300.ckpt',"
        " 'run': {'address': '7/train#2', 'state': 'running', 'nodes': ['n1']}},"
        " {'phase': 'ladder', 'address': '7/ladder', 'state': 'blocked', 'after': ['train'],"
        " 'reason': '', 'attempts': 0, 'members': 2, 'of_members': {'begun': 0, 'ended': 0,"
        " 'states': {'blocked': 2}, 'attempts': 0, 'gpu_seconds': 0.0, 'cost_usd': null},"
        " 'run': null},"
        " {'phase': 'ladder.1', 'address': '7/ladder.1', 'state': 'blocked', 'after': [],"
        " 'matrix': 'ladder', 'reason': '', 'attempts': 0, 'run': null, 'case': {'lr': 0.1},"
        " 'standing': null},"
        " {'phase': 'ladder.2', 'address': '7/ladder.2', 'state': 'blocked', 'after': [],"
        " 'matrix': 'ladder', 'reason': 'no GPU', 'attempts': 0, 'run': null,"
        " 'case': {'lr': 0.2, 'batch': 8}, 'standing': 'best'},"
        " {'phase': 'export', 'address': '7/export', 'state': 'blocked', 'after': ['train'],"
        " 'reason': '', 'attempts': 0, 'gpu_seconds': 0.0, 'run': null}]}");
    top_world_answer(world, "/v1/workflows/7/phases/train/runs/2/metrics?buckets=200&name=loss",
                     "{'steps': [1, 2, 3, 4, 5, 6, 7, 8], 'series': {'loss': [9, 8, 7, 6, 5, 4, 3, "
                     "2.25]}}");
    top_world_answer(
        world, "/v1/workflows/7/phases/train" PATHS_GATE,
        "{'phase': '7/train', 'decided': null, 'decided_by': null, 'time': null, 'checks': [],"
        " 'guards': [], 'so_far': [{'name': 'low', 'outcome': 'passed', 'value': 2.25, 'bounds':"
        " 'below 3', 'window': {'first_step': 1, 'last_step': 320}}, {'name': 'late', 'outcome':"
        " 'insufficient', 'value': null, 'bounds': 'below 1', 'reason': 'no rows yet'}, {'name':"
        " 'far', 'outcome': 'failed', 'value': 2.25, 'bounds': 'below 2', 'reason': ''}]}");
    top_world_answer(world, "/v1/workflows/7/phases/train/runs/2/gpus",
                     "{'gpus': [{'node': 'n1', 'gpu': 0, 'util': 97}], 'paces': []}");
    top_world_answer(
        world, "/v1/workflows/7/phases/train",
        "{'phase': 'train', 'runs': [{'address': '7/train#2', 'state': 'running', 'job_id': 12,"
        " 'nodes': ['n1'], 'started': 1789999400.0}, {'address': '7/train#1', 'state': 'ended',"
        " 'outcome': 'preempted', 'job_id': 11, 'nodes': ['n2'], 'started': 1789996400.0, 'ended':"
        " 1789999300.0}]}");
}

void top_world_run(struct top_world *world, const char *log)
{
    struct reply reply = {.request = {.kind = REQUEST_READ, .path = "/log/rank-0.log"}};
    top_world_workflow(world);
    (void)top_world_picture(world, ROWS, COLUMNS);
    top_world_press(world, TOP_KEY_ENTER);
    top_world_press(world, TOP_KEY_ENTER);
    assert_int_equal(world->model.place, PLACE_RUN);
    top_world_answer(world, "/v1/workflows/7/phases/train/runs/2",
                     "{'address': '7/train#2', 'phase': 'train', 'state': 'running', 'started':"
                     " 1789999400.0, 'message': ''}");
    top_world_answer(world, "/v1/workflows/7/phases/train/runs/2/metrics?last=1000",
                     "{'steps': [1, 2, 3, 4], 'series': {'lr': [0.1, null, null, null],"
                     " 'loss': [4, 3, 2, 1]}}");
    top_world_answer(world, "/v1/workflows/7/phases/train/runs/2/logs",
                     "{'logs': [{'rank': 0, 'path': '/log/rank-0.log'}, {'rank': 1, 'path':"
                     " '/log/rank-1.log'}]}");
    text_add(&reply.bytes, log);
    model_take(&world->model, &reply, world->clock_s);
}

/* Adds the letters of a row, without the blanks at its end. */
static void top_world_add_row(const struct grid *grid, int row, struct text *text)
{
    size_t begin = text->size;
    for (int column = 0; column < grid->columns; column++)
        text_add(text, grid_cell(grid, row, column)->letter);
    while (text->size > begin && text->data[text->size - 1] == ' ')
        text->data[--text->size] = '\0';
}

const char *top_world_picture(struct top_world *world, int rows, int columns)
{
    static struct text text;
    grid_fini(&world->grid);
    grid_init(&world->grid, rows, columns);
    draw(&world->model, world->clock_s, &world->grid);
    text_clear(&text);
    for (int row = 0; row < rows; row++) {
        top_world_add_row(&world->grid, row, &text);
        text_add(&text, "\n");
    }
    return text_string(&text);
}

const char *top_world_row(const struct top_world *world, int row)
{
    static struct text text;
    text_clear(&text);
    top_world_add_row(&world->grid, row, &text);
    return text_string(&text);
}

enum colour top_world_colour(const struct top_world *world, const char *word)
{
    for (int row = 0; row < world->grid.rows; row++) {
        for (int column = 0; column < world->grid.columns; column++) {
            struct text text = {0};
            for (int i = 0; i < (int)strlen(word); i++) {
                const struct grid_cell *cell = grid_cell(&world->grid, row, column + i);
                text_add(&text, cell ? cell->letter : "");
            }
            bool is_here = text_equal(text_string(&text), word);
            text_fini(&text);
            if (is_here)
                return grid_cell(&world->grid, row, column)->colour;
        }
    }
    return COLOUR_COUNT;
}

void top_world_press(struct top_world *world, int key)
{
    int rows = world->grid.rows ? world->grid.rows : ROWS;
    int columns = world->grid.columns ? world->grid.columns : COLUMNS;
    keys_press(&world->model, key);
    (void)top_world_picture(world, rows, columns);
}

void top_world_type(struct top_world *world, const char *keys)
{
    for (; *keys; keys++)
        top_world_press(world, *keys);
}
