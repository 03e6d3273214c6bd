/* Which processes of a job are signalled: those of steps that somebody's srun has made. */
#include "tests/unit/unit.h"

#include "worker/node/steps.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char job_text[32]; /* no other process has this job */

/* A process with the environment that Slurm gives to those of the step; NULL: it gives none. */
static pid_t start(const char *step, const char *job, const char *node, const char *run_dir)
{
    char texts[4][64];
    char *environment[] = {texts[0], texts[1], texts[2], step ? texts[3] : NULL, NULL};
    int ready[2];
    (void)snprintf(texts[0], sizeof texts[0], "SLURM_JOB_ID=%s", job);
    (void)snprintf(texts[1], sizeof texts[1], "SLURMD_NODENAME=%s", node);
    (void)snprintf(texts[2], sizeof texts[2], "PHASED_RUN_DIR=%s", run_dir);
    if (step)
        (void)snprintf(texts[3], sizeof texts[3], "SLURM_STEP_ID=%s", step);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *const arguments[] = {"sh", "-c", "echo; exec sleep 600", NULL};
        (void)dup2(ready[1], STDOUT_FILENO);
        (void)execve("/bin/sh", arguments, environment);
        _exit(127);
    }
    (void)close(ready[1]);
    char line;
    assert_int_equal(read(ready[0], &line, 1), 1); /* it has this environment now */
    (void)close(ready[0]);
    return pid;
}

static void only_processes_of_other_steps_of_the_run_are_killed(void **state)
{
    (void)state;
    const struct {
        const char *step, *job, *node, *run_dir;
        bool is_killed;
    } rows[] = {
        {"7", job_text, "n1", "/runs/1", true},
        {"0", job_text, "n1", "/runs/1", true},
        {"3", job_text, "n1", "/runs/1", false}, /* the agent's own */
        {NULL, job_text, "n1", "/runs/1", false},
        {"-5", job_text, "n1", "/runs/1", false},         /* the batch script, since 26.05 */
        {"4294967291", job_text, "n1", "/runs/1", false}, /* the same without a sign */
        {"7", "1", "n1", "/runs/1", false},
        {"7", job_text, "n2", "/runs/1", false},
        {"7", job_text, "n1", "/runs/2", false},
    };
    enum { COUNT = sizeof rows / sizeof *rows };
    pid_t pids[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        pids[i] = start(rows[i].step, rows[i].job, rows[i].node, rows[i].run_dir);
    unsigned signalled = steps_signal("/runs/1", SIGKILL);
    for (size_t i = 0; i < COUNT; i++) {
        int status = 0;
        (void)kill(pids[i], SIGTERM); /* SIGKILL is taken first */
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        if (!WIFSIGNALED(status) || (WTERMSIG(status) == SIGKILL) != rows[i].is_killed)
            fail_msg("row %zu: status %d", i, status);
    }
    assert_int_equal(signalled, 2);
}

int main(void)
{
    (void)snprintf(job_text, sizeof job_text, "9%09d", (int)getpid());
    (void)setenv("SLURM_JOB_ID", job_text, 1);
    (void)setenv("SLURMD_NODENAME", "n1", 1);
    (void)setenv("SLURM_STEP_ID", "3", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_processes_of_other_steps_of_the_run_are_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
