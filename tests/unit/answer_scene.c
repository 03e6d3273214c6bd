/* A workflow that has run for a while, with metrics, and how its answers are compared. */
#include "tests/unit/answer_scene.h"

#include "lib/memory.h"
#include "tests/unit/same_lines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void assert_json(json_t *json, const char *expected_text)
{
    char *text = xstrdup(expected_text);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_error_t error;
    json_t *expected = json_loads(text, JSON_DECODE_ANY, &error);
    if (!expected)
        fail_msg("%s: %s", error.text, text);
    char *left = json_dumps(json, JSON_INDENT(1) | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    char *right = json_dumps(expected, JSON_INDENT(1) | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    assert_same_lines("the answer", left, right);
    json_decref(expected);
    json_decref(json);
    free(left);
    free(right);
    free(text);
}

struct workflow *answer_scene(struct record *record)
{
    struct workflow *workflow = record_workflow(7);
    record_insert(record, workflow);
    struct phase *phase = &workflow->phases[0];
    struct run *run = record_add_run(record, phase, 11, 21);
    run->state = RUN_ENDED;
    run->outcome = OUTCOME_PREEMPTED;
    run->seat->allocation->ended = true;
    run->seat->allocation->slurm_id = 4711;
    run->seat->allocation->state = CLUSTER_JOB_PREEMPTED;
    run->submitted_ms = 1790000000000;
    run->started_ms = 1790000010000;
    run->ended_ms = 1790000046000;
    run->last_step = 130;
    record_save_run(record, run);
    run = record_add_run(record, phase, 12, 22);
    run->state = RUN_RUNNING;
    run->has_begun = true;
    run->seat->allocation->slurm_id = 4712;
    run->seat->allocation->state = CLUSTER_JOB_RUNNING;
    (void)snprintf(run->seat->allocation->nodes, sizeof run->seat->allocation->nodes, "n[1-2]");
    run->submitted_ms = 1790000050000;
    run->started_ms = 1790000064000;
    run->resume_path = xstrdup("/out/step_100.ckpt");
    run->resume_step = 100;
    run->last_step = 190;
    phase->state = PHASE_ACTIVE;
    phase->checkpoint_path = xstrdup("/out/step_100.ckpt");
    phase->checkpoint_step = 100;
    record_save_run(record, run);
    record_begin(record);
    static const struct {
        uint64_t run;
        int64_t step;
        const char *name;
        double value;
    } rows[] = {{11, 129, "loss", 9},   {12, 101, "loss", 5},         {12, 102, "loss", 4.5},
                {12, 102, "dt", NAN},   {12, 103, "loss", -INFINITY}, {12, 104, "dt", 7},
                {12, 100, "dt", 0.125}, {12, 104, "loss", 4.25}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(store_metric_add(record->store, rows[i].run, rows[i].step, rows[i].name,
                                          rows[i].value, 1790000070000 + 250 * (int64_t)i, NULL),
                         0);
    const struct store_pace pace = {.step = 190, .steps = 90, .seconds = 36, .time_ms = 1};
    assert_int_equal(store_pace_put(record->store, 12, "n1", &pace, NULL), 0);
    record_commit(record);
    return workflow;
}
