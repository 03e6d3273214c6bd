/* What scontrol says of a job. */
#include "worker/lead/inquiry.h"

#include "lib/text.h"
#include "worker/lead/scontrol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct inquiry {
    inquiry_done *done;
    void *context;
};

/* Copies the value of " Name=value" up to the next blank. */
static void inquiry_field(const char *text, const char *name, char *value, size_t size)
{
    const char *found = strstr(text, name);
    found = found ? found + strlen(name) : "";
    (void)snprintf(value, size, "%.*s", (int)strcspn(found, " \n"), found); /* may be cut */
}

/* Times are local: 2026-11-20T23:59:59; or Unknown, None, N/A. */
static double inquiry_time(const char *text, const char *name)
{
    char value[64];
    struct tm parts = {.tm_isdst = -1};
    inquiry_field(text, name, value, sizeof(value));
    return strptime(value, "%Y-%m-%dT%H:%M:%S", &parts) ? (double)mktime(&parts) : 0;
}

static void inquiry_called(void *context, int code, const char *output)
{
    struct inquiry *inquiry = context;
    struct inquiry_answer answer = {0};
    (void)code; /* without an answer there are no fields */
    inquiry_field(output, " JobState=", answer.state, sizeof(answer.state));
    answer.end_time = inquiry_time(output, " EndTime=");
    char restarts[16];
    inquiry_field(output, " Restarts=", restarts, sizeof(restarts));
    answer.restarts = (unsigned)strtoul(restarts, NULL, 10);
    answer.is_preempted = inquiry_time(output, " PreemptTime=") > 0;
    inquiry->done(inquiry->context, &answer);
    free(inquiry);
}

void inquiry_start(uv_loop_t *loop, int64_t job_id, inquiry_done *done, void *context)
{
    struct inquiry *inquiry = malloc(sizeof(*inquiry));
    char *job = text_format("%lld", (long long)job_id);
    if (!inquiry)
        abort();
    *inquiry = (struct inquiry){done, context};
    const struct scontrol_call call = {
        .arguments = {"--oneliner", "show", "job", job},
        .captured_fd = STDOUT_FILENO,
        .timeout_ms = INQUIRY_TIMEOUT_MS,
    };
    scontrol_start(loop, &call, inquiry_called, inquiry);
    free(job);
}
