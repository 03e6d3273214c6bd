/* Splitting the input of groups by lines, and which parts are finished. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"
#include "worker/lead/lead_run.h"
#include "worker/node/shards.h"
#include "worker/node/split.h"
#include "worker/process/environment.h"
#include "worker/protocol/assignment.h"
#include "worker/protocol/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder with the input and the folder of a phase. */
struct world {
    char folder[32];
    char *input, *run_dir;
    uv_loop_t loop;
    struct assignment assignment;
    struct environment environment;
    struct shards *shards;
    bool is_ready;
    int result;
    struct error err;
};

static int setup(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    if (!world)
        return -1;
    memcpy(world->folder, "/tmp/phased-test-XXXXXX", sizeof "/tmp/phased-test-XXXXXX");
    if (!mkdtemp(world->folder))
        return -1;
    world->input = text_format("%s/prompts.txt", world->folder);
    world->run_dir = text_format("%s/phase/1", world->folder);
    *state = world;
    return uv_loop_init(&world->loop) || file_make_folders(world->run_dir, 0700, NULL);
}

static void forget(struct world *world)
{
    shards_close(world->shards);
    world->shards = NULL;
    (void)uv_run(&world->loop, UV_RUN_DEFAULT);
}

static int teardown(void **state)
{
    struct world *world = *state;
    char *phase = text_format("%s/phase", world->folder);
    forget(world);
    shards_remove_all(world->run_dir);
    json_decref((json_t *)world->assignment.spec);
    (void)uv_loop_close(&world->loop);
    (void)unlink(world->input);
    int result = rmdir(world->run_dir) || rmdir(phase) || rmdir(world->folder);
    free(phase);
    free(world->run_dir);
    free(world->input);
    free(world);
    return result;
}

static void write_input(const struct world *world, const char *data, size_t size)
{
    assert_int_equal(file_replace(world->input, data, size, 0600, NULL), 0);
}

/* --- Splitting -------------------------------------------------------------------------------- */

/* Returns `count` parts of `total` from the part `first` on, with | between them. */
static char *parts_of(const struct world *world, unsigned total, unsigned first, unsigned count)
{
    static const atomic_bool is_cancelled;
    struct split_part parts[16];
    struct text text = {0};
    char *data;
    assert_in_range(count, 1, 16);
    int fd = open(world->input, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(split_find(fd, total, first, count, &is_cancelled, parts, NULL), 0);
    close(fd);
    assert_int_equal(file_read(world->input, 1 << 24, &data, NULL, NULL), 0);
    for (unsigned i = 0; i < count; i++) {
        text_add(&text, i ? "|" : "");
        text_add_bytes(&text, data + parts[i].begin, parts[i].end - parts[i].begin);
    }
    free(data);
    return text_steal(&text);
}

static void parts_have_equally_many_lines_in_order_byte_for_byte(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *input;
        unsigned total, first, count;
        const char *parts;
    } rows[] = {
        {"1\n2\n3\n4\n", 2, 0, 2, "1\n2\n|3\n4\n"},
        {"1\n2\n3\n4\n5\n", 2, 0, 2, "1\n2\n|3\n4\n5\n"},
        {"1\n2\n3\n4\n5\n6\n7\n", 4, 0, 4, "1\n|2\n3\n|4\n5\n|6\n7\n"},
        {"1\n2\n3\n4\n5\n6\n7\n", 4, 1, 2, "2\n3\n|4\n5\n"}, /* each node finds its own parts */
        {"1\n2\n3\n4\n5\n6\n7\n", 4, 3, 1, "6\n7\n"},
        {"1\n2\n3", 3, 0, 3, "1\n|2\n|3"}, /* the last line needs no newline */
        {"1\n2", 1, 0, 1, "1\n2"},
        {"a\r\n\r\n\xFF\n", 3, 0, 3, "a\r\n|\r\n|\xFF\n"},
        {"\n\n\n\n", 2, 0, 2, "\n\n|\n\n"}, /* empty lines are lines */
        {"1\n", 3, 0, 3, "||1\n"},          /* some parts have no lines */
        {"1", 2, 0, 2, "|1"},
        {"", 3, 0, 3, "||"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_input(world, rows[i].input, strlen(rows[i].input));
        char *parts = parts_of(world, rows[i].total, rows[i].first, rows[i].count);
        if (strcmp(parts, rows[i].parts) != 0)
            fail_msg("row %zu: %s", i, parts);
        free(parts);
    }
}

/* Lines longer than one read, with ends before, at and after its border. */
static void long_lines_are_whole(void **state)
{
    enum { BUFFER = 1 << 20 };
    struct world *world = *state;
    static const size_t sizes[] = {BUFFER - 1, BUFFER, BUFFER + 1, 3 * BUFFER};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t size = sizes[i];
        char *data = malloc(size + 2);
        assert_non_null(data);
        memset(data, 'x', size);
        data[size - 1] = '\n';
        data[size] = 'y';
        data[size + 1] = '\n';
        write_input(world, data, size + 2);
        char *parts = parts_of(world, 2, 0, 2);
        assert_int_equal(strlen(parts), size + 3);
        assert_memory_equal(parts, data, size);
        assert_string_equal(parts + size, "|y\n");
        free(parts);
        free(data);
    }
}

/* --- What is done ----------------------------------------------------------------------------- */

static void ready(void *context, int result, const struct error *err)
{
    struct world *world = context;
    world->is_ready = true;
    world->result = result;
    if (result < 0)
        world->err = *err;
}

struct phase {
    const char *input, *script, *params;
    unsigned groups;
    bool is_anew;
};

static const struct phase usual = {"1\n2\n3\n4\n", "generate", "{\"tp\": 4}", 2, false};

static void begin(struct world *world, const struct phase *phase, unsigned first, unsigned count)
{
    forget(world);
    if (phase->input)
        write_input(world, phase->input, strlen(phase->input));
    json_decref((json_t *)world->assignment.spec);
    world->assignment = (struct assignment){
        .file = {.run_dir = world->run_dir, .is_anew = phase->is_anew},
        .script = phase->script,
        .shard_input = "prompts.txt", /* relative to the workdir */
        .workdir = world->folder,
        .parallel = {.tensor = 4, .pipeline = 1, .data = phase->groups},
        .spec = json_pack("{s:o}", "params", json_loads(phase->params, 0, NULL)),
    };
    const struct shards_options options = {
        .loop = &world->loop,
        .assignment = &world->assignment,
        .environment = &world->environment,
        .first = first,
        .count = count,
        .ready = ready,
        .context = world,
    };
    world->is_ready = false;
    world->shards = shards_find(&options);
}

/* Returns the shards of the phase that must run: "01". */
static const char *to_run(struct world *world, const struct phase *phase)
{
    static char text[8];
    size_t size = 0;
    begin(world, phase, 0, phase->groups);
    (void)uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_true(world->is_ready);
    assert_int_equal(world->result, 0);
    assert_true(phase->groups < sizeof text);
    for (unsigned i = 0; i < phase->groups; i++)
        if (!shards_is_over(world->shards, i))
            text[size++] = (char)('0' + i);
    text[size] = '\0';
    return text;
}

static void a_shard_is_a_file_with_the_suffix_of_the_input(void **state)
{
    struct world *world = *state;
    char *data;
    assert_string_equal(to_run(world, &usual), "01");
    const char *file = shards_file(world->shards, 1);
    assert_non_null(strstr(file, "/phase/shards/1.txt"));
    assert_int_equal(file_read(file, 100, &data, NULL, NULL), 0);
    assert_string_equal(data, "3\n4\n");
    free(data);
}

static void finished_shards_are_left_out_until_something_changes(void **state)
{
    struct world *world = *state;
    static const struct {
        struct phase phase;
        const char *to_run;
    } rows[] = {
        {{"1\n2\n3\n4\n", "generate", "{\"tp\": 4}", 2, false}, "1"},
        {{"1\n2\n3\n5\n", "generate", "{\"tp\": 4}", 2, false}, "1"}, /* lines of the other shard */
        {{"1\nx\n3\n4\n", "generate", "{\"tp\": 4}", 2, false}, "01"},
        {{"1\n2\n3\n4\n", "another", "{\"tp\": 4}", 2, false}, "01"},
        {{"1\n2\n3\n4\n", "generate", "{\"tp\": 8}", 2, false}, "01"},
        {{"1\n2\n3\n4\n", "generate", "{\"tp\": 4, \"n\": 1}", 2, false}, "01"},
        {{"1\n2\n", "generate", "{\"tp\": 4}", 1, false}, "0"}, /* the same lines in one shard */
        {{"1\n2\n3\n4\n", "generate", "{\"tp\": 4}", 2, true}, "01"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct phase first = usual;
        first.is_anew = true;
        (void)to_run(world, &first);
        assert_int_equal(shards_mark_done(world->shards, 0, NULL), 0);
        assert_int_equal(shards_done(world->shards), 1);
        assert_int_equal(shards_over(world->shards), 0);
        const char *told = to_run(world, &rows[i].phase);
        assert_int_equal(shards_over(world->shards), rows[i].phase.groups - strlen(told));
        if (strcmp(told, rows[i].to_run) != 0)
            fail_msg("row %zu: %s", i, told);
    }
    assert_string_equal(to_run(world, &usual), "01"); /* the last row begins again */
}

static void the_order_of_params_does_not_matter(void **state)
{
    struct world *world = *state;
    struct phase phase = usual;
    phase.params = "{\"tp\": 4, \"lr\": 0.5}";
    (void)to_run(world, &phase);
    assert_int_equal(shards_mark_done(world->shards, 1, NULL), 0);
    phase.params = "{\"lr\": 0.5, \"tp\": 4}";
    assert_string_equal(to_run(world, &phase), "0");
}

static void a_shard_without_lines_is_not_run(void **state)
{
    struct world *world = *state;
    struct phase phase = usual;
    phase.input = "1\n2\n";
    phase.groups = 4;
    assert_string_equal(to_run(world, &phase), "13");
    phase.input = "";
    assert_string_equal(to_run(world, &phase), "");
}

static void a_phase_that_has_succeeded_leaves_no_shards(void **state)
{
    struct world *world = *state;
    (void)to_run(world, &usual);
    char *folder = text_format("%s/phase/shards", world->folder);
    assert_int_equal(access(folder, F_OK), 0);
    shards_remove_all(world->run_dir);
    assert_int_equal(access(folder, F_OK), -1);
    free(folder);
}

static void the_message_names_a_missing_input(void **state)
{
    struct world *world = *state;
    struct phase phase = usual;
    phase.input = NULL;
    begin(world, &phase, 0, 2);
    (void)uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_true(world->is_ready);
    assert_int_equal(world->result, -ENOENT);
    assert_string_equal(world->err.where, "shard.input");
    assert_non_null(strstr(world->err.message, "/prompts.txt: No such file"));
}

static void the_search_for_shards_can_be_stopped_at_any_time(void **state)
{
    struct world *world = *state;
    begin(world, &usual, 0, 2);
    forget(world);
    assert_false(world->is_ready);
}

static void remove_outcome(const struct world *world)
{
    char *path = text_format("%s/outcome.json", world->run_dir);
    assert_int_equal(unlink(path), 0);
    free(path);
}

/* The daemon compares the shards of a run with the shards of earlier runs, to see whether the phase
 * gets farther. A node that told no step has told -1. */
static void shards_count_as_steps_of_the_phase(void **state)
{
    struct world *world = *state;
    static const struct {
        struct report n1, n2; /* of the nodes */
        int64_t last_step;
    } rows[] = {
        {{.last_step = -1, .shards = 2}, {.last_step = -1, .shards = 3}, 5},
        {{.last_step = -1, .shards = 1, .shards_over = 2},
         {.last_step = -1, .shards = 1, .shards_over = 3},
         7},
        {{.last_step = -1, .shards_over = 2}, {.last_step = -1, .shards = 1, .shards_over = 4}, 7},
        /* This run has done none. */
        {{.last_step = -1, .shards_over = 3}, {.last_step = -1, .shards_over = 4}, -1},
        {{.last_step = 50, .shards = 1, .shards_over = 2}, {.last_step = -1, .shards = 1}, 50},
    };
    char *path = text_format("%s/lead.jsonl", world->folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct assignment assignment = {
            .file = {.run_dir = world->run_dir, .job_dir = world->folder}};
        struct lead_run run = {
            .assignment = &assignment, .journal = journal_open(path), .saved_step = -1};
        outcome_init(&run.outcome, 7);
        (void)lead_run_decide(&run, OUTCOME_TIMED_OUT, CAUSE_NONE, "%s", ""); /* it is the first */
        lead_run_add_end(&run, "n1", &rows[i].n1);
        lead_run_add_end(&run, "n2", &rows[i].n2);
        lead_run_end(&run);
        assert_true(run.outcome.last_step == rows[i].last_step);
        outcome_fini(&run.outcome);
        journal_close(run.journal);
        assert_int_equal(unlink(path), 0);
        remove_outcome(world);
    }
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parts_have_equally_many_lines_in_order_byte_for_byte, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(long_lines_are_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(a_shard_is_a_file_with_the_suffix_of_the_input, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(finished_shards_are_left_out_until_something_changes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_order_of_params_does_not_matter, setup, teardown),
        cmocka_unit_test_setup_teardown(a_shard_without_lines_is_not_run, setup, teardown),
        cmocka_unit_test_setup_teardown(a_phase_that_has_succeeded_leaves_no_shards, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(shards_count_as_steps_of_the_phase, setup, teardown),
        cmocka_unit_test_setup_teardown(the_message_names_a_missing_input, setup, teardown),
        cmocka_unit_test_setup_teardown(the_search_for_shards_can_be_stopped_at_any_time, setup,
                                        teardown),
    };
    return cmocka_run_group_tests_name("shards", tests, NULL, NULL);
}
