/* Preflight in a run: what the report of a node means, and what the reports of all nodes mean
 * together. */
#include "tests/unit/unit.h"

#include "lib/text.h"
#include "worker/lead/fitness.h"
#include "worker/node/nodecheck_report.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static json_t *report_of(const char *output, int status)
{
    const struct nodecheck_end end = {.output = output, .size = strlen(output), .status = status};
    return nodecheck_report("quick", &end);
}

static const char *string_of(const json_t *report, const char *name)
{
    return json_string_value(json_object_get(report, name));
}

#define ROW(name, outcome, text)                                                                   \
    "{\"name\": \"" name "\", \"outcome\": \"" outcome "\", \"text\": \"" text "\"}"

#define NEEDLESS_ROW(name, outcome, text)                                                          \
    "{\"name\": \"" name "\", \"outcome\": \"" outcome                                             \
    "\", \"essential\": false, \"text\": \"" text "\"}"

static void the_reason_names_the_rows_that_did_not_pass(void **state)
{
    static const struct {
        const char *output, *outcome, *reason;
    } rows[] = {
        {"{\"outcome\": \"passed\", \"rows\": [" ROW("gpus", "passed", "8 work") "]}", "passed",
         ""},
        {"{\"outcome\": \"failed\", \"rows\": [" ROW("gpus", "failed", "7 work") ", " ROW(
             "model", "passed", "H200") ", " ROW("ecc", "failed", "GPU 2") "]}",
         "failed", "gpus: 7 work; ecc: GPU 2"},
        /* The first essential row that could not tell decides. The others follow from it. */
        {"{\"outcome\": \"could not tell\", \"rows\": [" ROW(
             "gpus", "could not tell", "no driver") ", " ROW("model", "could not tell",
                                                             "no GPU") "]}",
         "could not tell", "gpus: no driver"},
        {"{\"outcome\": \"could not tell\", \"rows\": [" NEEDLESS_ROW(
             "xids", "could not tell", "not permitted") ", " ROW("hbm", "could not tell",
                                                                 "no time is left") "]}",
         "could not tell", "hbm: no time is left"},
        {"{\"outcome\": \"failed\", \"rows\": [" NEEDLESS_ROW("ecc", "failed", "GPU 2") "]}",
         "failed", "ecc: GPU 2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *report = report_of(rows[i].output, 0);
        assert_string_equal(string_of(report, "level"), "quick");
        assert_string_equal(string_of(report, "outcome"), rows[i].outcome);
        assert_string_equal(string_of(report, "reason"), rows[i].reason);
        assert_true(json_array_size(json_object_get(report, "rows")) > 0);
        json_decref(report);
    }
}

static void a_preflight_without_a_report_could_not_tell(void **state)
{
    static const struct {
        struct nodecheck_end end;
        const char *reason;
    } rows[] = {
        {{.status = 2 << 8}, "phase-preflight ended with exit code 2 and without a report"},
        {{.status = SIGKILL}, "phase-preflight was killed by signal 9"},
        {{.is_late = true, .limit_s = 30}, "phase-preflight gave no answer within 30 s"},
        {{.failed = "could not start it"}, "could not start it"},
        {{.output = "{\"outcome\": \"failed\"", .size = 19},
         "phase-preflight ended with exit code 0 and without a report"},
        {{.output = "{\"outcome\": \"good\", \"rows\": []}", .size = 31},
         "phase-preflight ended with exit code 0 and without a report"},
        {{.output = "{\"outcome\": \"passed\"}", .size = 21},
         "phase-preflight ended with exit code 0 and without a report"},
        /* A program that is killed has not said everything. */
        {{.output = "{\"outcome\": \"passed\", \"rows\": []}", .size = 33, .is_late = true},
         "phase-preflight gave no answer within 0 s"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nodecheck_end end = rows[i].end;
        end.output = end.output ? end.output : "";
        json_t *report = nodecheck_report("quick", &end);
        assert_string_equal(string_of(report, "outcome"), "could not tell");
        assert_string_equal(string_of(report, "reason"), rows[i].reason);
        assert_int_equal(json_array_size(json_object_get(report, "rows")), 0);
        json_decref(report);
    }
}

static void a_long_reason_is_cut_between_letters(void **state)
{
    (void)state;
    struct text text = {0};
    text_add(&text,
             "{\"outcome\": \"failed\", \"rows\": [{\"name\": \"x\", \"outcome\": \"failed\","
             " \"text\": \"");
    for (int i = 0; i < 400; i++)
        text_add(&text, "\xc3\xa4");
    text_add(&text, "\"}]}");
    json_t *report = report_of(text_string(&text), 0);
    const char *reason = string_of(report, "reason");
    assert_true(strlen(reason) <= NODECHECK_REASON_MAX);
    assert_string_equal(reason + strlen(reason) - 2, "\xc3\xa4");
    json_decref(report);
    text_fini(&text);
}

static void only_leftover_processes_may_be_gone_later(void **state)
{
    static const struct {
        const char *outcome, *rows;
        bool may;
    } rows[] = {
        {"failed", ROW("memory", "failed", "x"), true},
        {"failed", ROW("memory", "failed", "x") ", " ROW("processes", "failed", "x"), true},
        {"failed", ROW("memory", "failed", "x") ", " ROW("ecc", "failed", "x"), false},
        {"failed", ROW("memory", "failed", "x") ", " ROW("ecc", "could not tell", "x"), true},
        {"could not tell", ROW("memory", "could not tell", "x"), false},
        {"passed", ROW("memory", "passed", "x"), false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *output =
            text_format("{\"outcome\": \"%s\", \"rows\": [%s]}", rows[i].outcome, rows[i].rows);
        json_t *report = report_of(output, 0);
        assert_int_equal(nodecheck_may_pass_later(report), rows[i].may);
        json_decref(report);
        free(output);
    }
}

static void a_type_of_slurm_means_a_model_only_if_nvidia_uses_the_name(void **state)
{
    static const struct {
        const char *type, *model; /* NULL: no model */
    } rows[] = {
        {"h100", "H100"}, {"H200", "H200"}, {"l40s", "L40S"}, {"gh200", "GH200"},
        {"a10", "A10"},   {"hopper", NULL}, {"h100l", NULL},  {"h100_80gb", NULL},
        {"rtx", NULL},    {"", NULL},       {"100", NULL},    {"rtx6000", NULL},
        {"gpu1", NULL},   {"h1", NULL},     {"h1000", NULL},  {"1g.10gb", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char model[NODECHECK_MODEL_SIZE];
        bool is_known = nodecheck_model(rows[i].type, model);
        assert_int_equal(is_known, rows[i].model != NULL);
        if (is_known)
            assert_string_equal(model, rows[i].model);
    }
}

static void an_unknown_verdict_means_could_not_tell(void **state)
{
    (void)state;
    assert_int_equal(fitness_parse("passed"), PREFLIGHT_PASSED);
    assert_int_equal(fitness_parse("failed"), PREFLIGHT_FAILED);
    assert_int_equal(fitness_parse("could not tell"), PREFLIGHT_UNKNOWN);
    assert_int_equal(fitness_parse("?"), PREFLIGHT_UNKNOWN);
    assert_int_equal(fitness_parse(NULL), PREFLIGHT_UNKNOWN);
}

/* Adds nodes n1, n2, ... with these verdicts, one letter each: p, f or u. */
static void fitness_fill(struct fitness *fitness, const char *verdicts)
{
    for (size_t i = 0; verdicts[i]; i++) {
        char *node = text_format("n%zu", i + 1);
        enum preflight_outcome verdict = verdicts[i] == 'p'   ? PREFLIGHT_PASSED
                                         : verdicts[i] == 'f' ? PREFLIGHT_FAILED
                                                              : PREFLIGHT_UNKNOWN;
        fitness_add(fitness, node, verdict, "x: y");
        free(node);
    }
}

static void failures_of_several_nodes_make_one_message(void **state)
{
    static const struct {
        const char *verdicts, *failure, *nodes;
    } rows[] = {
        {"pfu", "n2: x: y", "n2"},
        {"fpf", "2 nodes: n1: x: y; n3: x: y", "n1,n3"},
        {"fffff", "5 nodes: n1: x: y; n2: x: y; n3: x: y; ...", "n1,n2,n3,n4,n5"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fitness fitness = {0};
        char nodes[64];
        fitness_fill(&fitness, rows[i].verdicts);
        assert_int_equal(fitness.heard, strlen(rows[i].verdicts));
        char *failure = fitness_failure(&fitness);
        assert_string_equal(failure, rows[i].failure);
        fitness_blame(&fitness, nodes, sizeof nodes);
        assert_string_equal(nodes, rows[i].nodes);
        free(failure);
        fitness_fini(&fitness);
    }
}

static void a_run_has_at_most_one_note(void **state)
{
    static const struct {
        const char *verdicts, *note; /* NULL: no note */
    } rows[] = {
        {"pp", NULL},
        {"pu", "preflight could not tell whether n2 is fit: x: y"},
        {"uuuu",
         "preflight could not tell whether 4 nodes are fit: n1: x: y; n2: x: y; n3: x: y; ...; "
         "`preflight: off` leaves the preflight out"},
        {"fu", "n1 failed preflight, which is only observed: x: y"},
        {"ff", "2 nodes failed preflight, which is only observed: n1: x: y; n2: x: y"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fitness fitness = {0};
        fitness_fill(&fitness, rows[i].verdicts);
        char *note = fitness_note(&fitness);
        if (rows[i].note)
            assert_string_equal(note, rows[i].note);
        else
            assert_null(note);
        free(note);
        fitness_fini(&fitness);
    }
}

static void only_whole_names_are_blamed(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        const char *nodes;
    } rows[] = {{9, "n1,n2,n3"}, {8, "n1,n2"}, {7, "n1,n2"}, {6, "n1,n2"}, {5, "n1"}, {3, "n1"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fitness fitness = {0};
        char nodes[16];
        fitness_fill(&fitness, "fff");
        fitness_blame(&fitness, nodes, rows[i].size);
        assert_string_equal(nodes, rows[i].nodes);
        fitness_fini(&fitness);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reason_names_the_rows_that_did_not_pass),
        cmocka_unit_test(a_preflight_without_a_report_could_not_tell),
        cmocka_unit_test(a_long_reason_is_cut_between_letters),
        cmocka_unit_test(only_leftover_processes_may_be_gone_later),
        cmocka_unit_test(a_type_of_slurm_means_a_model_only_if_nvidia_uses_the_name),
        cmocka_unit_test(an_unknown_verdict_means_could_not_tell),
        cmocka_unit_test(failures_of_several_nodes_make_one_message),
        cmocka_unit_test(a_run_has_at_most_one_note),
        cmocka_unit_test(only_whole_names_are_blamed),
    };
    return cmocka_run_group_tests_name("nodecheck", tests, NULL, NULL);
}
