/* Lets Slurm 24.05 to 25.11 requeue a preempted job when the job exits, by calls of scontrol. */
#include "worker/lead/grace.h"

#include "lib/memory.h"
#include "lib/text.h"
#include "worker/lead/inquiry.h"
#include "worker/lead/scontrol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    GRACE_TIMEOUT_MS = 5000, /* for all calls together; other jobs wait for the nodes */
    GRACE_SINCE = 2405,      /* Slurm 24.05, in the form of grace_version() */
    GRACE_UNTIL = 2605,
    GRACE_WORD_SIZE = 256, /* of a name or of a mode */
};

struct grace {
    uv_loop_t *loop;
    void (*done)(void *context, bool is_so);
    void *context;
    uint64_t until_ms;
    char *job; /* JobId=4711 */
    bool is_over, is_by_qos;
    bool may_requeue; /* the default of the whole cluster */
};

static void grace_end(struct grace *grace, bool is_so)
{
    grace->done(grace->context, is_so);
    free(grace->job);
    free(grace);
}

static void grace_call(struct grace *grace, scontrol_done *done, const char *first,
                       const char *second, const char *third, const char *fourth)
{
    uint64_t now_ms = uv_now(grace->loop);
    const struct scontrol_call call = {
        .arguments = {"--oneliner", first, second, third, fourth},
        .captured_fd = STDOUT_FILENO,
        .timeout_ms = now_ms < grace->until_ms ? (int)(grace->until_ms - now_ms) : 0,
    };
    scontrol_start(grace->loop, &call, done, grace);
}

static void grace_updated(void *context, int code, const char *output)
{
    (void)output;
    grace_end(context, code == 0);
}

/* Takes a mode such as REQUEUE or GANG,REQUEUE. */
static bool grace_mode_requeues(const char *mode)
{
    return strstr(mode, "REQUEUE") != NULL;
}

/* Takes the preemption mode of the partition or the QOS. For a QOS with mode OFF, the mode of the
 * cluster counts. */
static void grace_mode_told(void *context, int code, const char *output)
{
    struct grace *grace = context;
    char mode[GRACE_WORD_SIZE];
    scontrol_word(output, "PreemptMode=", mode, sizeof mode);
    bool is_left = grace->is_by_qos && text_equal(mode, "OFF");
    if (code == 0 && (is_left ? grace->may_requeue : grace_mode_requeues(mode)))
        grace_call(grace, grace_updated, "update", grace->job, "Requeue=1", NULL);
    else
        grace_end(grace, false);
}

static void grace_job_told(void *context, int code, const char *output)
{
    struct grace *grace = context;
    struct inquiry_answer answer = inquiry_read(output);
    char name[GRACE_WORD_SIZE];
    scontrol_word(output, grace->is_by_qos ? " QOS=" : " Partition=", name, sizeof name);
    char *qos = text_format("qos=%s", name);
    bool is_running = answer.state == CLUSTER_JOB_RUNNING;
    if (code != 0 || !*name || !answer.is_preempted || !is_running)
        grace_end(grace, false);
    else if (grace->is_by_qos)
        grace_call(grace, grace_mode_told, "show", "assoc_mgr", qos, "flags=qos");
    else
        grace_call(grace, grace_mode_told, "show", "partition", name, NULL);
    free(qos);
}

/* Makes 2411 of "SLURM_VERSION           = 24.11.5". 0: the version is unknown. */
static int grace_version(const char *configuration)
{
    int year, month;
    char word[GRACE_WORD_SIZE];
    scontrol_word(configuration, "SLURM_VERSION ", word, sizeof word);
    return sscanf(word, "%d.%d", &year, &month) == 2 ? year * 100 + month : 0;
}

static void grace_configuration_told(void *context, int code, const char *output)
{
    struct grace *grace = context;
    int version = code == 0 ? grace_version(output) : 0;
    char type[GRACE_WORD_SIZE], mode[GRACE_WORD_SIZE];
    scontrol_word(output, "PreemptType ", type, sizeof type);
    scontrol_word(output, "PreemptMode ", mode, sizeof mode);
    grace->is_by_qos = text_equal(type, "preempt/qos");
    grace->may_requeue = grace_mode_requeues(mode);
    if (version < GRACE_SINCE || version >= GRACE_UNTIL)
        grace_end(grace, false);
    else if (grace->is_over)
        grace_call(grace, grace_updated, "update", grace->job, "Requeue=0", NULL);
    else if (!grace->is_by_qos && !text_equal(type, "preempt/partition_prio"))
        grace_end(grace, false);
    else
        grace_call(grace, grace_job_told, "show", "job", grace->job + strlen("JobId="), NULL);
}

static void grace_start(struct grace grace, int64_t job_id)
{
    struct grace *copy = xmalloc(sizeof *copy);
    *copy = grace;
    copy->until_ms = uv_now(grace.loop) + GRACE_TIMEOUT_MS;
    copy->job = text_format("JobId=%lld", (long long)job_id);
    grace_call(copy, grace_configuration_told, "show", "config", NULL, NULL);
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
