/* Which processes of a job get signals: those of job steps that a user's srun has made. */
#include "tests/unit/unit.h"

#include "lib/file.h"
#include "worker/process/job_steps.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char job_text[32]; /* an id that no other job has */
static int idle[2];       /* a pipe in which nothing comes */

/* Starts a process with the environment that Slurm gives to processes of the job step; NULL: Slurm
 * sets nothing. */
static pid_t start(const char *step, const char *job, const char *node, const char *run)
{
    char texts[4][64];
    char *environment[] = {texts[0], texts[1], texts[2], step ? texts[3] : NULL, NULL};
    int ready[2];
    (void)snprintf(texts[0], sizeof texts[0], "SLURM_JOB_ID=%s", job);
    (void)snprintf(texts[1], sizeof texts[1], "SLURMD_NODENAME=%s", node);
    (void)snprintf(texts[2], sizeof texts[2], "PHASED_%s", run);
    if (step)
        (void)snprintf(texts[3], sizeof texts[3], "SLURM_STEP_ID=%s", step);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *const arguments[] = {"sh", "-c", "echo; read nothing", NULL};
        (void)dup2(ready[1], STDOUT_FILENO);
        (void)dup2(idle[0], STDIN_FILENO);
        (void)execve("/bin/sh", arguments, environment);
        _exit(127);
    }
    (void)close(ready[1]);
    char line;
    assert_int_equal(read(ready[0], &line, 1), 1); /* now it has this environment */
    (void)close(ready[0]);
    return pid;
}

/* Signals as an agent does, which is not an ancestor of the processes of job steps. */
static unsigned signal_job_steps(int number)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit((int)job_steps_signal("/runs/1", number));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return (unsigned)WEXITSTATUS(status);
}

/* A worker that was started by hand has no token: then `ours` is false. */
static void kills_other_job_steps_of_the_run(bool ours)
{
    const struct {
        const char *step, *job, *node, *run; /* PHASED_... */
        bool is_killed;
    } rows[] = {
        {"7", job_text, "n1", "RUN_DIR=/runs/1", true},
        {"0", job_text, "n1", "RUN_DIR=/runs/1", true},
        {"3", job_text, "n1", "RUN_DIR=/runs/1", false}, /* the agent's own */
        {NULL, job_text, "n1", "RUN_DIR=/runs/1", false},
        {"-5", job_text, "n1", "RUN_DIR=/runs/1", false}, /* the batch script, since 26.05 */
        {"4294967291", job_text, "n1", "RUN_DIR=/runs/1", false}, /* the same, unsigned */
        {"7", "1", "n1", "RUN_DIR=/runs/1", false},
        {"7", job_text, "n2", "RUN_DIR=/runs/1", false},
        {"7", job_text, "n1", "RUN_DIR=/runs/2", false},
        {"7", job_text, "n1", "JOB=ours", ours},
        {"7", job_text, "n1", "JOB=of another Slurm", false},
    };
    enum { COUNT = sizeof rows / sizeof *rows };
    pid_t pids[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        pids[i] = start(rows[i].step, rows[i].job, rows[i].node, rows[i].run);
    unsigned signalled = signal_job_steps(SIGKILL);
    for (size_t i = 0; i < COUNT; i++) {
        int status = 0;
        (void)kill(pids[i], SIGTERM); /* SIGKILL acts first */
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        if (!WIFSIGNALED(status) || (WTERMSIG(status) == SIGKILL) != rows[i].is_killed)
            fail_msg("row %zu: status %d", i, status);
    }
    assert_int_equal(signalled, ours ? 3 : 2);
}

static void only_processes_of_other_job_steps_of_the_run_are_killed(void **state)
{
    (void)state;
    kills_other_job_steps_of_the_run(true);
}

/* A read about a rank that is stuck in the kernel may block. */
static void a_process_below_the_agent_is_in_no_other_step(void **state)
{
    (void)state;
    int status;
    pid_t pid = start("7", job_text, "n1", "RUN_DIR=/runs/1");
    assert_int_equal(job_steps_signal("/runs/1", SIGKILL), 0);
    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

/* The agent's helpers, such as a sampler that is stuck in the driver, are children of the heir. */
static void a_process_below_the_heir_is_in_no_other_step(void **state)
{
    (void)state;
    int status;
    pid_t helper = start("7", job_text, "n1", "RUN_DIR=/runs/1"), agent = fork();
    if (agent == 0) {
        job_steps_know_heir(getppid());
        _exit((int)job_steps_signal("/runs/1", SIGKILL));
    }
    assert_int_equal(waitpid(agent, &status, 0), agent);
    (void)kill(helper, SIGTERM); /* SIGKILL acts first */
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(waitpid(helper, &status, 0), helper);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

/* All Slurms on a machine may use the same ids and names of nodes. */
static void without_a_token_no_process_of_a_job_with_a_token_is_killed(void **state)
{
    (void)state;
    (void)unsetenv("PHASED_JOB");
    kills_other_job_steps_of_the_run(false);
    (void)setenv("PHASED_JOB", "ours", 1);
}

/* Starts a process that looks like slurmstepd, which waits for the end of one below it with this
 * command. Returns the pid of the lower one. */
static pid_t start_below(const char *title, const char *command, pid_t *ret_stepd)
{
    char script[PATH_MAX + 128], line[32] = {0};
    int ready[2];
    (void)snprintf(script, sizeof script,
                   "printf slurmstepd >/proc/$$/comm; %s & echo $!; wait; exit 7", command);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *const arguments[] = {(char *)title, "-c", script, NULL};
        (void)setpgid(0, 0);
        (void)dup2(ready[1], STDOUT_FILENO);
        (void)execv("/bin/sh", arguments);
        _exit(127);
    }
    (void)close(ready[1]);
    assert_true(read(ready[0], line, sizeof line - 1) > 0);
    (void)close(ready[0]);
    *ret_stepd = pid;
    return (pid_t)strtol(line, NULL, 10);
}

static void is_named(pid_t pid, const char *wanted)
{
    char path[64], name[32] = {0};
    (void)snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    for (int i = 0; i < 1000 && strcmp(name, wanted) != 0; i++) {
        FILE *file = fopen(path, "re");
        assert_non_null(file);
        (void)!fgets(name, sizeof name, file);
        (void)fclose(file);
        (void)poll(NULL, 0, 10);
    }
    assert_string_equal(name, wanted);
}

/* The kernel gives a process its arguments and environment after its name. */
static void has_arguments(pid_t pid)
{
    char path[64], *line;
    size_t size = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    while (size == 0) {
        assert_int_equal(file_read(path, 4096, &line, &size, NULL), 0);
        free(line);
    }
}

static void a_process_without_an_environment_is_known_by_its_slurmstepd(void **state)
{
    (void)state;
    const struct {
        const char *job, *step, *variable;
        bool is_shared, is_signalled;
    } rows[] = {
        {job_text, "7]", "", false, true},
        {job_text, "7+0]", "", false, true},
        {job_text, "7]", "SLURM_JOB_ID=1", false, true}, /* the rest of an old title */
        {job_text, "7]", "", true, false},
        {job_text, "3]", "", false, false}, /* the agent's own */
        {job_text, "3+0]", "", false, false},
        {job_text, "batch]", "", false, false},
        {job_text, "4294967291]", "", false, false},
        {job_text, "-5]", "", false, false},
        {job_text, "extern]", "", false, false},
        {job_text, "7", "", false, false},
        {"1", "7]", "", false, false},
        {job_text, "7]", "SLURM_JOB_ID=1 SLURM_STEP_ID=7 SLURMD_NODENAME=n1", false, false},
    };
    static const int numbers[] = {SIGTERM, SIGKILL};
    for (size_t i = 0; i < 2 * (sizeof rows / sizeof *rows); i++) {
        char title[128];
        int status = 0, number = numbers[i % 2];
        char command[128];
        pid_t stepd;
        (void)snprintf(command, sizeof command, "env -i %s sleep 600", rows[i / 2].variable);
        (void)snprintf(title, sizeof title, "slurmstepd: [%s.%s", rows[i / 2].job,
                       rows[i / 2].step);
        pid_t pid = start_below(title, command, &stepd);
        is_named(pid, "sleep\n");
        has_arguments(pid);
        if (rows[i / 2].is_shared)
            (void)setenv(JOB_STEPS_SHARED_VARIABLE, "1", 1);
        unsigned signalled = signal_job_steps(number);
        (void)unsetenv(JOB_STEPS_SHARED_VARIABLE);
        if (signalled != rows[i / 2].is_signalled)
            fail_msg("row %zu, signal %d: %u", i / 2, number, signalled);
        (void)kill(pid, SIGKILL);
        assert_int_equal(waitpid(stepd, &status, 0), stepd);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7); /* slurmstepd gets no signal */
    }
}

#define BECOMING "becoming"

/* Makes this process look as in the middle of execve(): without arguments and an environment. Its
 * new name says when it does. */
static int become(void)
{
    unsigned long long at[52] = {0};
    char text[1024] = {0};
    FILE *file = fopen("/proc/self/stat", "re");
    if (!file || fread(text, 1, sizeof text - 1, file) == 0)
        return 1;
    (void)fclose(file);
    char *word = strrchr(text, ')') + 3; /* behind the state, the third field of proc(5) */
    for (int i = 4; i < 52; i++)
        at[i] = strtoull(word, &word, 10);
    struct prctl_mm_map map = {.start_code = at[26],
                               .end_code = at[27],
                               .start_data = at[45],
                               .end_data = at[46],
                               .start_brk = at[47],
                               .brk = (uintptr_t)sbrk(0),
                               .start_stack = at[28],
                               .arg_start = at[48],
                               .arg_end = at[48],
                               .env_start = at[50],
                               .env_end = at[50],
                               .exe_fd = (uint32_t)-1};
    if (prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0) < 0)
        return 1;
    (void)prctl(PR_SET_NAME, BECOMING);
    (void)poll(NULL, 0, -1);
    return 0;
}

/* It may be a job step of another Slurm on this machine. */
static void a_process_that_has_not_become_its_program_gets_no_signal(void **state)
{
    (void)state;
    char title[128], command[PATH_MAX + 32], program[PATH_MAX] = {0};
    int status;
    pid_t stepd;
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    (void)snprintf(title, sizeof title, "slurmstepd: [%s.7]", job_text);
    (void)snprintf(command, sizeof command, "'%s' " BECOMING, program);
    pid_t pid = start_below(title, command, &stepd);
    is_named(pid, BECOMING "\n");
    assert_int_equal(signal_job_steps(SIGKILL), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(stepd, &status, 0), stepd);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], BECOMING) == 0)
        return become();
    assert_int_equal(pipe2(idle, O_CLOEXEC), 0);
    (void)snprintf(job_text, sizeof job_text, "9%09d", (int)getpid());
    (void)setenv("SLURM_JOB_ID", job_text, 1);
    (void)setenv("SLURMD_NODENAME", "n1", 1);
    (void)setenv("SLURM_STEP_ID", "3", 1);
    (void)setenv("PHASED_JOB", "ours", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_processes_of_other_job_steps_of_the_run_are_killed),
        cmocka_unit_test(a_process_below_the_agent_is_in_no_other_step),
        cmocka_unit_test(a_process_below_the_heir_is_in_no_other_step),
        cmocka_unit_test(without_a_token_no_process_of_a_job_with_a_token_is_killed),
        cmocka_unit_test(a_process_without_an_environment_is_known_by_its_slurmstepd),
        cmocka_unit_test(a_process_that_has_not_become_its_program_gets_no_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
