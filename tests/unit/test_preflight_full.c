/* The full level without a GPU: which ranks reduce together, what the program on the GPUs prints,
 * when a figure is enough, and how a row is judged. */
#include "tests/unit/unit.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/spec/problems.h"
#include "lib/text.h"
#include "worker/preflight/baseline.h"
#include "worker/preflight/facts.h"
#include "worker/preflight/figures.h"
#include "worker/preflight/groups.h"
#include "worker/preflight/measures.h"
#include "worker/preflight/probe.h"
#include "worker/preflight/rows.h"
#include "worker/preflight/speed.h"
#include "worker/preflight/thresholds.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct groups groups;

static void a_layout_gives_the_groups_of_training(void **state)
{
    (void)state;
    static const struct {
        const char *layout;
        unsigned nodes, gpus;
        const char *groups; /* NULL: refused */
    } cases[] = {
        {NULL, 1, 8, "all:0-7"},
        {NULL, 2, 2, "all:0-3"},
        {NULL, 1, 1, ""},
        {"data=8", 1, 8, "data:0-7"},
        {"tensor=4", 1, 4, "tensor:0-3"},
        {"tensor=4", 1, 8, "tensor:0-3/4-7;data:0,4/1,5/2,6/3,7"},
        {"tensor=4,data=2", 1, 8, "tensor:0-3/4-7;data:0,4/1,5/2,6/3,7"},
        {"tensor=2,pipeline=2,data=2", 1, 8, "tensor:0-1/2-3/4-5/6-7;data:0,2/1,3/4,6/5,7"},
        {"tensor=4,pipeline=2,data=1", 1, 8, "tensor:0-3/4-7"},
        {"pipeline=8,data=1", 1, 8, ""},
        {"data=4,tensor=4", 2, 8,
         "tensor:0-3/4-7/8-11/12-15;data:0,4,8,12/1,5,9,13/2,6,10,14/3,7,11,15"},
        {"tensor=3", 1, 8, NULL},
        {"tensor=4,data=4", 1, 8, NULL},
        {"tensor=0", 1, 8, NULL},
        {"tensor=", 1, 8, NULL},
        {"tensor=4,", 1, 8, NULL},
        {"tensor=4 data=2", 1, 8, NULL},
        {"tens=4", 1, 8, NULL},
        {"tensor=-4", 1, 8, NULL},
        {"tensor=99999999999", 1, 8, NULL},
        {"data=8", 0, 8, NULL},
        {"data=8", 4096, 8, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = {0};
        struct error err = {0};
        int rc = groups_of_layout(cases[i].layout, cases[i].nodes, cases[i].gpus, &groups, &err);
        assert_int_equal(rc, cases[i].groups ? 0 : -EINVAL);
        if (cases[i].groups)
            groups_text(&groups, &text);
        assert_string_equal(text_string(&text), cases[i].groups ? cases[i].groups : "");
        assert_true(rc == 0 || err.message[0]);
        text_fini(&text);
    }
}

static void lists_of_ranks_are_read_and_written(void **state)
{
    (void)state;
    static const struct {
        const char *list, *written; /* NULL: refused */
    } cases[] = {
        {"0-7", "given:0-7"},
        {"0,1,2,3/4-7", "given:0-3/4-7"},
        {"tensor:0-3/4-7;data:0,4/1,5", "tensor:0-3/4-7;data:0,4/1,5"},
        {"3", "given:3"},
        {"0-3,2", NULL},
        {"0-3/3-5", NULL},
        {"0-8", NULL},
        {"3-1", NULL},
        {"", NULL},
        {"0-3/", NULL},
        {"0-3;", NULL},
        {"0,,1", NULL},
        {"0-", NULL},
        {"tensor0-3", NULL},
        {"averyverylongname:0-3", NULL},
        {"0-1;0-1;0-1;0-1;0-1", NULL},
        {"0-3x", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = {0};
        struct error err;
        int rc = groups_of_text(cases[i].list, 1, 8, &groups, &err);
        assert_int_equal(rc, cases[i].written ? 0 : -EINVAL);
        if (rc == 0)
            groups_text(&groups, &text);
        assert_string_equal(text_string(&text), cases[i].written ? cases[i].written : "");
        text_fini(&text);
    }
}

static void a_group_knows_its_size_its_nodes_and_its_places(void **state)
{
    (void)state;
    assert_int_equal(groups_of_layout("tensor=4,data=4", 2, 8, &groups, NULL), 0);
    assert_int_equal(groups_size(&groups, 0, 1), 4);
    assert_int_equal(groups_nodes(&groups, 0, 1), 1);
    assert_int_equal(groups_size(&groups, 1, 3), 4);
    assert_int_equal(groups_nodes(&groups, 1, 3), 2);
    assert_true(groups_is_on(&groups, 0, 2, 1));
    assert_false(groups_is_on(&groups, 0, 2, 0));
    assert_int_equal(groups_place(&groups, 0, 6), 2);
    assert_int_equal(groups_place(&groups, 1, 11), 2); /* of 3, 7, 11, 15 */
}

static void the_stricter_of_threshold_and_baseline_decides(void **state)
{
    (void)state;
    const struct fact none = {0};
    const struct {
        struct fact threshold, baseline, percent;
        bool is_known;
        double value;
        bool is_by_baseline;
    } cases[] = {
        {none, none, {true, 10}, false, 0, false},
        {{true, 100}, none, {true, 10}, true, 100, false},
        {none, {true, 200}, {true, 10}, true, 180, true},
        {{true, 100}, {true, 200}, {true, 10}, true, 180, true},
        {{true, 190}, {true, 200}, {true, 10}, true, 190, false},
        {{true, 100}, {true, 200}, none, true, 100, false},
        {none, {true, 200}, none, false, 0, false},
        {none, {true, 200}, {true, 0}, true, 200, true},
        {none, {true, 200}, {true, 1000}, true, 0, true},
        {{true, 0}, none, none, true, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct figure_least least =
            figure_least(cases[i].threshold, cases[i].baseline, cases[i].percent);
        assert_int_equal(least.is_known, cases[i].is_known);
        assert_true(least.value == cases[i].value);
        assert_int_equal(least.baseline.is_known, cases[i].is_by_baseline);
    }
}

static struct measures measures;

static void lines_are_accepted_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int rc;
        enum measure_kind kind;
        unsigned a, b;
        double value;
        const char *text;
    } cases[] = {
        {"peer_gbps 0 7 381.25", 0, MEASURE_FIGURE, 0, 7, 381.25, ""},
        {"wrong 3 1 12 of 99 words", 0, MEASURE_WRONG, 3, 1, 0, "12 of 99 words"},
        {"failed 2 an error", 0, MEASURE_FAILED, 2, 0, 0, "an error"},
        {"unknown - no room", 0, MEASURE_UNKNOWN, 0, 0, 0, "no room"},
        {"unknown no room", -EINVAL, 0, 0, 0, 0, ""},
        {"failed 2", -EINVAL, 0, 0, 0, 0, ""},
        {"wrong 3 words", -EINVAL, 0, 0, 0, 0, ""},
        {"matrix_tflops 0 0 700", -EINVAL, 0, 0, 0, 0, ""}, /* a line of another row */
        {"peer_gbps 0 7", -EINVAL, 0, 0, 0, 0, ""},
        {"peer_gbps 0 7 nan", -EINVAL, 0, 0, 0, 0, ""},
        {"peer_gbps 0 7 inf", -EINVAL, 0, 0, 0, 0, ""},
        {"peer_gbps 0 7 -1", -EINVAL, 0, 0, 0, 0, ""},
        {"peer_gbps 0 7 1 more", -EINVAL, 0, 0, 0, 0, ""},
        {"NCCL version 2.28", -EINVAL, 0, 0, 0, 0, ""},
        {"", -EINVAL, 0, 0, 0, 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(&measures, 0, sizeof measures);
        assert_int_equal(measures_take_line(&measures, FIGURE_ROW_PEERS, cases[i].line),
                         cases[i].rc);
        assert_int_equal(measures.count, cases[i].rc == 0);
        const struct measure *measure = &measures.items[0];
        assert_int_equal(measure->kind, cases[i].kind);
        assert_int_equal(measure->a, cases[i].a);
        assert_int_equal(measure->b, cases[i].b);
        assert_true(measure->value == cases[i].value);
        assert_string_equal(measure->text, cases[i].text);
    }
    assert_false(measures.is_whole[FIGURE_ROW_PEERS]);
    assert_int_equal(measures_take_line(&measures, FIGURE_ROW_PEERS, "end"), 0);
    assert_true(measures.is_whole[FIGURE_ROW_PEERS]);
}

/* Two GPUs of a model with thresholds, which reduce together. */
static struct fact_gpu gpu_pair[2] = {{.index = 4, .name = "Model A"},
                                      {.index = 6, .name = "Model A"}};
static const struct fact_gpu *const pair[] = {&gpu_pair[0], &gpu_pair[1]};
static struct thresholds thresholds, baseline;

static struct speed new_speed(enum figure_row row)
{
    memset(&measures, 0, sizeof measures);
    measures.is_taken[row] = true;
    thresholds = (struct thresholds){.model_count = 1, .baseline_percent = {true, 10}};
    thresholds.models[0] = (struct thresholds_model){.match = "Model A", .group_count = 1};
    thresholds.models[0].figures[FIGURE_HBM_COPY] = (struct fact){true, 1000};
    thresholds.models[0].figures[FIGURE_HBM_TRIAD] = (struct fact){true, 900};
    thresholds.models[0].figures[FIGURE_PEER] = (struct fact){true, 300};
    thresholds.models[0].groups[0] = (struct thresholds_group){2, 1, {true, 200}};
    assert_int_equal(groups_of_layout(NULL, 1, 2, &groups, NULL), 0);
    return (struct speed){.measures = &measures,
                          .thresholds = &thresholds,
                          .groups = &groups,
                          .gpus = pair,
                          .gpu_count = 2};
}

static void all_lines_of_a_row_count(void **state)
{
    (void)state;
    static const struct {
        const char *lines[6];
        enum figure_row row;
        enum row_outcome outcome;
        const char *text;
    } cases[] = {
        {{"hbm_copy_gbps 0 0 1100", "hbm_copy_gbps 1 0 1200", "hbm_triad_gbps 0 0 950",
          "hbm_triad_gbps 1 0 940", "end"},
         FIGURE_ROW_HBM,
         ROW_PASSED,
         "copy 1100 GB/s, at least 1000; triad 940 GB/s, at least 900"},
        {{"hbm_copy_gbps 0 0 1100", "hbm_copy_gbps 1 0 700", "hbm_triad_gbps 0 0 950",
          "hbm_triad_gbps 1 0 800", "end"},
         FIGURE_ROW_HBM,
         ROW_FAILED,
         "GPU 6: copy 700 GB/s, at least 1000; GPU 6: triad 800 GB/s, at least 900"},
        {{"hbm_copy_gbps 0 0 1100", "hbm_triad_gbps 0 0 950", "hbm_triad_gbps 1 0 940", "end"},
         FIGURE_ROW_HBM,
         ROW_UNKNOWN,
         "1 of 4 figures were not measured"},
        {{"hbm_copy_gbps 0 0 1100", "hbm_copy_gbps 1 0 1200", "hbm_triad_gbps 0 0 950",
          "hbm_triad_gbps 1 0 940"},
         FIGURE_ROW_HBM,
         ROW_UNKNOWN,
         "the measuring process ended without its last line"},
        {{"hbm_copy_gbps 0 0 1100", "hbm_copy_gbps 1 0 1200", "wrong 1 0 3 words",
          "hbm_triad_gbps 0 0 950", "hbm_triad_gbps 1 0 940", "end"},
         FIGURE_ROW_HBM,
         ROW_FAILED,
         "GPU 6: 3 words"},
        {{"hbm_copy_gbps 0 0 1100", "unknown - no room", "end"},
         FIGURE_ROW_HBM,
         ROW_UNKNOWN,
         "no room"},
        {{"hbm_copy_gbps 0 0 1100", "failed 1 gone"}, FIGURE_ROW_HBM, ROW_FAILED, "GPU 6: gone"},
        {{"peer_gbps 0 1 310", "peer_gbps 1 0 290", "end"},
         FIGURE_ROW_PEERS,
         ROW_FAILED,
         "GPU 6 to GPU 4: copy 290 GB/s, at least 300"},
        {{"wrong 0 1 5 words", "end"}, FIGURE_ROW_PEERS, ROW_FAILED, "GPU 4 to GPU 6: 5 words"},
        {{"allreduce_gbps 0 0 199", "end"},
         FIGURE_ROW_ALLREDUCE,
         ROW_FAILED,
         "all 0-1: bus 199 GB/s, at least 200"},
        {{"allreduce_gbps 0 0 201", "end"},
         FIGURE_ROW_ALLREDUCE,
         ROW_PASSED,
         "all 201 GB/s, at least 200"},
        {{"matrix_tflops 0 0 600", "matrix_tflops 1 0 500", "end"},
         FIGURE_ROW_MATRIX,
         ROW_UNKNOWN,
         "bf16 500 TFLOP/s, no threshold and no baseline"},
        {{"end"}, FIGURE_ROW_COPIES, ROW_UNKNOWN, "4 of 4 figures were not measured"},
        {{NULL}, FIGURE_ROW_COPIES, ROW_UNKNOWN, "4 of 4 figures were not measured"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct speed speed = new_speed(cases[i].row);
        struct row_result results[ROWS_COUNT_MAX];
        for (size_t line = 0; line < 6 && cases[i].lines[line]; line++)
            assert_int_equal(measures_take_line(&measures, cases[i].row, cases[i].lines[line]), 0);
        assert_int_equal(speed_judge(&speed, results), 1);
        assert_string_equal(results[0].text, cases[i].text);
        assert_int_equal(results[0].outcome, cases[i].outcome);
        assert_true(results[0].is_essential);
    }
}

static void rows_of_pairs_pass_if_there_is_no_partner(void **state)
{
    (void)state;
    struct row_result results[ROWS_COUNT_MAX];
    struct speed speed = new_speed(FIGURE_ROW_PEERS);
    measures.is_taken[FIGURE_ROW_ALLREDUCE] = true;
    assert_int_equal(groups_of_layout(NULL, 1, 1, &groups, NULL), 0);
    speed.gpu_count = 1;
    assert_int_equal(speed_judge(&speed, results), 2);
    assert_int_equal(rows_outcome(results, 2), ROW_PASSED);
    speed.gpu_count = 0;
    assert_int_equal(speed_judge(&speed, results), 2);
    assert_int_equal(rows_outcome(results, 2), ROW_UNKNOWN);
}

static void a_slow_group_of_several_nodes_blames_no_node(void **state)
{
    (void)state;
    struct row_result results[ROWS_COUNT_MAX];
    struct speed speed = new_speed(FIGURE_ROW_ALLREDUCE);
    thresholds.models[0].groups[0] = (struct thresholds_group){4, 2, {true, 200}};
    assert_int_equal(groups_of_layout(NULL, 2, 2, &groups, NULL), 0);
    assert_int_equal(measures_take_line(&measures, FIGURE_ROW_ALLREDUCE, "allreduce_gbps 0 0 150"),
                     0);
    measures.is_whole[FIGURE_ROW_ALLREDUCE] = true;
    assert_int_equal(speed_judge(&speed, results), 1);
    assert_string_equal(results[0].text,
                        "all 0-3: bus 150 GB/s, at least 200: this node or another");
    assert_int_equal(results[0].outcome, ROW_UNKNOWN);
    /* A wrong result is worse than leaving out a good node. */
    assert_int_equal(measures_take_line(&measures, FIGURE_ROW_ALLREDUCE, "wrong 0 0 1 sum"), 0);
    assert_int_equal(speed_judge(&speed, results), 1);
    assert_int_equal(results[0].outcome, ROW_FAILED);
}

static void a_baseline_can_be_stricter_or_replace_a_missing_threshold(void **state)
{
    (void)state;
    struct row_result results[ROWS_COUNT_MAX];
    struct speed speed = new_speed(FIGURE_ROW_MATRIX);
    baseline = (struct thresholds){.model_count = 1};
    baseline.models[0] = (struct thresholds_model){.match = "Model A"};
    baseline.models[0].figures[FIGURE_MATRIX] = (struct fact){true, 700};
    speed.baseline = &baseline;
    assert_int_equal(measures_take_line(&measures, FIGURE_ROW_MATRIX, "matrix_tflops 0 0 650"), 0);
    assert_int_equal(measures_take_line(&measures, FIGURE_ROW_MATRIX, "matrix_tflops 1 0 640"), 0);
    measures.is_whole[FIGURE_ROW_MATRIX] = true;
    assert_int_equal(speed_judge(&speed, results), 1);
    assert_string_equal(results[0].text, "bf16 640 TFLOP/s, at least 630 by the baseline");
    assert_int_equal(results[0].outcome, ROW_PASSED);
    measures.items[1].value = 629;
    assert_int_equal(speed_judge(&speed, results), 1);
    assert_string_equal(results[0].text, "GPU 6: bf16 629 TFLOP/s, at least 630 by the baseline");
    assert_int_equal(results[0].outcome, ROW_FAILED);
}

static void groups_of_another_size_need_a_threshold_of_their_own(void **state)
{
    (void)state;
    struct row_result results[ROWS_COUNT_MAX];
    struct speed speed = new_speed(FIGURE_ROW_ALLREDUCE);
    assert_int_equal(groups_of_text("0-1/2-4", 1, 5, &groups, NULL), 0);
    assert_int_equal(measures_take_line(&measures, FIGURE_ROW_ALLREDUCE, "allreduce_gbps 0 0 210"),
                     0);
    assert_int_equal(measures_take_line(&measures, FIGURE_ROW_ALLREDUCE, "allreduce_gbps 0 1 400"),
                     0);
    measures.is_whole[FIGURE_ROW_ALLREDUCE] = true;
    assert_int_equal(speed_judge(&speed, results), 1);
    assert_int_equal(results[0].outcome, ROW_UNKNOWN); /* nothing says what three must reach */
    assert_string_equal(results[0].text, "given 400 GB/s, no threshold and no baseline");
}

static void a_recorded_baseline_reads_back(void **state)
{
    (void)state;
    static const char *const lines[] = {"hbm_copy_gbps 0 0 1100.9", "hbm_copy_gbps 1 0 1099.9",
                                        "hbm_triad_gbps 0 0 1000"};
    char folder[] = "/tmp/phased-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *path = text_format("%s/baseline.yaml", folder);
    struct speed speed = new_speed(FIGURE_ROW_HBM);
    struct text text = {0};
    struct spec_problems problems = {0};
    assert_int_equal(groups_of_layout("tensor=2,data=2", 2, 2, &groups, NULL), 0);
    assert_int_equal(baseline_text(&speed, "a node", &text), 0);
    text_clear(&text);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(measures_take_line(&measures, FIGURE_ROW_HBM, lines[i]), 0);
    for (unsigned round = 0; round < 2; round++)
        for (unsigned group = 0; group < 2; group++) {
            char line[64];
            (void)snprintf(line, sizeof line, "allreduce_gbps %u %u %u", round, group,
                           300 - 100 * round - group);
            assert_int_equal(measures_take_line(&measures, FIGURE_ROW_ALLREDUCE, line), 0);
        }
    assert_int_equal(baseline_text(&speed, "a node", &text), 4);
    assert_int_equal(file_replace(path, text_string(&text), text.size, 0600, NULL), 0);
    assert_int_equal(thresholds_read(path, &baseline, &problems), 0);
    assert_int_equal(baseline.model_count, 1);
    const struct thresholds_model *model = &baseline.models[0];
    assert_string_equal(model->match, "Model A");
    assert_int_equal(model->figures[FIGURE_HBM_COPY].value, 1099);
    assert_int_equal(model->figures[FIGURE_HBM_TRIAD].value, 1000);
    assert_false(model->figures[FIGURE_MATRIX].is_known);
    assert_int_equal(thresholds_of_group(model, 2, 1).value, 299);
    assert_int_equal(thresholds_of_group(model, 2, 2).value, 199);
    assert_false(thresholds_of_group(model, 4, 2).is_known);
    spec_problems_fini(&problems);
    text_fini(&text);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    free(path);
}

/* Takes the place of kill() in the probe. */
static unsigned kill_count;
int kill(pid_t pid, int signal_number)
{
    kill_count++;
    return (int)syscall(SYS_kill, pid, signal_number);
}

static char *write_program(const char *script)
{
    char *path = xstrdup("/tmp/phased-test-XXXXXX");
    int fd = mkstemp(path);
    assert_int_equal(fchmod(fd, 0700), 0);
    assert_int_equal(write(fd, script, strlen(script)), (ssize_t)strlen(script));
    assert_int_equal(close(fd), 0);
    return path;
}

static void only_a_program_that_has_not_ended_is_killed(void **state)
{
    (void)state;
    static const struct {
        const char *program; /* each ignores the arguments, and prints no last line */
        unsigned kill_count;
    } cases[] = {{"/bin/false", 0}, {"/nonexistent", 0}, {"SLEEPER", 1}};
    char *sleeper = write_program("#!/bin/sh\nexec sleep 60\n");
    assert_int_equal(groups_of_layout(NULL, 1, 1, &groups, NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool is_sleeper = text_equal(cases[i].program, "SLEEPER");
        struct probe probe = {.program = is_sleeper ? sleeper : cases[i].program,
                              .visible = "",
                              .groups = &groups,
                              .start_s = is_sleeper ? 1 : 60};
        struct thresholds_row how = {.seconds = {.is_known = true, .value = 1}};
        measures = (struct measures){0};
        kill_count = 0;
        probe_take(&probe, FIGURE_ROW_HBM, &how, INT64_MAX, &measures);
        assert_int_equal(measures.count, 1);
        assert_int_equal(kill_count, cases[i].kill_count);
    }
    assert_int_equal(unlink(sleeper), 0);
    free(sleeper);
}

static void a_row_that_had_less_than_its_own_time_has_not_failed(void **state)
{
    (void)state;
    static const struct {
        uint64_t seconds; /* of the row */
        int64_t left_ms;  /* of the full level */
        enum measure_kind kind;
        const char *text;
    } cases[] = {
        {1, 60000, MEASURE_FAILED, "no answer in 1.0 s"},
        {60, 3000, MEASURE_UNKNOWN, "no answer: the starts of CUDA and NCCL left only "},
        {60, 0, MEASURE_UNKNOWN, "no time is left"},
    };
    char *program = write_program("#!/bin/sh\necho ready\nexec sleep 60\n");
    assert_int_equal(groups_of_layout(NULL, 1, 1, &groups, NULL), 0);
    struct probe probe = {.program = program, .visible = "", .groups = &groups, .start_s = 60};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct thresholds_row how = {.seconds = {.is_known = true, .value = cases[i].seconds}};
        int64_t left_ms = cases[i].left_ms;
        do { /* until there was time enough to start the program */
            measures = (struct measures){0};
            probe_take(&probe, FIGURE_ROW_HBM, &how, clock_steady_ms() + left_ms, &measures);
            left_ms *= 4;
        } while (left_ms && left_ms < 60000 && !measures.is_ready[FIGURE_ROW_HBM]);
        assert_int_equal(measures.count, 1);
        assert_int_equal(measures.items[0].kind, cases[i].kind);
        assert_true(text_starts(measures.items[0].text, cases[i].text));
    }
    assert_int_equal(unlink(program), 0);
    free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_program_that_has_not_ended_is_killed),
        cmocka_unit_test(a_row_that_had_less_than_its_own_time_has_not_failed),
        cmocka_unit_test(a_layout_gives_the_groups_of_training),
        cmocka_unit_test(lists_of_ranks_are_read_and_written),
        cmocka_unit_test(a_group_knows_its_size_its_nodes_and_its_places),
        cmocka_unit_test(the_stricter_of_threshold_and_baseline_decides),
        cmocka_unit_test(lines_are_accepted_or_refused),
        cmocka_unit_test(all_lines_of_a_row_count),
        cmocka_unit_test(rows_of_pairs_pass_if_there_is_no_partner),
        cmocka_unit_test(a_slow_group_of_several_nodes_blames_no_node),
        cmocka_unit_test(a_baseline_can_be_stricter_or_replace_a_missing_threshold),
        cmocka_unit_test(groups_of_another_size_need_a_threshold_of_their_own),
        cmocka_unit_test(a_recorded_baseline_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
