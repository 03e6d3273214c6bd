/* Remedies in the record: what was changed, and what the phase is after that. */
#include "tests/unit/record.h"
#include "tests/unit/unit.h"

#include "daemon/store/answers.h"
#include "daemon/store/store_private.h"
#include "lib/error.h"

#include <errno.h>
#include <stdlib.h>

static void the_source_of_a_workflow_has_all_changes_in_order(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    struct store_source source;
    record_open(&record);
    struct workflow *workflow = record_workflow(7);
    record_insert(&record, workflow);
    struct run *run = record_add_run(&record, &workflow->phases[1], 31, 41);
    record_add_remedy(&record, run->id);
    run = record_add_run(&record, &workflow->phases[0], 32, 42);
    record_add_remedy(&record, run->id);
    assert_int_equal(store_source_load(record.store, 7, &source, &err), 0);
    char *changes = json_dumps(source.changes, JSON_COMPACT);
    assert_string_equal(changes,
                        "[{\"phase\":\"train\",\"param\":\"micro_batch\",\"value\":16},"
                        "{\"phase\":\"validate\",\"param\":\"micro_batch\",\"value\":16}]");
    assert_non_null(source.spec);
    free(changes);
    store_source_fini(&source);
    assert_int_equal(store_source_load(record.store, 8, &source, &err), -ENOENT);
    workflow_free(workflow);
    record_close(&record);
}

/* All later resolutions of the workflow apply the changes in this order. */
static void changes_keep_their_order_when_the_clock_is_set_back(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    struct store_source source;
    record_open(&record);
    struct workflow *workflow = record_workflow(7);
    record_insert(&record, workflow);
    for (unsigned i = 0; i < 2; i++)
        (void)record_add_run(&record, &workflow->phases[i], 31 + i, 41 + i);
    record_add_remedy(&record, 31);
    json_t *chosen = json_pack("[{s:s, s:i, s:i}]", "param", "micro_batch", "from", 16, "to", 8);
    json_t *halved = json_pack("[{s:s, s:i, s:i}]", "param", "micro_batch", "from", 8, "to", 4);
    const struct store_remedy remedy = {.run = 32,
                                        .cause = "oom",
                                        .resume = "checkpoint",
                                        .number = 1,
                                        .times = 2,
                                        .changes = halved};
    record_begin(&record);
    assert_int_equal(store_choice_add(record.store, workflow->phases[0].id, chosen, 2000, &err), 0);
    assert_int_equal(store_remedy_add(record.store, &remedy, 1000, &err), 0);
    record_commit(&record);
    assert_int_equal(store_source_load(record.store, 7, &source, &err), 0);
    char *changes = json_dumps(source.changes, JSON_COMPACT);
    assert_string_equal(changes, "[{\"phase\":\"validate\",\"param\":\"micro_batch\",\"value\":16},"
                                 "{\"phase\":\"validate\",\"param\":\"micro_batch\",\"value\":8},"
                                 "{\"phase\":\"train\",\"param\":\"micro_batch\",\"value\":4}]");
    free(changes);
    json_decref(chosen);
    json_decref(halved);
    store_source_fini(&source);
    workflow_free(workflow);
    record_close(&record);
}

static void a_phase_with_other_params_is_written_again(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    record_open(&record);
    struct workflow *workflow = record_workflow(7);
    record_insert(&record, workflow);
    struct phase *phase = &workflow->phases[0];
    struct phase revised = *phase;
    revised.gpus_per_node = 16;
    revised.gpu_type = "h200";
    revised.time_s = 60;
    phase_adopt(phase, &revised);
    json_t *resolved = json_pack("{s:{s:f}, s:[{s:s, s:{s:i}}]}", "price", "per_gpu_hour", 3.5,
                                 "phases", "name", "validate", "progress", "total", 5000);
    record_begin(&record);
    assert_int_equal(store_phase_revise(record.store, phase, resolved, &err), 0);
    assert_int_equal(store_phase_revise(record.store, &workflow->phases[1], resolved, &err),
                     -EINVAL); /* it is not in the record */
    record_commit(&record);
    record_assert(&record,
                  "SELECT gpus_per_node || ' ' || gpu_type || ' ' || time_s || ' ' || total || ' ' "
                  "|| usd_per_gpu_hour || ' ' || spec FROM phase WHERE name = 'validate'",
                  "16 h200 60 5000.0 3.5 {\"name\":\"validate\",\"progress\":{\"total\":5000}}");
    json_decref(resolved);
    workflow_free(workflow);
    record_close(&record);
}

static void a_run_names_the_remedy_that_answered_its_failure(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    json_t *run = NULL;
    record_open(&record);
    struct workflow *workflow = record_workflow(7);
    record_insert(&record, workflow);
    (void)record_add_run(&record, &workflow->phases[0], 31, 41);
    record_add_remedy(&record, 31);
    assert_int_equal(answer_run(record.store, 7, "validate", 1, &run, &err), 0);
    char *remedy = json_dumps(json_object_get(run, "remedy"), JSON_COMPACT);
    assert_string_equal(remedy, "{\"cause\":\"oom\",\"number\":1,\"times\":2,\"resume\":"
                                "\"checkpoint\",\"changes\":[{\"param\":\"micro_batch\",\"from\":"
                                "32,\"to\":16}]}");
    free(remedy);
    json_decref(run);
    workflow_free(workflow);
    record_close(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_source_of_a_workflow_has_all_changes_in_order),
        cmocka_unit_test(changes_keep_their_order_when_the_clock_is_set_back),
        cmocka_unit_test(a_phase_with_other_params_is_written_again),
        cmocka_unit_test(a_run_names_the_remedy_that_answered_its_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
