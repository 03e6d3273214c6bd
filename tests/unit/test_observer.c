/* Warnings about what a run prints, and does not print. The test has its own clock. */
#include "tests/unit/unit.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/metrics/extract.h"
#include "lib/protocol/journal_file.h"
#include "lib/protocol/told_checkpoint.h"
#include "lib/protocol/words.h"
#include "lib/text.h"
#include "worker/node/observer.h"
#include "worker/process/environment.h"
#include "worker/protocol/assignment.h"
#include "worker/protocol/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t now_ms;

double clock_calendar_s(void)
{
    return 1790000000 + (double)now_ms / 1000;
}

int64_t clock_steady_ms(void)
{
    return now_ms;
}

/* A run on the first node, without GPUs. */
struct world {
    char folder[32];
    char *path, *channel;
    json_t *spec;
    struct assignment assignment;
    struct environment environment;
    struct journal *journal;
    struct observer *observer;
    struct text told; /* all warnings so far */
    enum stop_reason cause;
};

static void nothing(void *context)
{
    (void)context;
}

static void note_stop(void *context, enum stop_reason cause, const char *message, json_t *verdict)
{
    struct world *world = context;
    (void)message;
    (void)verdict;
    world->cause = cause;
}

static void world_observe(struct world *world)
{
    struct error err;
    const struct observer_options options = {
        .assignment = &world->assignment,
        .environment = &world->environment,
        .journal = world->journal,
        .is_first_node = true,
        .channel = world->channel,
        .stop = note_stop,
        .urgent = nothing,
        .context = world,
    };
    assert_int_equal(observer_new(&options, &world->observer, &err), 0);
}

static void world_init_joined(struct world *world, const char *spec, const char *join)
{
    *world = (struct world){.folder = "/tmp/phased-test-XXXXXX", .cause = STOP_REASON_COUNT};
    assert_non_null(mkdtemp(world->folder));
    world->path = text_format("%s/n1.jsonl", world->folder);
    world->channel = text_format("%s/channel", world->folder);
    world->journal = journal_open(world->path);
    world->spec = json_loads(spec, 0, NULL);
    assert_non_null(world->spec);
    world->assignment = (struct assignment){.spec = world->spec, .nodes = 1, .join = join};
    world_observe(world);
}

static void world_init(struct world *world, const char *spec)
{
    world_init_joined(world, spec, NULL);
}

static void world_fini(struct world *world)
{
    observer_free(world->observer);
    journal_close(world->journal);
    json_decref(world->spec);
    assert_int_equal(file_remove_tree(world->folder, NULL), 0);
    free(world->path);
    free(world->channel);
    text_fini(&world->told);
}

static void world_print(struct world *world, const char *lines)
{
    observer_feed(world->observer, lines, strlen(lines));
}

static void world_pass(struct world *world, int seconds)
{
    now_ms += (int64_t)seconds * 1000;
    observer_look(world->observer);
}

static void world_entry(void *context, const struct entry *entry)
{
    text_addf(context, "%s; ", entry->message);
}

static void expect_warnings(struct world *world, const char *expected)
{
    journal_flush(world->journal);
    text_clear(&world->told);
    journal_visit(world->path, ENTRY_WARNING, world_entry, &world->told);
    assert_string_equal(text_string(&world->told), expected);
}

#define ASKS_FOR_LOSS                                                                              \
    "{\"guards\": {\"low\": {\"value\": \"last(lss)\", \"at_most\": 9}},"                          \
    " \"gate\": {\"good\": {\"condition\": \"last(accuracy) > last(loss)\"}}}"

static void missing_metrics_are_reported_once_after_three_minutes(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, ASKS_FOR_LOSS);
    world_print(&world, "step 1 | loss: 2.5\n");
    world_pass(&world, 179);
    expect_warnings(&world, "");
    world_pass(&world, 1);
    expect_warnings(&world,
                    "in the first 3 minutes the program printed no value of: lss, accuracy; "
                    "it printed values of: loss; ");
    world_pass(&world, 600);
    observer_look_last(world.observer, OBSERVER_ENDED_WELL);
    expect_warnings(&world,
                    "in the first 3 minutes the program printed no value of: lss, accuracy; "
                    "it printed values of: loss; ");
    world_fini(&world);
}

static void a_shorter_run_reports_missing_metrics_at_a_good_end(void **state)
{
    (void)state;
    static const struct {
        enum observer_fate fate;
        const char *printed, *warnings;
    } rows[] = {
        {OBSERVER_ENDED_WELL, "step 1 | loss: 2.5 | lss: 2\n",
         "from its start to its end the program printed no value of: accuracy; it printed values "
         "of: loss, lss; "},
        {OBSERVER_ENDED_WELL, "nothing to see\n",
         "from its start to its end the program printed no value of: lss, accuracy, loss; no "
         "metric at all was recognised in lines such as 'nothing to see'; " EXTRACT_ADVICE "; "},
        {OBSERVER_ENDED_WELL, "at 10 the loss became 2.5\nbye\n",
         "from its start to its end the program printed no value of: lss, accuracy, loss; no "
         "metric at all was recognised in lines such as 'at 10 the loss became "
         "2.5'; " EXTRACT_ADVICE "; "},
        {OBSERVER_ENDED_WELL, "step 1 | loss: 2.5 | lss: 2 | accuracy: 0.5", ""},
        {OBSERVER_ENDED_BADLY, "step 1 | loss: 2.5\n", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct world world;
        world_init(&world, ASKS_FOR_LOSS);
        world_print(&world, rows[i].printed);
        world_pass(&world, 20);
        observer_look_last(world.observer, rows[i].fate);
        expect_warnings(&world, rows[i].warnings);
        world_fini(&world);
    }
}

static void the_join_script_may_print_metrics_that_groups_do_not(void **state)
{
    (void)state;
    struct world world;
    world_init_joined(&world, ASKS_FOR_LOSS, "join");
    world_print(&world, "nothing to see\n");
    world_pass(&world, 600);
    observer_look_last(world.observer, OBSERVER_ENDED_WELL);
    expect_warnings(&world, "");
    observer_all_ended(world.observer);
    world_pass(&world, 1);
    world_print(&world, "step 1 | loss: 2.5 | lss: 2\n");
    observer_look_last(world.observer, OBSERVER_ENDED_WELL);
    expect_warnings(&world, "from its start to its end the program printed no value of: accuracy; "
                            "it printed values of: loss, lss; ");
    world_fini(&world);
}

static void many_names_hide_no_name_of_a_check_and_are_reported_once(void **state)
{
    (void)state;
    struct world world;
    struct text layers = {0};
    for (int i = 0; i < 1500; i++)
        text_addf(&layers, "layer%d_weight: 7\n", i);
    world_init(&world, ASKS_FOR_LOSS);
    world_print(&world, text_string(&layers));
    for (int i = 0; i < 2; i++) {
        world_print(&world, "step=1 loss=2.5 lss=2 accuracy=0.5\n");
        world_pass(&world, 180);
    }
    observer_look_last(world.observer, OBSERVER_ENDED_WELL);
    expect_warnings(&world, "there were more than 1000 names of metrics; later names are left "
                            "out, first 'layer1000_weight'; see `metrics: {pattern: ...}` in "
                            "phased-spec(5); ");
    text_fini(&layers);
    world_fini(&world);
}

static void world_values(void *context, const struct entry *entry)
{
    json_t **values = context;
    json_decref(*values);
    *values = json_incref(entry->values);
}

static void many_names_hide_no_name_of_the_speed(void **state)
{
    (void)state;
    static const struct {
        const char *printed, *name;
    } rows[] = {
        {"step=5 loss=2 tok/sec=9000\n", "tokens_per_s"},
        {"step=5 perf/total_num_tokens=18000 perf/time_per_step=2\n", "tokens_per_s"},
        {"step=5 loss=2 samples/sec=9000\n", "samples_per_s"},
    };
    struct text layers = {0};
    for (int i = 0; i < 1500; i++)
        text_addf(&layers, "layer%d_weight: 7\n", i);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world world;
        json_t *values = NULL;
        world_init(&world, "{}");
        world_print(&world, text_string(&layers));
        world_print(&world, rows[i].printed);
        world_pass(&world, 1);
        journal_visit(world.path, ENTRY_METRIC, world_values, &values);
        assert_true(json_number_value(json_object_get(values, rows[i].name)) == 9000);
        json_decref(values);
        world_fini(&world);
    }
    text_fini(&layers);
}

static void world_step(void *context, const struct entry *entry)
{
    text_addf(context, "%lld%s ", (long long)entry->step, entry->is_stepless ? "?" : "");
}

/* Otherwise a run that resumes would look as if it had started again. */
static void values_before_the_first_step_have_the_step_of_the_checkpoint(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, "{}");
    observer_free(world.observer);
    world.assignment.resume_step = 12;
    world_observe(&world);
    world_print(&world, "lr: 0.1\nstep 14 | loss: 2.5\nlr: 0.2\n");
    observer_look_last(world.observer, OBSERVER_ENDED_WELL);
    journal_flush(world.journal);
    journal_visit(world.path, ENTRY_METRIC, world_step, &world.told);
    assert_string_equal(text_string(&world.told), "13? 14 ");
    world_fini(&world);
}

/* Such a bar has no step, and no line feed until the run ends. */
static void a_bar_without_a_step_is_judged_while_it_runs(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, "{}");
    world_print(&world, "\rSampling: | 10/? [0, loss=2.5]\rSampling: | 11/? [0, loss=nan]\r");
    world_pass(&world, 1);
    world_pass(&world, 1);
    assert_int_equal(world.cause, STOP_NAN);
    world_fini(&world);
}

static void write_text(const char *path, const char *mode, const char *content)
{
    FILE *file = fopen(path, mode);
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void world_save(struct world *world, const char *content)
{
    char *path = text_format("%s/10.pt", world->folder);
    write_text(path, "w", content);
    free(path);
}

static void world_announce(struct world *world)
{
    char *line =
        text_format("{\"checkpoint\": {\"path\": \"%s/10.pt\", \"step\": 10}}\n", world->folder);
    write_text(world->channel, "a", line);
    free(line);
}

static void world_checkpoint(void *context, const struct entry *entry)
{
    struct told_checkpoint told = told_checkpoint_read(entry->json);
    text_addf(context, "%lld: %lld bytes; ", (long long)told.step, (long long)told.bytes);
}

static void expect_checkpoints(struct world *world, const char *expected)
{
    journal_flush(world->journal);
    text_clear(&world->told);
    journal_visit(world->path, ENTRY_CHECKPOINT, world_checkpoint, &world->told);
    assert_string_equal(text_string(&world->told), expected);
}

static void a_checkpoint_that_is_announced_and_found_is_reported_once(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, "{}");
    observer_free(world.observer);
    char *pattern = text_format("%s/{step}.pt", world.folder);
    world.assignment.checkpoint_path = pattern;
    world.assignment.file.out_dir = world.assignment.file.run_dir = world.folder;
    world_observe(&world);
    world_save(&world, "ten");
    world_announce(&world);
    world_pass(&world, 2);
    world_pass(&world, 2);
    expect_checkpoints(&world, "10: 3 bytes; ");
    world_save(&world, "ten again");
    world_pass(&world, 2);
    world_pass(&world, 2);
    expect_checkpoints(&world, "10: 3 bytes; 10: 9 bytes; ");
    world_announce(&world); /* it was found before */
    world_pass(&world, 2);
    expect_checkpoints(&world, "10: 3 bytes; 10: 9 bytes; ");
    free(pattern);
    world_fini(&world);
}

static void expect_last_step(struct world *world, int64_t highest, int64_t newest)
{
    int64_t step = -1;
    assert_int_equal(observer_last_step(world->observer, &step), highest >= 0);
    assert_true(step == highest);
    step = -1;
    assert_int_equal(observer_newest_step(world->observer, &step), newest >= 0);
    assert_true(step == newest);
}

static void the_last_step_of_a_run_is_its_highest(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, "{}");
    world_print(&world, "lr: 0.1\n");
    expect_last_step(&world, -1, -1);
    world_print(&world, "step 0 | loss: 2.5\n");
    expect_last_step(&world, 0, 0);
    world_print(&world, "step 5400 | loss: 2.5\nstep 12 | accuracy: 0.5\n");
    expect_last_step(&world, 5400, 12);
    world_fini(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checkpoint_that_is_announced_and_found_is_reported_once),
        cmocka_unit_test(missing_metrics_are_reported_once_after_three_minutes),
        cmocka_unit_test(values_before_the_first_step_have_the_step_of_the_checkpoint),
        cmocka_unit_test(a_bar_without_a_step_is_judged_while_it_runs),
        cmocka_unit_test(the_join_script_may_print_metrics_that_groups_do_not),
        cmocka_unit_test(many_names_hide_no_name_of_a_check_and_are_reported_once),
        cmocka_unit_test(many_names_hide_no_name_of_the_speed),
        cmocka_unit_test(the_last_step_of_a_run_is_its_highest),
        cmocka_unit_test(a_shorter_run_reports_missing_metrics_at_a_good_end),
    };
    return cmocka_run_group_tests_name("observer", tests, NULL, NULL);
}
