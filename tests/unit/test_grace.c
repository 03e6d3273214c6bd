/* Whether Slurm requeues a job that exits during the grace of its preemption, by the answers of
 * scontrol. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/clock.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "worker/lead/grace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What scontrol answers. */
struct slurm {
    const char *version, *type, *mode; /* of the configuration */
    const char *preempted, *state;     /* of the job */
    const char *partition, *qos;       /* modes of both */
    const char *pause;                 /* before each answer */
};

static void take(void *context, bool is_so)
{
    *(bool *)context = is_so;
}

static char *script_make(const struct slurm *slurm)
{
    return text_format(
        "#!/bin/sh\n"
        "echo \"$*\" >>'%s/calls'\n"
        "%s\n"
        "case \"$*\" in\n"
        "'--oneliner show config')\n"
        "    echo 'PreemptMode             = %s'\n"
        "    echo 'PreemptType             = %s'\n"
        "    echo 'SLURM_VERSION           = %s' ;;\n"
        "'--oneliner show job 4711')\n"
        "    echo 'JobId=4711 Account=a QOS=low JobState=%s PreemptTime=%s Partition=gpu' ;;\n"
        "'--oneliner show partition gpu')\n"
        "    echo 'PartitionName=gpu OverTimeLimit=NONE PreemptMode=%s State=UP' ;;\n"
        "'--oneliner show assoc_mgr qos=low flags=qos')\n"
        "    echo 'QOS=low(2) UsageRaw=0.000000 PreemptMode=%s Priority=0' ;;\n"
        "'--oneliner update JobId=4711 Requeue='[01]) ;;\n"
        "*) exit 1 ;;\n"
        "esac\n",
        folder, slurm->pause ? slurm->pause : "", slurm->mode, slurm->type,
        slurm->version ? slurm->version : "24.11.5", slurm->state ? slurm->state : "RUNNING",
        slurm->preempted ? slurm->preempted : "2026-01-01T00:00:00", slurm->partition, slurm->qos);
}

/* Asks again if a slow machine needed longer than the deadline of all calls, 5 s. */
static bool take_in_time(const struct slurm *slurm, bool is_over, const char *calls)
{
    bool is_so = false;
    for (int i = 0; i < 20; i++) {
        uv_loop_t loop;
        int64_t begin_ms = clock_steady_ms();
        (void)unlink(calls);
        assert_int_equal(uv_loop_init(&loop), 0);
        (is_over ? grace_forget : grace_use)(&loop, 4711, take, &is_so);
        assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
        assert_int_equal(uv_loop_close(&loop), 0);
        if (slurm->pause ? access(calls, F_OK) == 0 : clock_steady_ms() - begin_ms < 4900)
            break;
    }
    return is_so;
}

/* Returns whether it does; `last` gets the last call. */
static bool ask(const struct slurm *slurm, bool is_over, char last[100])
{
    char *path = text_format("%s/scontrol", folder), *calls = text_format("%s/calls", folder);
    char *script = script_make(slurm), *text;
    char *before = xstrdup(getenv("PATH")), *paths = text_format("%s:%s", folder, before);
    assert_int_equal(file_replace(path, script, strlen(script), 0700, NULL), 0);
    assert_int_equal(setenv("PATH", paths, 1), 0);
    bool is_so = take_in_time(slurm, is_over, calls);
    assert_int_equal(setenv("PATH", before, 1), 0);
    assert_int_equal(file_read(calls, 4096, &text, NULL, NULL), 0);
    text[strlen(text) - 1] = '\0';
    const char *line = strrchr(text, '\n');
    (void)snprintf(last, 100, "%s", line ? line + 1 : text);
    assert_int_equal(unlink(calls), 0);
    free(text);
    free(paths);
    free(before);
    free(script);
    free(calls);
    free(path);
    return is_so;
}

static void a_job_that_slurm_requeues_exits_during_the_grace(void **state)
{
    (void)state;
    static const struct {
        struct slurm slurm;
        bool is_so;
    } rows[] = {
        {{.type = "preempt/partition_prio", .partition = "REQUEUE"}, true},
        {{.type = "preempt/partition_prio", .partition = "GANG,REQUEUE"}, true},
        {{.type = "preempt/partition_prio", .partition = "CANCEL", .mode = "REQUEUE"}, false},
        {{.type = "preempt/partition_prio", .partition = "GANG,SUSPEND", .qos = "REQUEUE"}, false},
        {{.type = "preempt/partition_prio", .partition = "OFF", .mode = "REQUEUE"}, false},
        {{.type = "preempt/qos", .qos = "REQUEUE", .mode = "CANCEL"}, true},
        {{.type = "preempt/qos", .qos = "WITHIN,REQUEUE", .mode = "CANCEL"}, true},
        {{.type = "preempt/qos", .qos = "CANCEL", .mode = "REQUEUE", .partition = "REQUEUE"},
         false},
        {{.type = "preempt/qos", .qos = "OFF", .mode = "GANG,REQUEUE"}, true},
        {{.type = "preempt/qos", .qos = "OFF", .mode = "CANCEL", .partition = "REQUEUE"}, false},
        {{.type = "preempt/none", .mode = "REQUEUE", .partition = "REQUEUE"}, false},
        {{.type = "preempt/partition_prio", .partition = "REQUEUE", .preempted = "None"}, false},
        {{.type = "preempt/partition_prio", .partition = "REQUEUE", .state = "SIGNALING"}, true},
        {{.type = "preempt/partition_prio", .partition = "REQUEUE", .state = "COMPLETING"}, false},
        {{.type = "preempt/partition_prio", .partition = "REQUEUE", .version = "22.05.8"}, false},
        {{.type = "preempt/partition_prio", .partition = "REQUEUE", .version = "24.05.0"}, true},
        {{.type = "preempt/partition_prio", .partition = "REQUEUE", .version = "26.05.5"}, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct slurm slurm = rows[i].slurm;
        char last[100];
        slurm.mode = slurm.mode ? slurm.mode : "OFF";
        slurm.partition = slurm.partition ? slurm.partition : "OFF";
        slurm.qos = slurm.qos ? slurm.qos : "OFF";
        assert_int_equal(ask(&slurm, false, last), rows[i].is_so);
        assert_int_equal(text_equal(last, "--oneliner update JobId=4711 Requeue=1"), rows[i].is_so);
    }
}

static void a_job_that_is_over_forbids_its_requeue(void **state)
{
    (void)state;
    struct slurm slurm = {.type = "preempt/qos", .mode = "OFF", .partition = "OFF", .qos = "OFF"};
    char last[100];
    assert_true(ask(&slurm, true, last));
    assert_string_equal(last, "--oneliner update JobId=4711 Requeue=0");
    slurm.version = "22.05.8";
    assert_false(ask(&slurm, true, last));
    assert_string_equal(last, "--oneliner show config");
}

/* Each answer comes in time, but not all of them. */
static void all_calls_share_one_deadline(void **state)
{
    (void)state;
    const struct slurm slurm = {.type = "preempt/partition_prio",
                                .mode = "REQUEUE",
                                .partition = "REQUEUE",
                                .qos = "OFF",
                                .pause = "sleep 3"};
    char last[100];
    assert_false(ask(&slurm, false, last));
    assert_true(text_equal(last, "--oneliner show job 4711") ||
                text_equal(last, "--oneliner show config")); /* on a slow machine */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(a_job_that_slurm_requeues_exits_during_the_grace),
        TEST(a_job_that_is_over_forbids_its_requeue),
        TEST(all_calls_share_one_deadline),
    };
    return cmocka_run_group_tests_name("grace", tests, NULL, NULL);
}
