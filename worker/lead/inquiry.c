/* Reads what scontrol prints about a job. */
#include "worker/lead/inquiry.h"

#include "lib/memory.h"
#include "lib/protocol/claim.h"
#include "lib/protocol/words.h"
#include "lib/text.h"
#include "worker/lead/scontrol.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How long the lead waits for another job that Slurm is ending. */
enum { INQUIRY_ENDING_MS = 15 * 60 * 1000 };

struct inquiry {
    uv_loop_t *loop;
    int64_t job_id;
    bool is_other;
    int timeout_ms;
    inquiry_done *done;
    void *context;
};

/* Reads a local time such as 2026-11-20T23:59:59. The value may also be Unknown, None or N/A. */
static double inquiry_time(const char *text, const char *name)
{
    char value[64];
    struct tm parts = {.tm_isdst = -1};
    scontrol_word(text, name, value, sizeof value);
    return strptime(value, "%Y-%m-%dT%H:%M:%S", &parts) ? (double)mktime(&parts) : 0;
}

static void inquiry_read_state(const char *text, struct inquiry_answer *answer)
{
    char word[32];
    scontrol_word(text, " JobState=", word, sizeof word);
    for (char *at = word; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    int state = cluster_job_state_parse(word);
    answer->is_completing = text_equal(word, "completing");
    if (state >= 0)
        answer->state = (enum cluster_job_state)state;
    else if (text_equal(word, "signaling")) /* it runs, and Slurm just delivers a signal */
        answer->state = CLUSTER_JOB_RUNNING;
    else if (text_equal(word, "revoked")) /* another cluster of a federation runs the job */
        answer->state = CLUSTER_JOB_CANCELLED;
    else if (word[0])
        answer->state = CLUSTER_JOB_UNKNOWN;
}

struct inquiry_answer inquiry_read(const char *text)
{
    struct inquiry_answer answer = {.text = text};
    char restarts[16];
    inquiry_read_state(text, &answer);
    scontrol_word(text, " Restarts=", restarts, sizeof restarts);
    answer.restarts = (unsigned)strtoul(restarts, NULL, 10);
    answer.end_time = inquiry_time(text, " EndTime=");
    answer.is_timed_out = strstr(text, " Reason=TimeLimit ") != NULL;
    answer.is_preempted = inquiry_time(text, " PreemptTime=") > 0;
    return answer;
}

static void inquiry_finish(struct inquiry *inquiry, const struct inquiry_answer *answer)
{
    inquiry->done(inquiry->context, answer);
    free(inquiry);
}

static void inquiry_complained(void *context, int code, const char *output)
{
    const struct inquiry_answer answer = {
        .is_unknown = code > 0 && strstr(output, "Invalid job id"),
        .text = "",
    };
    inquiry_finish(context, &answer);
}

static void inquiry_call(struct inquiry *inquiry, int fd, scontrol_done *done)
{
    char *job = text_format("%lld", (long long)inquiry->job_id);
    const struct scontrol_call call = {
        .arguments = {"--oneliner", "show", "job", job},
        .captured_fd = fd,
        .timeout_ms = inquiry->timeout_ms,
    };
    scontrol_start(inquiry->loop, &call, done, inquiry);
    free(job);
}

static void inquiry_called(void *context, int code, const char *output)
{
    struct inquiry *inquiry = context;
    struct inquiry_answer answer = inquiry_read(output);
    if (inquiry->is_other && code > 0 && answer.state == CLUSTER_JOB_NONE)
        inquiry_call(inquiry, STDERR_FILENO, inquiry_complained); /* the reason is on stderr */
    else
        inquiry_finish(inquiry, &answer); /* without an answer the fields are empty */
}

static void inquiry_begin(const struct inquiry *of)
{
    struct inquiry *inquiry = xmalloc(sizeof *inquiry);
    *inquiry = *of;
    inquiry_call(inquiry, STDOUT_FILENO, inquiry_called);
}

void inquiry_start(uv_loop_t *loop, int64_t job_id, bool is_other, inquiry_done *done,
                   void *context)
{
    inquiry_begin(&(struct inquiry){loop, job_id, is_other, INQUIRY_TIMEOUT_MS, done, context});
}

void inquiry_start_patient(uv_loop_t *loop, int64_t job_id, inquiry_done *done, void *context)
{
    inquiry_begin(&(struct inquiry){loop, job_id, false, INQUIRY_PATIENT_MS, done, context});
}

bool inquiry_says_over(const struct inquiry_answer *answer, const struct phase_life *life)
{
    if (answer->is_unknown || cluster_job_state_is_final(answer->state))
        return true;
    /* The path of the output contains the token, whatever else a site changes. */
    bool is_other =
        life->token[0] && strstr(answer->text, " StdOut=/") && !strstr(answer->text, life->token);
    /* Slurm counts a restart before the old life of the job has ended. Until that end the job is
     * COMPLETING. */
    bool is_next = answer->state == CLUSTER_JOB_RUNNING && strstr(answer->text, " Restarts=") &&
                   answer->restarts != life->restarts;
    return answer->state != CLUSTER_JOB_NONE && (is_other || is_next);
}

bool inquiry_says_ending(const struct inquiry_answer *answer, int64_t waited_ms)
{
    return answer->is_completing && waited_ms < INQUIRY_ENDING_MS;
}
