/* The requeue of a job: its table, and its requests to Slurm. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/clock.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "worker/lead/requeue.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- The table -------------------------------------------------------------------------------- */

static void every_state_answers_every_event(void **state)
{
    (void)state;
    static const char letters[REQUEUE_STATES + 1] = "nwaeco";
    /* A row is a state, and a column is an event. A letter is the next state; a dot: it stays. */
    static const char *const rows[REQUEUE_STATES] = {
        [REQUEUE_NONE] = "w.......",     [REQUEUE_WANTED] = ".oa.....",
        [REQUEUE_ASKED] = "...ecoo.",    [REQUEUE_ENDING] = "....ooo.",
        [REQUEUE_ACCEPTED] = "...o...o", [REQUEUE_OVER] = "........",
    };
    for (unsigned from = 0; from < REQUEUE_STATES; from++) {
        char row[REQUEUE_EVENTS + 1] = "";
        for (unsigned event = 0; event < REQUEUE_EVENTS; event++) {
            enum requeue_state to =
                requeue_next((enum requeue_state)from, (enum requeue_event)event);
            row[event] = to == from ? '.' : letters[to];
        }
        assert_string_equal(row, rows[from]);
    }
}

/* --- Slurm ------------------------------------------------------------------------------------ */

struct world {
    uv_loop_t loop;
    struct requeue requeue;
    char *before; /* PATH */
    unsigned overs;
};

static void world_over(void *context)
{
    struct world *world = context;
    world->overs++;
    requeue_close(&world->requeue);
}

/* `answer` is the shell code that gives scontrol's answer to a requeue. */
static void world_begin(struct world *world, const char *answer, const char *version)
{
    char *path = text_format("%s/scontrol", folder);
    char *script =
        text_format("#!/bin/sh\n"
                    "case \"$*\" in\n"
                    "'--oneliner show config')\n"
                    "    echo 'PreemptMode             = REQUEUE'\n"
                    "    echo 'PreemptType             = preempt/partition_prio'\n"
                    "    echo 'SLURM_VERSION           = %s'; exit ;;\n"
                    "'--oneliner show job 4711')\n"
                    "    echo 'JobId=4711 JobState=RUNNING PreemptTime=2026-01-01T00:00:00"
                    " Partition=gpu'; exit ;;\n"
                    "'--oneliner show partition gpu')\n"
                    "    echo 'PartitionName=gpu PreemptMode=REQUEUE'; exit ;;\n"
                    "esac\n"
                    "echo \"$*\" >>'%s/calls'\n"
                    "case \"$*\" in requeue*) %s ;; esac\n",
                    version, folder, answer);
    *world = (struct world){.before = xstrdup(getenv("PATH"))};
    char *paths = text_format("%s:%s", folder, world->before);
    assert_int_equal(file_replace(path, script, strlen(script), 0700, NULL), 0);
    assert_int_equal(setenv("PATH", paths, 1), 0);
    assert_int_equal(uv_loop_init(&world->loop), 0);
    requeue_init(&world->requeue, &world->loop, "test", 4711, world_over, world);
    requeue_handle(&world->requeue, REQUEUE_WANT);
    free(paths);
    free(script);
    free(path);
}

static void world_run_while(struct world *world, enum requeue_state state)
{
    while (world->requeue.state == state)
        assert_true(uv_run(&world->loop, UV_RUN_ONCE) || world->requeue.state != state);
}

/* The requeue is over, and these were its calls; NULL: any calls. */
static void world_end(struct world *world, const char *calls)
{
    char *path = text_format("%s/calls", folder), *text = NULL;
    assert_int_equal(world->requeue.state, REQUEUE_OVER);
    assert_int_equal(world->overs, 1);
    assert_int_equal(uv_run(&world->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&world->loop), 0);
    assert_int_equal(setenv("PATH", world->before, 1), 0);
    (void)file_read(path, 4096, &text, NULL, NULL); /* the file is absent if there was no call */
    if (calls)
        assert_string_equal(text ? text : "", calls);
    (void)unlink(path);
    free(text);
    free(path);
    free(world->before);
}

static void an_accepted_requeue_ends_when_slurm_kills_the_job(void **state)
{
    struct world world;
    (void)state;
    world_begin(&world, "exit 0", "26.05.0");
    requeue_handle(&world.requeue, REQUEUE_ASK);
    world_run_while(&world, REQUEUE_ASKED);
    assert_int_equal(world.requeue.state, REQUEUE_ACCEPTED);
    assert_int_equal(world.overs, 0);
    requeue_handle(&world.requeue, REQUEUE_TERM);
    world_end(&world, "requeue 4711\n");
}

static void a_refused_requeue_is_permitted_and_requested_again(void **state)
{
    struct world world;
    (void)state;
    world_begin(&world, "echo 'it is disabled' >&2; exit 1", "26.05.0");
    requeue_handle(&world.requeue, REQUEUE_ASK);
    world_run_while(&world, REQUEUE_ASKED);
    assert_string_equal(world.requeue.reason, "it is disabled");
    world_end(&world, "requeue 4711\nupdate JobId=4711 Requeue=1\nrequeue 4711\n");
}

static void a_job_that_is_being_killed_waits_for_the_answer(void **state)
{
    struct world world;
    (void)state;
    world_begin(&world, "exit 0", "26.05.0");
    requeue_handle(&world.requeue, REQUEUE_ASK);
    requeue_handle(&world.requeue, REQUEUE_TERM);
    assert_int_equal(world.overs, 0);
    world_run_while(&world, REQUEUE_ENDING);
    world_end(&world, "requeue 4711\n");
}

static void a_job_in_its_grace_only_exits(void **state)
{
    struct world world;
    bool is_late = true;
    (void)state;
    for (int i = 0; i < 20 && is_late; i++) { /* all calls share a deadline of 5 s */
        int64_t begin_ms = clock_steady_ms();
        world_begin(&world, "exit 0", "24.11.5");
        requeue_handle(&world.requeue, REQUEUE_ASK);
        world_run_while(&world, REQUEUE_ASKED);
        is_late = clock_steady_ms() - begin_ms > 4900;
        requeue_handle(&world.requeue, is_late ? REQUEUE_TERM : REQUEUE_ASK);
        world_end(&world, is_late ? NULL : "--oneliner update JobId=4711 Requeue=1\n");
    }
    assert_false(is_late);
}

static void a_guest_requests_nothing(void **state)
{
    struct world world;
    (void)state;
    world_begin(&world, "exit 0", "26.05.0");
    requeue_handle(&world.requeue, REQUEUE_PASS_ON);
    world_end(&world, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_answers_every_event),
        TEST(an_accepted_requeue_ends_when_slurm_kills_the_job),
        TEST(a_refused_requeue_is_permitted_and_requested_again),
        TEST(a_job_that_is_being_killed_waits_for_the_answer),
        TEST(a_job_in_its_grace_only_exits),
        TEST(a_guest_requests_nothing),
    };
    return cmocka_run_group_tests_name("requeue", tests, NULL, NULL);
}
