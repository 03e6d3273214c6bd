/* Where ranks stand in a layout, and which GPUs a group sees. */
#include "tests/unit/unit.h"

#include "lib/text.h"
#include "worker/node/groups.h"
#include "worker/protocol/assignment.h"

#include <stdlib.h>

static void ranks_are_numbered_as_megatron_does(void **state)
{
    (void)state;
    /* The example in Megatron-LM's parallel_state.py, 16 GPUs, tensor 2, pipeline 4: tensor groups
     * 0-1, 2-3, ...; data groups 0-2, 1-3, 4-6, ...; pipeline groups 0-4-8-12, 1-5-9-13, ... */
    static const struct {
        struct assignment_sizes sizes;
        unsigned rank;
        struct placement at; /* tensor, pipeline, data */
    } rows[] = {
        {{2, 4, 2}, 0, {0, 0, 0}},  {{2, 4, 2}, 1, {1, 0, 0}},  {{2, 4, 2}, 2, {0, 0, 1}},
        {{2, 4, 2}, 3, {1, 0, 1}},  {{2, 4, 2}, 4, {0, 1, 0}},  {{2, 4, 2}, 8, {0, 2, 0}},
        {{2, 4, 2}, 13, {1, 3, 0}}, {{2, 4, 2}, 15, {1, 3, 1}}, {{1, 1, 16}, 9, {0, 0, 9}},
        {{8, 1, 1}, 7, {7, 0, 0}},  {{1, 8, 1}, 7, {0, 7, 0}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct placement at = placement_of(&rows[i].sizes, rows[i].rank);
        assert_int_equal(at.tensor, rows[i].at.tensor);
        assert_int_equal(at.pipeline, rows[i].at.pipeline);
        assert_int_equal(at.data, rows[i].at.data);
    }
}

static void a_group_gets_its_part_of_the_list_unchanged(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        unsigned first, count;
        const char *part; /* NULL: there are not so many GPUs */
    } rows[] = {
        {"0,1,2,3", 0, 2, "0,1"},
        {"0,1,2,3", 2, 2, "2,3"},
        {"0,1,2,3", 0, 4, "0,1,2,3"},
        {"4,5,6,7", 2, 2, "6,7"},
        {"7,2", 1, 1, "2"},
        {"GPU-aa,GPU-bb,MIG-cc", 1, 2, "GPU-bb,MIG-cc"},
        {"0,1,2,3", 2, 4, NULL},
        {"0,1,2,3", 4, 1, NULL},
        {"0,1,", 2, 1, NULL},
        {"0", 0, 2, NULL},
        {"", 0, 1, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *part = placement_devices(rows[i].list, rows[i].first, rows[i].count);
        if (rows[i].part)
            assert_string_equal(part, rows[i].part);
        else
            assert_null(part);
        free(part);
    }
}

static void a_damaged_layout_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        int result;
        unsigned tensor;
    } rows[] = {
        {"{\"tensor\": 4, \"pipeline\": 1, \"data\": 2}", 0, 4},
        {"null", 0, 0},
        {"{\"tensor\": 4, \"pipeline\": 1}", -22, 99},
        {"{\"tensor\": 0, \"pipeline\": 1, \"data\": 2}", -22, 99},
        {"{\"tensor\": \"4\", \"pipeline\": 1, \"data\": 2}", -22, 99},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct assignment_sizes sizes = {.tensor = 99};
        json_t *json = json_loads(rows[i].json, JSON_DECODE_ANY, NULL);
        assert_int_equal(assignment_read_sizes(json, &sizes, NULL), rows[i].result);
        assert_int_equal(sizes.tensor, rows[i].tensor);
        json_decref(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_numbered_as_megatron_does),
        cmocka_unit_test(a_group_gets_its_part_of_the_list_unchanged),
        cmocka_unit_test(a_damaged_layout_is_refused),
    };
    return cmocka_run_group_tests_name("placement", tests, NULL, NULL);
}
