/* Which processes NCCL's RAS names, in texts after the format of NCCL 2.24 to 2.28, and what is
 * said about the outlier. */
#include "tests/unit/unit.h"

#include "lib/text.h"
#include "worker/health/ras.h"
#include "worker/health/ras_status.h"

#include <stdlib.h>
#include <string.h>

/* What NCCL prints first, about two communicators of 8 ranks and four of 2. */
#define HEAD                                                                                       \
    "NCCL version 2.28.9 compiled with CUDA 13.0\n"                                                \
    "CUDA runtime version 13000, driver version 13000\n\n"                                         \
    "Job summary\n===========\n\n"                                                                 \
    "  Nodes  Processes         GPUs  Processes     GPUs\n"                                        \
    "(total)   per node  per process    (total)  (total)\n"                                        \
    "      2          4            1          8        8\n\n"                                      \
    "Communicators... (0.001s)\n=============\n\n"                                                 \
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"                  \
    "    #  in group  per comm  per node  per comm  in group\n"                                    \
    "    0         2         2         4         8         8   RUNNING      OK\n"                  \
    "    1         4         1       1-2         2         8   RUNNING  INCOMPLETE\n\n"            \
    "Errors\n======\n\n"
#define WARNINGS "Warnings\n========\n\n"
#define EIGHT    "#0-0 (cf264af53edbe986) "
#define TWO      "#1-3 (27a079b828ff1a75) "
#define COUNTS   "  Communicator ranks have different AllReduce operation counts\n"
#define GATHERS  "  Communicator ranks have different AllGather operation counts\n"
#define STATES   "  Communicator ranks have different status\n"
#define BY(pid)  "GPU 3 managed by process " #pid " on node 10.0.0.2\n"
#define BY_40    BY(40)
#define BY_41    BY(41)
#define BY_42    BY(42)
#define BY_43    BY(43)
#define BY_44    BY(44)
#define BY_45    BY(45)
#define BY_46    BY(46)
#define BY_47    BY(47)
#define NOBODY   "{\"count\": 0, \"pids\": []}"
#define RANK_3   "{\"count\": 1, \"pids\": [43], \"who\": \"rank 3 of 8 (pid 43 on 10.0.0.2)\"}"

static void check(const char *what, const char *text, const char *expected)
{
    json_t *found = ras_status_read(text);
    char *dump = found ? json_dumps(found, JSON_SORT_KEYS) : NULL;
    print_message("# %s\n", what);
    if (expected)
        assert_string_equal(dump ? dump : "nothing", expected);
    else
        assert_null(dump);
    free(dump);
    json_decref(found);
}

struct row {
    const char *what, *text, *expected; /* NULL: it says nothing */
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(rows[i].what, rows[i].text, rows[i].expected);
}

static void ranks_with_fewer_operations_are_behind(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"all ranks are equal", HEAD WARNINGS, NOBODY},
        {"one is behind",
         HEAD WARNINGS EIGHT "MISMATCH\n" COUNTS "  7 ranks have launched up to operation 100\n"
                             "  Rank 3 has launched up to operation 99 -- " BY_43 "\n",
         RANK_3},
        {"one has launched nothing",
         HEAD WARNINGS EIGHT "MISMATCH\n" COUNTS "  7 ranks have launched up to operation 1\n"
                             "  Rank 3 has not launched any operations -- " BY_43 "\n",
         RANK_3},
        {"NCCL 2.24 has one count for all kinds of operations",
         HEAD WARNINGS EIGHT "MISMATCH\n"
                             "  Communicator ranks have different collective operation counts\n"
                             "  7 ranks have launched up to operation 100\n"
                             "  Rank 3 has launched up to operation 99 -- " BY_43 "\n",
         RANK_3},
        {"one is ahead, and the others are too many for RAS to name",
         HEAD WARNINGS EIGHT "MISMATCH\n" COUNTS "  7 ranks have launched up to operation 99\n"
                             "  Rank 3 has launched up to operation 100 -- " BY_43 "\n",
         NOBODY},
        {"three are behind, but one of them is more behind",
         HEAD WARNINGS EIGHT "MISMATCH\n" COUNTS "  5 ranks have launched up to operation 100\n"
                             "  2 ranks have launched up to operation 99\n"
                             "  Rank 1 -- " BY_41 "  Rank 2 -- " BY_42
                             "  Rank 3 has launched up to operation 7 -- " BY_43 "\n",
         RANK_3},
        {"two have launched nothing, and the third has no process",
         HEAD WARNINGS EIGHT "MISMATCH\n" COUNTS "  5 ranks have launched up to operation 100\n"
                             "  3 ranks have not launched any operations\n"
                             "  Rank 1 -- " BY_41 "  Rank 2 -- " BY_42
                             "  Rank 3 -- [process information not found]\n\n",
         "{\"count\": 3, \"pids\": [41, 42], \"who\": \"rank 1 of 8 (pid 41 on 10.0.0.2)\"}"},
        {"of two ranks, the lower count is behind",
         HEAD WARNINGS TWO "MISMATCH\n" COUNTS "  Rank 1 has launched up to operation 100 -- " BY_41
                           "  Rank 0 has launched up to operation 99 -- " BY_40 "\n",
         "{\"count\": 1, \"pids\": [40], \"who\": \"rank 0 of 2 (pid 40 on 10.0.0.2)\"}"},
        {"two ranks wait for each other",
         HEAD WARNINGS TWO "MISMATCH\n" COUNTS "  Rank 0 has launched up to operation 9 -- " BY_40
                           "  Rank 1 has launched up to operation 8 -- " BY_41 "\n" GATHERS
                           "  Rank 1 has launched up to operation 9 -- " BY_41
                           "  Rank 0 has launched up to operation 8 -- " BY_40 "\n",
         NOBODY},
        {"one process is behind in two communicators",
         HEAD WARNINGS EIGHT "MISMATCH\n" COUNTS "  7 ranks have launched up to operation 100\n"
                             "  Rank 3 has launched up to operation 99 -- " BY_43 "\n" TWO
                             "MISMATCH\n" COUNTS "  Rank 0 has launched up to operation 6 -- " BY_42
                             "  Rank 1 has launched up to operation 5 -- " BY_43 "\n",
         RANK_3},
        {"another state is not a sign of being last",
         HEAD WARNINGS EIGHT "MISMATCH\n" STATES "  7 ranks have status RUNNING\n"
                             "  Rank 5 has status NOCOMM -- " BY_45 COUNTS
                             "  7 ranks have launched up to operation 100\n"
                             "  Rank 3 has launched up to operation 99 -- " BY_43 "\n",
         RANK_3},
        {"an error is not a sign of being last",
         HEAD EIGHT "ERROR\n  Asynchronous error on 1 rank\n"
                    "  Rank 5 reported Remote process error -- " BY_45 "\n" WARNINGS,
         NOBODY},
    };
    check_rows(rows, sizeof rows / sizeof *rows);
}

static void processes_that_do_not_answer_are_named(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"with the rank that they have in the largest communicator",
         HEAD "INCOMPLETE\n  Missing communicator data from 1 job process\n"
              "  Process 43 on node 10.0.0.2 managing GPU 3\n\n" EIGHT
              "INCOMPLETE\n  Missing communicator data from 1 rank\n"
              "  Rank 3 -- " BY_43 "\n" TWO "INCOMPLETE\n  Missing communicator data from 1 rank\n"
              "  Rank 1 -- " BY_43 "\n" WARNINGS
              "TIMEOUT\n  Encountered 2 communication timeouts while "
              "gathering communicator data\n\n",
         RANK_3},
        {"NCCL 2.24 names the process of no rank",
         HEAD "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
              "  Process 43 on node fe80::1%eth0 managing GPUs 3,4\n\n" EIGHT
              "INCOMPLETE\n  Missing communicator data from 1 rank\n"
              "  The missing rank: 3\n\n" WARNINGS,
         "{\"count\": 1, \"pids\": [43], \"who\": \"pid 43 on fe80::1%eth0\"}"},
        {"equal pids on two nodes are two processes",
         HEAD "DEAD\n  2 job processes are considered dead (unreachable via the RAS network)\n"
              "  Process 43 on node 10.0.0.2 managing GPU 3\n"
              "  Process 43 on node 10.0.0.3 managing GPU 3\n\n" WARNINGS,
         "{\"count\": 2, \"pids\": [43, 43], \"who\": \"pid 43 on 10.0.0.2\"}"},
        {"a rank without a process",
         HEAD EIGHT "INCOMPLETE\n  Missing communicator data from 1 rank\n"
                    "  Rank 3 -- [process information not found]\n\n" WARNINGS,
         "{\"count\": 1, \"pids\": [], \"who\": \"rank 3 of 8\"}"},
        {"four pids at most",
         HEAD EIGHT "INCOMPLETE\n  Missing communicator data from 5 ranks\n"
                    "  Rank 3 -- " BY_43 "  Rank 4 -- " BY_44 "  Rank 5 -- " BY_45
                    "  Rank 6 -- " BY_46 "  Rank 7 -- " BY_47 "\n" WARNINGS,
         "{\"count\": 5, \"pids\": [43, 44, 45, 46],"
         " \"who\": \"rank 3 of 8 (pid 43 on 10.0.0.2)\"}"},
    };
    check_rows(rows, sizeof rows / sizeof *rows);
}

static void a_text_that_is_not_a_whole_status_names_nobody_wrongly(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"no answer", NULL, NULL},
        {"empty", "", NULL},
        {"another program", "SSH-2.0-OpenSSH_9.6\n", NULL},
        {"no communicator", "Errors\n======\n\nWarnings\n========\n\n", NULL},
        {"cut before the warnings", HEAD, NULL},
        {"cut where a lower count may follow",
         HEAD WARNINGS EIGHT "MISMATCH\n" COUNTS "  7 ranks have launched up to operation 100\n"
                             "  Rank 3 has launched up to operation 99 -- " BY_43,
         NULL},
        {"processes that RAS cannot name",
         HEAD "INCOMPLETE\n  Missing communicator data from 3 processes\n"
              "  [could not find information on 3 processes]\n\n" WARNINGS,
         NULL},
        {"cut within the warnings", HEAD "Warnings\n=======", NULL},
        {"a rank outside of its communicator",
         HEAD EIGHT "INCOMPLETE\n  Rank 8 -- " BY_43 "  Rank -1 -- " BY_43 "\n" WARNINGS, NOBODY},
        {"a list without an end",
         HEAD EIGHT "INCOMPLETE\n  Rank 4 -- " BY_44 EIGHT "INCOMPLETE\n  Rank 3 -- " BY_43
                    "\n" WARNINGS,
         RANK_3},
        {"a rank before any count",
         HEAD WARNINGS EIGHT "MISMATCH\n" COUNTS "  Rank 3 -- " BY_43 "\n", NOBODY},
        {"a group that the table does not have",
         HEAD "#99-0 (00) INCOMPLETE\n  Rank 3 -- " BY_43 "\n" WARNINGS,
         "{\"count\": 1, \"pids\": [43], \"who\": \"rank 3 (pid 43 on 10.0.0.2)\"}"},
        {"numbers and a node that cannot be",
         HEAD EIGHT "INCOMPLETE\n  Rank 3 -- GPU 1 managed by process -43 on node 10.0.0.2\n"
                    "  Rank 99999999999999999999 -- " BY_43 //
                    "  Rank 4 -- GPU 1 managed by process 44 on node \x1b[31m\n\n" WARNINGS,
         "{\"count\": 2, \"pids\": [], \"who\": \"rank 3 of 8\"}"},
    };
    check_rows(rows, sizeof rows / sizeof *rows);
}

/* Wherever the text is cut, no other rank is named. */
static void a_cut_anywhere_names_the_right_rank_or_nobody(void **state)
{
    (void)state;
    static const char whole[] =
        HEAD WARNINGS EIGHT "MISMATCH\n" COUNTS "  5 ranks have launched up to operation 100\n"
                            "  2 ranks have launched up to operation 99\n"
                            "  Rank 1 -- " BY_41 "  Rank 2 -- " BY_42 //
                            "  Rank 3 has launched up to operation 7 -- " BY_43 "\n";
    for (size_t size = 0; size < sizeof whole - 1; size++) {
        char *text = strndup(whole, size);
        json_t *found = ras_status_read(text);
        assert_int_equal(json_integer_value(json_object_get(found, "count")), 0);
        json_decref(found);
        free(text);
    }
    check("whole", whole, RANK_3);
}

/* Only the first RAS_TEXT_MAX bytes are read. What is found there stands, and nobody is said to be
 * all that RAS names. */
static void a_huge_text_is_read_in_part(void **state)
{
    (void)state;
    struct text text = {0};
    text_add(&text, HEAD WARNINGS);
    while (text.size < 4 << 20)
        text_add(&text, "  Rank 3 -- GPU 3 managed by process 43 on node 10.0.0.2\n");
    check("nobody", text_string(&text), NULL);
    text_clear(&text);
    text_add(&text, HEAD EIGHT "INCOMPLETE\n  Rank 3 -- " BY_43 "\n" WARNINGS);
    for (unsigned i = 0; text.size < RAS_TEXT_MAX; i++)
        text_addf(&text, "#0-%u (00) INCOMPLETE\n  Rank 3 -- " BY_43 "\n", i);
    text_add(&text, EIGHT "INCOMPLETE\n  Rank 4 -- " BY_44 "\n");
    check("one", text_string(&text), RANK_3);
    text_fini(&text);
}

/* --- The comparison --------------------------------------------------------------------------- */

static void the_verdict_says_whether_ras_names_the_outlier(void **state)
{
    (void)state;
#define NAMES(count, pids, who)                                                                    \
    "{\"count\": " #count ", \"pids\": [" pids "], \"who\": \"" who "\"}"
    static const struct {
        const char *one, *other; /* NULL: no answer */
        struct outlier_process outlier;
        const char *expected;
    } rows[] = {
        {NULL, NULL, {43, 3}, NULL},
        {NOBODY, NULL, {43, 3}, "NCCL's RAS names no rank"},
        {NAMES(1, "43", "w"), NULL, {43, 3}, "NCCL's RAS names rank 3 as well"},
        {NULL, NAMES(3, "9, 43", "w"), {43, 3}, "NCCL's RAS names rank 3 as well, and 2 more"},
        {NAMES(1, "43", "w"), NULL, {43, -1}, "NCCL's RAS names pid 43 as well"},
        {NAMES(1, "45", "rank 5 of 8 (pid 45 on h)"),
         NULL,
         {43, 3},
         "NCCL's RAS names rank 5 of 8 (pid 45 on h)"},
        {NAMES(2, "45", "pid 45 on h"), NULL, {0, -1}, "NCCL's RAS names pid 45 on h, and 1 more"},
        /* One node has an answer that says more. */
        {NOBODY, NAMES(1, "43", "w"), {43, 3}, "NCCL's RAS names rank 3 as well"},
        {NAMES(2, "45, 46", "v"), NAMES(1, "43", "w"), {43, 3}, "NCCL's RAS names rank 3 as well"},
        {NAMES(1, "45", "v"), NOBODY, {43, 3}, "NCCL's RAS names v"},
        /* Any JSON may come from an agent. */
        {"[]", "{\"count\": \"1\", \"pids\": [43]}", {43, 3}, NULL},
        {"{\"count\": 1}", NULL, {43, 3}, "NCCL's RAS names no rank"},
        {"{\"count\": 1, \"pids\": [0], \"who\": 3}", NULL, {0, -1}, "NCCL's RAS names no rank"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *one = rows[i].one ? json_loads(rows[i].one, 0, NULL) : NULL;
        json_t *other = rows[i].other ? json_loads(rows[i].other, 0, NULL) : NULL;
        const json_t *answers[] = {one, other};
        char *said = ras_status_compare(answers, 2, &rows[i].outlier);
        assert_string_equal(said ? said : "nothing",
                            rows[i].expected ? rows[i].expected : "nothing");
        free(said);
        json_decref(one);
        json_decref(other);
    }
    assert_null(ras_status_compare(NULL, 0, &(struct outlier_process){43, 3}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_with_fewer_operations_are_behind),
        cmocka_unit_test(processes_that_do_not_answer_are_named),
        cmocka_unit_test(a_text_that_is_not_a_whole_status_names_nobody_wrongly),
        cmocka_unit_test(a_cut_anywhere_names_the_right_rank_or_nobody),
        cmocka_unit_test(a_huge_text_is_read_in_part),
        cmocka_unit_test(the_verdict_says_whether_ras_names_the_outlier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
