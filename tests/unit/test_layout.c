/* What a layout does with the requested GPUs, and how these follow a change of params. */
#include "tests/unit/unit.h"

#include "lib/spec/spec.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

static long long number(const json_t *json, const char *key)
{
    return json_integer_value(json_object_get(json, key));
}

/* Returns the problems of a phase with these lines and overrides, as printed. If there are no
 * problems, `ret_shape` gets its layout as "nodes x gpus: tensor pipeline data". */
static char *resolve(const char *lines, const char *const *sets, size_t count, char **ret_shape)
{
    struct spec_problems problems = {0};
    struct spec_overrides overrides = {.texts = sets, .count = count};
    struct text told = {0};
    json_t *json = NULL;
    char *data = text_format("name: t\nphases:\n  a:\n    run: x\n%s", lines);
    *ret_shape = NULL;
    if (spec_parse("F", data, strlen(data), &overrides, &json, &problems) == 0) {
        const json_t *phase = json_array_get(json_object_get(json, "phases"), 0);
        const json_t *resources = json_object_get(phase, "resources");
        const json_t *parallel = json_object_get(phase, "parallel");
        *ret_shape = text_format("%lld x %lld: %lld %lld %lld", number(resources, "nodes"),
                                 number(resources, "gpus"), number(parallel, "tensor"),
                                 number(parallel, "pipeline"), number(parallel, "data"));
    }
    spec_problems_text(&problems, &told);
    spec_problems_fini(&problems);
    json_decref(json);
    free(data);
    return text_steal(&told);
}

/* One node of `gpus`, with these params and this layout. */
#define PHASE(nodes, gpus, params, parallel)                                                       \
    "    resources: {nodes: " #nodes ", gpus: h100:" #gpus ", time: 1h}\n"                         \
    "    params: {" params "}\n    parallel: {" parallel "}\n"

static void gpus_follow_a_change_of_params(void **state)
{
    (void)state;
    static const struct {
        const char *phase, *sets[2], *shape;
    } rows[] = {
        {PHASE(1, 4, "tp: 4", "tensor: $tp"), {NULL}, "1 x 4: 4 1 1"},
        {PHASE(1, 4, "tp: 4", "tensor: $tp"), {"tp=8"}, "1 x 8: 8 1 1"},
        {PHASE(1, 4, "tp: 4", "tensor: $tp"), {"a.tp=8"}, "1 x 8: 8 1 1"},
        /* The last change counts, as that of a remedy counts more than --set. */
        {PHASE(1, 4, "tp: 4", "tensor: $tp"), {"tp=8", "tp=16"}, "1 x 16: 16 1 1"},
        /* A layout that fits the existing GPUs needs no others. */
        {PHASE(1, 8, "tp: 4", "tensor: $tp"), {NULL}, "1 x 8: 4 1 2"},
        {PHASE(1, 8, "tp: 4", "tensor: $tp"), {"tp=8"}, "1 x 8: 8 1 1"},
        {PHASE(1, 8, "tp: 4", "tensor: $tp"), {"tp=2"}, "1 x 8: 2 1 4"},
        /* A given `data` stays. A node holds a group, and more nodes hold the other groups. */
        {PHASE(1, 8, "tp: 4", "tensor: $tp, data: 2"), {"tp=8"}, "2 x 8: 8 1 2"},
        {PHASE(1, 8, "tp: 4", "tensor: $tp, data: 2"), {"tp=2"}, "1 x 4: 2 1 2"},
        {PHASE(2, 8, "tp: 8, pp: 2", "tensor: $tp, pipeline: $pp"), {"pp=4"}, "4 x 8: 8 4 1"},
        {PHASE(1, 8, "dp: 8", "data: $dp"), {"dp=16"}, "2 x 8: 1 1 16"},
        {PHASE(1, 4, "tp: 4, twice: =2 * tp", "tensor: $twice, data: 1"), {"tp=8"}, NULL},
        {PHASE(1, 8, "tp: 4, twice: =2 * tp", "tensor: $twice"), {"tp=8"}, "1 x 16: 16 1 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t count = 0;
        char *shape;
        while (count < 2 && rows[i].sets[count])
            count++;
        char *told = resolve(rows[i].phase, rows[i].sets, count, &shape);
        if (rows[i].shape && shape)
            assert_string_equal(shape, rows[i].shape);
        else if (rows[i].shape || shape)
            fail_msg("row %zu: %s%s", i, told, shape ? shape : "");
        free(shape);
        free(told);
    }
}

static void a_layout_that_does_not_fit_is_reported_with_the_arithmetic(void **state)
{
    (void)state;
    static const struct {
        const char *phase, *set, *told;
    } rows[] = {
        {PHASE(1, 8, "x: 1", "tensor: 4, data: 3"), "x=2",
         "tensor 4 x pipeline 1 x data 3 = 12 GPUs, but 1 node x 8 gpus = 8"},
        {PHASE(2, 8, "tp: 3", "tensor: $tp"), "tp=5",
         "tensor 5 x pipeline 1 = 5 GPUs a group, but 2 nodes x 8 gpus = 16, which is not a "
         "multiple "
         "of 5"},
        /* The file must be correct without overrides. */
        {PHASE(1, 4, "tp: 8", "tensor: $tp, data: 1"), "tp=16",
         "tensor 16 x pipeline 1 x data 1 = 16 GPUs, but 1 node x 4 gpus = 4"},
        /* 2 x 3 x 2 GPUs are not a whole number of nodes with 8. */
        {PHASE(1, 8, "dp: 4", "tensor: 2, data: $dp"), "dp=6",
         "tensor 2 x pipeline 1 x data 6 = 12 GPUs, but 1 node x 8 gpus = 8"},
        {PHASE(1, 8, "tp: 8", "tensor: $tp"), "tp=0", "less than 1"},
        {PHASE(1, 8, "tp: 8", "tensor: $tp"), "tp=200000", "more than 100000"},
        {PHASE(1, 8, "tp: 8", "tensor: $tp"), "tp=x", "must be a whole number"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *shape, *told = resolve(rows[i].phase, &rows[i].set, 1, &shape);
        if (shape || !strstr(told, rows[i].told))
            fail_msg("row %zu: %s, not: %s", i, shape ? shape : told, rows[i].told);
        free(told);
    }
}

static void a_tensor_group_across_nodes_gives_a_warning(void **state)
{
    (void)state;
    char *shape, *told = resolve(PHASE(2, 8, "x: 1", "tensor: 16"), NULL, 0, &shape);
    assert_string_equal(shape, "2 x 8: 16 1 1");
    assert_non_null(strstr(told, "some tensor groups cross nodes"));
    free(shape);
    free(told);
    told = resolve(PHASE(2, 8, "x: 1", "tensor: 8, pipeline: 2"), NULL, 0, &shape);
    assert_string_equal(shape, "2 x 8: 8 2 1");
    assert_null(strstr(told, "cross"));
    free(shape);
    free(told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_follow_a_change_of_params),
        cmocka_unit_test(a_layout_that_does_not_fit_is_reported_with_the_arithmetic),
        cmocka_unit_test(a_tensor_group_across_nodes_gives_a_warning),
    };
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
