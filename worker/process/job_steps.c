/* Finds the processes of job steps by their environments, or by slurmstepd. */
#include "worker/process/job_steps.h"

#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "worker/process/processes.h"

#include <ctype.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    JOB_STEPS_LINE_MAX = 1 << 20,
    JOB_STEPS_NUMBER_END = 0x7fffffff /* Slurm's own job steps have higher numbers (slurm.h) */
};

#define JOB_STEPS_SLURMSTEPD "slurmstepd" /* the name of its process */

static pid_t job_steps_heir; /* 0: the agent has no task */

void job_steps_know_heir(pid_t heir)
{
    job_steps_heir = heir;
}

enum job_steps_word { JOB_STEPS_OTHERS, JOB_STEPS_OURS, JOB_STEPS_SILENT };

static bool job_steps_same(const char *a, const char *b)
{
    return a && b && text_equal(a, b);
}

/* Whether an srun has made the job step. Slurm itself makes the job step of the batch script, in
 * which the lead runs. Since Slurm 26.05 this job step has a number, too: -5 as an unsigned number
 * of 32 bits. */
static bool job_steps_is_sruns(const char *job_step)
{
    return job_step && strtoll(job_step, NULL, 10) >= 0 &&
           strtoll(job_step, NULL, 10) < JOB_STEPS_NUMBER_END;
}

/* Whether the process with this environment belongs to the run, if the environment tells. */
static enum job_steps_word job_steps_judge(const char *environment, size_t size,
                                           const char *run_dir)
{
    const char *job = process_variable(environment, size, "SLURM_JOB_ID");
    const char *node = process_variable(environment, size, "SLURMD_NODENAME");
    const char *step = process_variable(environment, size, "SLURM_STEP_ID");
    const char *run = process_variable(environment, size, "PHASED_RUN_DIR");
    const char *token = process_variable(environment, size, "PHASED_JOB");
    bool is_run = run ? text_equal(run, run_dir) : !getenv(JOB_STEPS_SHARED_VARIABLE);
    if (token && !job_steps_same(token, getenv("PHASED_JOB")))
        is_run = false; /* another Slurm on this machine may use the same ids */
    if (!job || !node || !step)
        return JOB_STEPS_SILENT;
    bool is_ours = job_steps_is_sruns(step) && is_run &&
                   !job_steps_same(step, getenv("SLURM_STEP_ID")) &&
                   job_steps_same(job, getenv("SLURM_JOB_ID")) &&
                   job_steps_same(node, getenv("SLURMD_NODENAME"));
    return is_ours ? JOB_STEPS_OURS : JOB_STEPS_OTHERS;
}

static enum job_steps_word job_steps_ask(const struct process *process, const char *run_dir)
{
    size_t size;
    char *environment = process_environment(process->pid, &size);
    enum job_steps_word word =
        environment ? job_steps_judge(environment, size, run_dir) : JOB_STEPS_SILENT;
    free(environment);
    return word;
}

/* Whether the process is the slurmstepd of another job step of this job that an srun has made. Its
 * command line is "slurmstepd: [JOB.STEP]" or "[JOB.STEP+0]". Slurm's own job steps have names
 * there. */
static bool job_steps_is_stepd(const struct process *process)
{
    char path[64], *line = NULL, *end, step[32];
    const char *job = getenv("SLURM_JOB_ID");
    if (!text_equal(process->name, JOB_STEPS_SLURMSTEPD) || !job)
        return false;
    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)process->pid); /* fits */
    if (file_read(path, JOB_STEPS_LINE_MAX, &line, NULL, NULL) < 0)
        return false;
    char *begin = text_format("slurmstepd: [%s.", job);
    const char *number = text_starts(line, begin) ? line + strlen(begin) : "";
    (void)snprintf(step, sizeof step, "%lu", strtoul(number, &end, 10)); /* fits */
    bool is_stepd = isdigit((unsigned char)*number) && (*end == ']' || *end == '+') &&
                    job_steps_is_sruns(step) && !job_steps_same(step, getenv("SLURM_STEP_ID"));
    free(begin);
    free(line);
    return is_stepd;
}

static const struct process *job_steps_find(const struct process *list, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == pid)
            return &list[i];
    return NULL;
}

/* Chooses the processes that must get the stop signal, by the groups of the processes that
 * slurmstepd has started. All processes of a job step are in one group, except processes that have
 * left it. If /proc hides the processes of other users (hidepid), slurmstepd is the parent that
 * cannot be seen. */
static bool *job_steps_choose(const struct process *all, size_t all_count,
                              const struct process *list, size_t count, int number)
{
    bool *is_chosen = xcalloc(count + 1, sizeof *is_chosen);
    for (size_t i = 0; i < count; i++) {
        const struct process *parent = job_steps_find(all, all_count, list[i].parent);
        bool is_slurms =
            parent ? text_equal(parent->name, JOB_STEPS_SLURMSTEPD) : list[i].parent > 1;
        bool *is_meant =
            is_slurms ? processes_choose(list, count, list[i].process_group, number) : NULL;
        for (size_t k = 0; is_meant && k < count; k++)
            is_chosen[k] |= is_meant[k];
        free(is_meant);
    }
    return is_chosen;
}

/* Whether slurmstepd has forked the process, and the process has not become its program yet. Then
 * it has the name of slurmstepd, or it has its new name but neither arguments nor an environment.
 * The slurmstepd of another Slurm on this machine may have the same title, and only the environment
 * tells the two apart. */
static bool job_steps_is_becoming(const struct process *process)
{
    char path[64], *line = NULL;
    size_t size = 0;
    if (text_equal(process->name, JOB_STEPS_SLURMSTEPD))
        return true;
    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)process->pid); /* fits */
    (void)file_read(path, JOB_STEPS_LINE_MAX, &line, &size, NULL);
    free(line);
    return size == 0;
}

/* Adds the processes below one slurmstepd whose environments say nothing. */
static void job_steps_add_silent(pid_t stepd, const char *run_dir, const struct process *all,
                                 size_t all_count, struct process *list, size_t *count)
{
    size_t family_count;
    struct process *family = processes_family(stepd, &family_count);
    for (size_t i = 0; i < family_count; i++) {
        const struct process *process = job_steps_find(all, all_count, family[i].pid);
        if (process && !job_steps_is_becoming(process) &&
            job_steps_ask(process, run_dir) == JOB_STEPS_SILENT &&
            !job_steps_find(list, *count, process->pid))
            list[(*count)++] = *process;
    }
    free(family);
}

/* The heir while it lives, otherwise the caller. */
static pid_t job_steps_root(void)
{
    return job_steps_heir && getppid() == job_steps_heir ? job_steps_heir : getpid();
}

/* Returns the processes that belong to job steps of the run. The caller frees the list. The
 * descendants of the caller and of its heir are not asked: they are in no other job step, and a
 * read of the environment of a process that is stuck in the kernel may block. */
static struct process *job_steps_list(const char *run_dir, const struct process *all,
                                      size_t all_count, size_t *ret_count)
{
    size_t count = 0, own_count;
    struct process *list = xmalloc((all_count + 1) * sizeof *list);
    struct process *own = processes_family(job_steps_root(), &own_count);
    for (size_t i = 0; i < all_count; i++)
        if (!job_steps_find(own, own_count, all[i].pid) &&
            job_steps_ask(&all[i], run_dir) == JOB_STEPS_OURS)
            list[count++] = all[i];
    free(own);
    for (size_t i = 0; i < all_count && !getenv(JOB_STEPS_SHARED_VARIABLE); i++)
        if (job_steps_is_stepd(&all[i]))
            job_steps_add_silent(all[i].pid, run_dir, all, all_count, list, &count);
    *ret_count = count;
    return list;
}

unsigned job_steps_signal(const char *run_dir, int number)
{
    size_t all_count, count;
    unsigned signalled = 0;
    if (!getenv("SLURM_STEP_ID"))
        return 0;
    struct process *all = processes_all(&all_count);
    struct process *list = job_steps_list(run_dir, all, all_count, &count);
    bool *is_chosen = job_steps_choose(all, all_count, list, count, number);
    for (size_t i = 0; i < count; i++)
        if ((number == SIGKILL || is_chosen[i]) && kill(list[i].pid, number) == 0)
            signalled++;
    free(is_chosen);
    free(list);
    free(all);
    return signalled;
}
