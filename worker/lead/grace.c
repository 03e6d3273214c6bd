/* A few calls of scontrol, one after another. */
#include "worker/lead/grace.h"

#include "lib/text.h"
#include "worker/lead/scontrol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    GRACE_TIMEOUT_MS = 5000, /* others wait for the nodes */
    GRACE_SINCE = 2405,      /* 24.05, as grace_version() has it */
    GRACE_UNTIL = 2605,
};

struct grace {
    uv_loop_t *loop;
    void (*done)(void *context, bool is_so);
    void *context;
    char *job; /* JobId=4711 */
    bool is_over;
};

static void grace_end(struct grace *grace, bool is_so)
{
    grace->done(grace->context, is_so);
    free(grace->job);
    free(grace);
}

static void grace_call(struct grace *grace, scontrol_done *done, const char *first,
                       const char *second, const char *third)
{
    const struct scontrol_call call = {
        .arguments = {"--oneliner", first, second, third},
        .captured_fd = STDOUT_FILENO,
        .timeout_ms = GRACE_TIMEOUT_MS,
    };
    scontrol_start(grace->loop, &call, done, grace);
}

static void grace_updated(void *context, int code, const char *output)
{
    (void)output;
    grace_end(context, code == 0);
}

static void grace_partition_told(void *context, int code, const char *output)
{
    struct grace *grace = context;
    if (code == 0 && strstr(output, " PreemptMode=REQUEUE"))
        grace_call(grace, grace_updated, "update", grace->job, "Requeue=1");
    else
        grace_end(grace, false);
}

static void grace_job_told(void *context, int code, const char *output)
{
    struct grace *grace = context;
    const char *partition = strstr(output, " Partition=");
    const char *preempted = strstr(output, " PreemptTime=");
    bool is_in_it = code == 0 && partition && preempted && strstr(output, " JobState=RUNNING") &&
                    !text_starts(preempted, " PreemptTime=None");
    if (!is_in_it) {
        grace_end(grace, false);
        return;
    }
    partition += strlen(" Partition=");
    char *name = text_format("%.*s", (int)strcspn(partition, " \n"), partition);
    grace_call(grace, grace_partition_told, "show", "partition", name);
    free(name);
}

/* Of "SLURM_VERSION           = 24.11.5": 2411. 0: not told. */
static int grace_version(const char *configuration)
{
    int year, month;
    const char *found = strstr(configuration, "SLURM_VERSION");
    return found && sscanf(found, "%*s = %d.%d", &year, &month) == 2 ? year * 100 + month : 0;
}

/* The modes of QOSes are not asked for. */
static void grace_configuration_told(void *context, int code, const char *output)
{
    struct grace *grace = context;
    int version = code == 0 ? grace_version(output) : 0;
    if (version < GRACE_SINCE || version >= GRACE_UNTIL)
        grace_end(grace, false);
    else if (grace->is_over)
        grace_call(grace, grace_updated, "update", grace->job, "Requeue=0");
    else if (!strstr(output, "= preempt/partition_prio"))
        grace_end(grace, false);
    else
        grace_call(grace, grace_job_told, "show", "job", grace->job + strlen("JobId="));
}

static void grace_start(struct grace grace, int64_t job_id)
{
    struct grace *copy = malloc(sizeof(*copy));
    if (!copy)
        abort();
    *copy = grace;
    copy->job = text_format("JobId=%lld", (long long)job_id);
    grace_call(copy, grace_configuration_told, "show", "config", NULL);
}

void grace_use(uv_loop_t *loop, int64_t job_id, void (*done)(void *context, bool is_so),
               void *context)
{
    grace_start((struct grace){.loop = loop, .done = done, .context = context}, job_id);
}

void grace_forget(uv_loop_t *loop, int64_t job_id, void (*done)(void *context, bool is_so),
                  void *context)
{
    grace_start((struct grace){.loop = loop, .done = done, .context = context, .is_over = true},
                job_id);
}
