/* How a run ended whose lead could not tell it: the journals say so. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/protocol/outcome.h"
#include "lib/text.h"
#include "worker/protocol/phase_claim.h"
#include "worker/protocol/posthumous.h"

#include <stdlib.h>

static const char begun[] = "{\"seq\": 1, \"time\": 100.5, \"type\": \"started\", \"job_id\": 4711,"
                            " \"restarts\": 2, \"nodes\": [\"n1\", \"n2\"], \"end_time\": null}\n";

static void a_killed_run_ends_as_its_journals_say(void **state)
{
    static const struct {
        const char *stopping; /* the lead was about to stop the run, or NULL */
        enum run_outcome kind;
        enum run_cause cause;
        bool requeues;
    } rows[] = {
        {NULL, OUTCOME_PREEMPTED, CAUSE_NONE, true},
        {"preempted", OUTCOME_PREEMPTED, CAUSE_NONE, true},
        {"timed_out", OUTCOME_TIMED_OUT, CAUSE_NONE, false}, /* without a checkpoint */
        {"cancelled", OUTCOME_CANCELLED, CAUSE_NONE, false},
        {"held", OUTCOME_CANCELLED, CAUSE_NONE, false},
        {"nan", OUTCOME_FAILED, CAUSE_NAN, false},
        {"guard", OUTCOME_FAILED, CAUSE_GUARD, false},
        {"hang", OUTCOME_FAILED, CAUSE_HANG, false},
        {"exit", OUTCOME_FAILED, CAUSE_EXIT, false},
        {"launch", OUTCOME_FAILED, CAUSE_LAUNCH, false},
    };
    (void)state;
    folder_put("{\"seq\": 1, \"time\": 101.5, \"type\": \"ranks\", \"ranks\": []}\n"
               "{\"seq\": 2, \"time\": 102.5, \"type\": \"metric\", \"step\": 8, \"values\": {}}\n"
               "{\"seq\": 3, \"time\": 102.5, \"type\": \"metric\", \"step\": 9, \"values\": {},"
               " \"stepless\": true}\n"
               "{\"seq\": 4, \"time\": 103.5, \"type\": \"met",
               "1/journal/n1.jsonl");
    char *run_dir = text_format("%s/1", folder);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct outcome outcome;
        char *stopping =
            text_format("{\"seq\": 2, \"time\": 102.5, \"type\": \"stopping\", \"why\": \"%s\","
                        " \"message\": \"because\"}\n",
                        rows[i].stopping);
        char *journal = text_format("%s%s", begun, rows[i].stopping ? stopping : "");
        folder_put(journal, "1/journal/lead.jsonl");
        outcome_init(&outcome, 11);
        assert_int_equal(posthumous_read(run_dir, NULL, 2, &outcome), POSTHUMOUS_KILLED);
        assert_int_equal(outcome.kind, rows[i].kind);
        assert_int_equal(outcome.cause, rows[i].cause);
        assert_int_equal(outcome.requeues, rows[i].requeues);
        assert_string_equal(outcome.message, rows[i].stopping ? "because" : "killed with its job");
        assert_true(outcome.restarts == 2 && outcome.job_id == 4711 && outcome.run == 11);
        assert_true(outcome.last_step == 8);
        assert_true(outcome.started > 101 && outcome.started < 102);
        assert_true(outcome.ended > 102 && outcome.ended < 103);
        /* The other node has reported nothing. */
        assert_int_equal(json_object_size(outcome.finals), 1);
        assert_int_equal(json_integer_value(json_object_get(outcome.finals, "n1")), 3);
        outcome_fini(&outcome);
        free(journal);
        free(stopping);
    }
    free(run_dir);
}

/* After the time limit, the run goes on only from a checkpoint that is good. */
static void a_run_that_timed_out_goes_on_from_a_good_checkpoint(void **state)
{
    static const struct {
        const char *mark;
        bool requeues;
    } rows[] = {{"", true}, {", \"suspect\": true", false}, {", \"unseen\": true", false}};
    (void)state;
    char *run_dir = text_format("%s/1", folder);
    char *lead = text_format("%s{\"seq\": 2, \"time\": 102.5, \"type\": \"stopping\","
                             " \"why\": \"timed_out\", \"message\": \"\"}\n",
                             begun);
    folder_put(lead, "1/journal/lead.jsonl");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct outcome outcome;
        char *journal = text_format("{\"seq\": 1, \"time\": 101.5, \"type\": \"checkpoint\","
                                    " \"path\": \"/out/5\", \"step\": 5, \"bytes\": 8%s}\n",
                                    rows[i].mark);
        folder_put(journal, "1/journal/n1.jsonl");
        outcome_init(&outcome, 11);
        assert_int_equal(posthumous_read(run_dir, NULL, 2, &outcome), POSTHUMOUS_KILLED);
        assert_int_equal(outcome.kind, OUTCOME_TIMED_OUT);
        assert_int_equal(outcome.requeues, rows[i].requeues);
        outcome_fini(&outcome);
        free(journal);
    }
    free(lead);
    free(run_dir);
}

/* Both nodes had finished; or one of them was cut off; or NaN came last. */
static void a_run_whose_nodes_all_finished_has_succeeded(void **state)
{
    static const struct {
        const char *n1, *n2, *type; /* the last of their earlier entries */
        enum run_outcome kind;
    } rows[] = {
        {"true", "true", "metric", OUTCOME_SUCCEEDED},
        {"true", "false", "metric", OUTCOME_PREEMPTED},
        {"true", NULL, "metric", OUTCOME_PREEMPTED}, /* its journal has no last entry */
        {"true", "true", "suspect", OUTCOME_PREEMPTED},
    };
    (void)state;
    char *run_dir = text_format("%s/1", folder);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *const done[] = {rows[i].n1, rows[i].n2};
        for (int node = 0; node < 2; node++) {
            char *journal = text_format(
                "{\"seq\": 1, \"time\": 102.5, \"type\": \"%s\", \"step\": 8, \"values\": {}}\n"
                "{\"seq\": 2, \"time\": 103.5, \"type\": \"%s\", \"ranks\": [], \"done\": %s}\n",
                rows[i].type, done[node] ? "exited" : "gpus", done[node] ? done[node] : "null");
            folder_put(journal, "1/journal/n%d.jsonl", node + 1);
            free(journal);
        }
        folder_put(begun, "1/journal/lead.jsonl");
        struct outcome outcome;
        outcome_init(&outcome, 11);
        assert_int_equal(posthumous_read(run_dir, NULL, 2, &outcome), POSTHUMOUS_KILLED);
        assert_int_equal(outcome.kind, rows[i].kind);
        assert_int_equal(outcome.requeues, rows[i].kind == OUTCOME_PREEMPTED);
        outcome_fini(&outcome);
    }
    free(run_dir);
}

/* A crash took the lead's journal. The claim shows that the run was begun. Nobody knows that both
 * nodes have told their end, unless both have a journal. */
static void a_run_that_was_claimed_is_not_begun_again(void **state)
{
    static const char *const lost[] = {"", "{\"seq\": 1, \"time\": 100.5, \"type\": \"star"};
    static const char done[] = "{\"seq\": 1, \"time\": 101.5, \"type\": \"ranks\", \"ranks\": []}\n"
                               "{\"seq\": 2, \"time\": 103.5, \"type\": \"exited\","
                               " \"ranks\": [], \"done\": true}\n";
    (void)state;
    char *run_dir = text_format("%s/1", folder);
    folder_put(done, "1/journal/n1.jsonl");
    for (int i = 0; i < 4; i++) {
        const struct phase_life life = {.job_id = 4711, .restarts = 2};
        struct outcome outcome;
        folder_put(lost[i % 2], "1/journal/lead.jsonl");
        if (i == 2)
            folder_put(done, "1/journal/n2.example.org.jsonl");
        outcome_init(&outcome, 11);
        assert_int_equal(posthumous_read(run_dir, &life, 2, &outcome), POSTHUMOUS_KILLED);
        assert_int_equal(outcome.kind, i < 2 ? OUTCOME_PREEMPTED : OUTCOME_SUCCEEDED);
        assert_true(outcome.restarts == 2 && outcome.job_id == 4711);
        assert_int_equal(json_object_size(outcome.finals), i < 2 ? 1 : 2);
        outcome_fini(&outcome);
    }
    free(run_dir);
}

static void the_end_of_a_run_of_another_job_is_ignored(void **state)
{
    static const char *const tokens[] = {"aaaa", "bbbb"};
    (void)state;
    char *run_dir = text_format("%s/1", folder);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        struct outcome outcome;
        outcome_init(&outcome, 11);
        (void)snprintf(outcome.token, sizeof outcome.token, "%s", tokens[i]);
        json_t *end = outcome_to_json(&outcome);
        json_object_set_new(end, "type", json_string("ended"));
        char *text = json_dumps(end, 0), *journal = text_format("%s%s\n", begun, text);
        folder_put(journal, "1/journal/lead.jsonl");
        (void)snprintf(outcome.token, sizeof outcome.token, "%s", tokens[0]);
        assert_int_equal(posthumous_read(run_dir, NULL, 2, &outcome),
                         i == 0 ? POSTHUMOUS_TOLD : POSTHUMOUS_KILLED);
        outcome_fini(&outcome);
        json_decref(end);
        free(journal);
        free(text);
    }
    free(run_dir);
}

static void a_run_that_no_lead_began_is_not_over(void **state)
{
    struct outcome outcome;
    (void)state;
    folder_put("{}", "1/run.json");
    char *run_dir = text_format("%s/1", folder);
    outcome_init(&outcome, 11);
    assert_int_equal(posthumous_read(run_dir, NULL, 2, &outcome), POSTHUMOUS_NOT_BEGUN);
    outcome_fini(&outcome);
    free(run_dir);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(a_killed_run_ends_as_its_journals_say),
        TEST(a_run_that_timed_out_goes_on_from_a_good_checkpoint),
        TEST(a_run_whose_nodes_all_finished_has_succeeded),
        TEST(a_run_that_was_claimed_is_not_begun_again),
        TEST(the_end_of_a_run_of_another_job_is_ignored),
        TEST(a_run_that_no_lead_began_is_not_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
