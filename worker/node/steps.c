/* Finding the processes of steps by their environments. */
#include "worker/node/steps.h"

#include "lib/file.h"
#include "lib/text.h"
#include "worker/node/processes.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS_ENVIRONMENT_MAX = 4 << 20, /* the kernel's limit is 6 MiB, arguments included */
    STEPS_NUMBER_END = 0x7fffffff    /* Slurm's own steps have higher ones: slurm.h */
};

static bool steps_same(const char *a, const char *b)
{
    return a && b && text_equal(a, b);
}

/* The value of a variable in the text of /proc/PID/environ; NULL when it is not there. */
static const char *steps_value(const char *environment, size_t size, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = environment; at < environment + size; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    return NULL;
}

/* Whether it is a step that somebody's srun has made, and not Slurm's own one for the batch script,
 * in which the lead is. Since Slurm 26.05 that has a number too: -5, as one of 32 bits. */
static bool steps_is_sruns(const char *step)
{
    return step && strtoll(step, NULL, 10) >= 0 && strtoll(step, NULL, 10) < STEPS_NUMBER_END;
}

static bool steps_have(const char *environment, size_t size, const char *run_dir)
{
    const char *step = steps_value(environment, size, "SLURM_STEP_ID");
    const char *run = steps_value(environment, size, "PHASED_RUN_DIR");
    bool is_run = run ? text_equal(run, run_dir) : !getenv(STEPS_SHARED_VARIABLE);
    return steps_is_sruns(step) && is_run && !steps_same(step, getenv("SLURM_STEP_ID")) &&
           steps_same(steps_value(environment, size, "SLURM_JOB_ID"), getenv("SLURM_JOB_ID")) &&
           steps_same(steps_value(environment, size, "SLURMD_NODENAME"), getenv("SLURMD_NODENAME"));
}

static bool steps_are_of(const struct process *process, const char *run_dir)
{
    char path[64], *environment = NULL;
    size_t size = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)process->pid); /* fits */
    bool is_member = file_read(path, STEPS_ENVIRONMENT_MAX, &environment, &size, NULL) == 0 &&
                     steps_have(environment, size, run_dir); /* that of others cannot be read */
    free(environment);
    return is_member;
}

static const struct process *steps_find(const struct process *list, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == pid)
            return &list[i];
    return NULL;
}

/* Whether the process is in the group of one that slurmstepd has started; all of a step are in one
 * group but for those that have left it. Where /proc hides the processes of others (hidepid),
 * slurmstepd is the parent that is not to be seen. */
static bool steps_is_meant(const struct process *all, size_t all_count, const struct process *list,
                           size_t count, const struct process *process)
{
    for (size_t i = 0; i < count; i++) {
        const struct process *parent = steps_find(all, all_count, list[i].parent);
        bool is_slurms = parent ? text_equal(parent->name, "slurmstepd") : list[i].parent > 1;
        if (list[i].group == process->group && is_slurms)
            return true;
    }
    return false;
}

unsigned steps_signal(const char *run_dir, int number)
{
    size_t all_count, count = 0;
    unsigned signalled = 0;
    if (!getenv("SLURM_STEP_ID"))
        return 0;
    struct process *all = processes_all(&all_count);
    struct process *list = malloc((all_count + 1) * sizeof(*list));
    if (!list)
        abort();
    for (size_t i = 0; i < all_count; i++)
        if (steps_are_of(&all[i], run_dir))
            list[count++] = all[i];
    for (size_t i = 0; i < count; i++) {
        bool is_meant =
            number == SIGKILL ||
            (!processes_is_srun(&list[i]) && steps_is_meant(all, all_count, list, count, &list[i]));
        if (is_meant && kill(list[i].pid, number) == 0)
            signalled++;
    }
    free(list);
    free(all);
    return signalled;
}
