/* Which process does something else than the others: what a node counts, and what the lead
 * concludes from the counts of all nodes. */
#include "tests/unit/unit.h"

#include "lib/text.h"
#include "worker/health/outlier.h"

#include <stdlib.h>

static json_t *parse(const char *text)
{
    json_error_t where;
    json_t *json = json_loads(text, 0, &where);
    if (!json)
        fail_msg("%s: %s", text, where.text);
    return json;
}

static void launchers_and_data_loaders_are_not_compared(void **state)
{
    (void)state;
    json_t *evidence = parse(
        "{\"processes\": ["
        "{\"pid\": 1, \"name\": \"torchrun\", \"threads\": 4, \"does\": \"sleeps\", \"rank\": 0},"
        "{\"pid\": 2, \"name\": \"python3\", \"threads\": 40, \"does\": \"spins\", \"rank\": 0},"
        "{\"pid\": 3, \"name\": \"python3\", \"threads\": 60, \"does\": \"spins\", \"rank\": 1},"
        "{\"pid\": 4, \"name\": \"python3\", \"threads\": 30, \"does\": \"sleeps\"},"
        "{\"pid\": 5, \"name\": \"loader\", \"threads\": 2, \"does\": \"stuck\", \"rank\": 1}]}");
    json_t *counts = outlier_count(evidence);
    json_t *expected = parse("{\"spins\": {\"count\": 2, \"who\": \"python3 of rank 0 (pid 2)\","
                             " \"pid\": 2, \"rank\": 0}, \"sleeps\": {\"count\": 1,"
                             " \"who\": \"python3 (pid 4)\", \"pid\": 4}}");
    assert_true(json_equal(counts, expected));
    json_decref(evidence);
    json_decref(counts);
    json_decref(expected);
    counts = outlier_count(NULL);
    assert_int_equal(json_object_size(counts), 0);
    json_decref(counts);
}

#define SLEEP(count, who) "\"sleeps\": {\"count\": " #count ", \"who\": \"" who "\"}"
#define SPIN(count, who)  "\"spins\": {\"count\": " #count ", \"who\": \"" who "\"}"
#define STUCK(count, who) "\"stuck\": {\"count\": " #count ", \"who\": \"" who "\"}"

static void the_outlier_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *n1, *n2; /* NULL: no answer */
        const char *found;   /* NULL: no outlier */
    } rows[] = {
        {"{" SPIN(8, "a") "}", "{" SPIN(7, "b") ", " SLEEP(1, "p of rank 12 (pid 4)") "}",
         "unlike 15 others, p of rank 12 (pid 4) on n2 sleeps"},
        {"{" SLEEP(8, "a") "}", "{" SLEEP(7, "b") ", " SPIN(1, "c") "}",
         "unlike 15 others, c on n2 spins"},
        {"{" SPIN(7, "a") ", " STUCK(1, "d") "}", "{" SPIN(8, "b") "}",
         "unlike 15 others, d on n1 waits uninterruptibly"},
        {"{" SPIN(6, "a") ", " SLEEP(2, "e") "}", "{" SPIN(6, "b") ", " SLEEP(2, "f") "}",
         "unlike 12 others, e on n1 and 3 more sleep"},
        {"{" SPIN(2, "a") "}", "{" SLEEP(1, "g") "}", "unlike 2 others, g on n2 sleeps"},
        {"{" SPIN(8, "a") "}", "{" SPIN(8, "b") "}", NULL},
        {"{" SPIN(8, "a") "}", "{" SLEEP(8, "b") "}", NULL},
        {"{" SPIN(1, "a") "}", "{" SLEEP(1, "b") "}", NULL},
        {"{" SPIN(1, "a") ", " STUCK(1, "b") "}", "{" SLEEP(1, "c") "}", NULL},
        {"{" SPIN(1, "a") "}", NULL, NULL},
        {"{}", "{}", NULL},
        {NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *one = rows[i].n1 ? parse(rows[i].n1) : NULL;
        json_t *other = rows[i].n2 ? parse(rows[i].n2) : NULL;
        const struct outlier_node nodes[] = {{"n1", one}, {"n2", other}};
        struct outlier_process process;
        char *found = outlier_find(nodes, 2, &process);
        assert_int_equal(process.pid, 0); /* the counts do not say it */
        assert_int_equal(process.rank, -1);
        if (rows[i].found)
            assert_string_equal(found, rows[i].found);
        else
            assert_null(found);
        free(found);
        json_decref(one);
        json_decref(other);
    }
    struct outlier_process process = {.pid = 5};
    assert_null(outlier_find(NULL, 0, &process));
    assert_int_equal(process.pid, 0);
}

static void the_pid_and_the_rank_of_the_outlier_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *n2;
        int pid, rank;
    } rows[] = {
        {"{\"sleeps\": {\"count\": 1, \"who\": \"p\", \"pid\": 4, \"rank\": 12}}", 4, 12},
        {"{\"sleeps\": {\"count\": 1, \"who\": \"p\", \"pid\": 4}}", 4, -1},
        {"{\"spins\": {\"count\": 1, \"who\": \"p\", \"pid\": 4, \"rank\": 12}}", 0, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *one = parse("{\"spins\": {\"count\": 8, \"who\": \"a\", \"pid\": 7}}");
        json_t *other = parse(rows[i].n2);
        const struct outlier_node nodes[] = {{"n1", one}, {"n2", other}};
        struct outlier_process process;
        free(outlier_find(nodes, 2, &process));
        assert_int_equal(process.pid, rows[i].pid);
        assert_int_equal(process.rank, rows[i].rank);
        json_decref(one);
        json_decref(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launchers_and_data_loaders_are_not_compared),
        cmocka_unit_test(the_outlier_is_named),
        cmocka_unit_test(the_pid_and_the_rank_of_the_outlier_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
