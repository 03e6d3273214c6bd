/* What a program prints, compared with the params that remedies have changed. */
#include "tests/unit/unit.h"

#include "lib/metrics/extract.h"
#include "lib/text.h"
#include "worker/metrics/proof.h"

#include <stdlib.h>
#include <string.h>

static struct proof *proof_of(const char *json, json_t **ret_json)
{
    *ret_json = json_loads(json, 0, NULL);
    assert_non_null(*ret_json);
    return proof_new(json_object_get(*ret_json, "changed"), json_object_get(*ret_json, "params"));
}

#define NOT_SHOWN(name, value)                                                                     \
    "a remedy set " name " to " value ", but nothing in the run's output shows " name              \
    " (the program could print " name "=" value ")"
#define REPORTS(name, value, other) "a remedy set " name " to " value ", but the run reports " other

static void printed_values_prove_or_contradict_params(void **state)
{
    (void)state;
    static const struct {
        const char *printed, *doubts;
    } rows[] = {
        {"config: MICRO_BATCH=16 lr=0.0005\n", NULL},
        {"Namespace(micro_batch=16, lr=0.0005)\nstep 1 | loss: 3\n", NULL},
        {"{'micro-batch': 16, 'lr': 0.0005}\n", NULL},
        {"micro_batch: 16\nlr: 5e-4", NULL}, /* without a line end */
        {"micro_batch: 32\nmicro_batch: 16\nlr: 0.0005\n", NULL},
        {"lr: 0.0005\n", NOT_SHOWN("MICRO_BATCH", "16")},
        {"total_micro_batch: 16\nlr: 0.0005\n", NOT_SHOWN("MICRO_BATCH", "16")},
        {"micro_batch: 32\nlr: 0.0005\n", REPORTS("MICRO_BATCH", "16", "32")},
        {"micro_batch: 32\nlr: 0.0005\nmicro_batch: 32\n", REPORTS("MICRO_BATCH", "16", "32")},
        {"micro_batch: 16\nstep: 1 lr: 0\nstep: 2 lr: 0.0001\nstep: 3 lr: 0.0002\n", NULL},
        {"", NOT_SHOWN("MICRO_BATCH", "16") "; " NOT_SHOWN("lr", "0.0005")},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *json;
        struct proof *proof =
            proof_of("{\"changed\": [\"MICRO_BATCH\", \"lr\", \"optimizer\", \"gone\"], \"params\":"
                     " {\"MICRO_BATCH\": 16, \"lr\": 5e-4, \"optimizer\": \"sgd\", \"steps\": 9}}",
                     &json);
        proof_feed(proof, rows[i].printed, strlen(rows[i].printed));
        char *doubts = proof_doubts(proof);
        if (rows[i].doubts)
            assert_string_equal(doubts, rows[i].doubts);
        else
            assert_null(doubts);
        free(doubts);
        proof_free(proof);
        json_decref(json);
    }
}

static void many_names_hide_no_param(void **state)
{
    (void)state;
    json_t *json;
    struct text printed = {0};
    for (int i = 0; i < 1500; i++)
        text_addf(&printed, "layer%d_weight: 7\n", i);
    text_add(&printed, "micro_batch: 16\n");
    struct proof *proof =
        proof_of("{\"changed\": [\"MICRO_BATCH\"], \"params\": {\"MICRO_BATCH\": 16}}", &json);
    proof_feed(proof, text_string(&printed), printed.size);
    assert_null(proof_doubts(proof));
    proof_free(proof);
    json_decref(json);
    text_fini(&printed);
}

static void values_from_a_file_or_a_script_count_too(void **state)
{
    (void)state;
    const struct extract_value value = {"batch", 8};
    const struct extract_row row = {.values = &value, .count = 1};
    json_t *json;
    struct proof *proof = proof_of("{\"changed\": [\"batch\"], \"params\": {\"batch\": 8}}", &json);
    proof_add(proof, &row);
    assert_null(proof_doubts(proof));
    proof_free(proof);
    json_decref(json);
}

static void nothing_is_proved_without_changed_numbers(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "{\"params\": {\"batch\": 8}}",
        "{\"changed\": [], \"params\": {\"batch\": 8}}",
        "{\"changed\": [\"optimizer\"], \"params\": {\"optimizer\": \"sgd\"}}",
        "{\"changed\": [\"batch\"]}",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *json;
        assert_null(proof_of(rows[i], &json));
        json_decref(json);
    }
    proof_feed(NULL, "batch: 8\n", 9);
    assert_null(proof_doubts(NULL));
    proof_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printed_values_prove_or_contradict_params),
        cmocka_unit_test(many_names_hide_no_param),
        cmocka_unit_test(values_from_a_file_or_a_script_count_too),
        cmocka_unit_test(nothing_is_proved_without_changed_numbers),
    };
    return cmocka_run_group_tests_name("proof", tests, NULL, NULL);
}
