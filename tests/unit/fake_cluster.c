/* A cluster in a folder: each request is answered at once, from files. */
#include "tests/unit/fake_cluster.h"

#include "daemon/slurm/cluster.h"
#include "daemon/slurm/survey.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_ID = 100 };

struct fake_cluster {
    struct cluster cluster;
    char *folder;
    void (*wake)(void *context);
    void *context;
    struct cluster_result results[CLUSTER_REQUESTS_MAX];
    size_t first, count;
};

static char *fake_read(const struct fake_cluster *fake, const char *name)
{
    char *path = text_format("%s/%s", fake->folder, name), *data = NULL;
    if (file_read(path, 1 << 20, &data, NULL, NULL) < 0)
        data = xstrdup("");
    free(path);
    return data;
}

/* Returns whether the line was written: a test may let the daemon have a full disk. */
static bool fake_try_append(const struct fake_cluster *fake, const char *name, const char *line)
{
    char *path = text_format("%s/%s", fake->folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert(fd >= 0);
    ssize_t written = write(fd, line, strlen(line));
    (void)close(fd); /* a file of a test */
    free(path);
    return written == (ssize_t)strlen(line);
}

static void fake_append(const struct fake_cluster *fake, const char *name, const char *line)
{
    bool is_written = fake_try_append(fake, name, line);
    assert(is_written);
}

static bool fake_mode_is(const struct fake_cluster *fake, const char *mode)
{
    char *text = fake_read(fake, "mode");
    bool is = text_starts(text, mode);
    free(text);
    return is;
}

/* Returns its state, and the time of the last change. */
static enum cluster_job_state fake_state(const struct fake_cluster *fake, uint32_t id,
                                         int64_t *ret_since)
{
    char *name = text_format("state.%u", id), *text = fake_read(fake, name);
    char *path = text_format("%s/%s", fake->folder, name);
    struct stat info = {0};
    *ret_since = stat(path, &info) == 0 ? info.st_mtime : 0;
    free(path);
    text[strcspn(text, "\n")] = '\0';
    int state = cluster_job_state_parse(text);
    free(name);
    free(text);
    return state < 0 ? CLUSTER_JOB_PENDING : (enum cluster_job_state)state;
}

/* Returns the text of a job's file, without the end of the line. The caller frees it. */
static char *fake_member(const struct fake_cluster *fake, const char *member, uint32_t id)
{
    char *name = text_format("%s.%u", member, id), *text = fake_read(fake, name);
    text[strcspn(text, "\n")] = '\0';
    free(name);
    return text;
}

static int64_t fake_number(const struct fake_cluster *fake, const char *member, uint32_t id)
{
    char *text = fake_member(fake, member, id);
    int64_t number = strtoll(text, NULL, 10);
    free(text);
    return number;
}

static void fake_fill(const struct fake_cluster *fake, struct cluster_job *job)
{
    job->state = fake_state(fake, job->id, &job->start_time);
    bool is_pending = job->state == CLUSTER_JOB_PENDING;
    job->restarts = (uint32_t)fake_number(fake, "restarts", job->id);
    int64_t start_time = fake_number(fake, "start", job->id);
    if (start_time)
        job->start_time = start_time;
    job->end_time = fake_number(fake, "end", job->id);
    job->submit_time = fake_number(fake, "requeued", job->id);
    job->eligible_time = fake_number(fake, "eligible", job->id);
    job->held = is_pending && fake_number(fake, "held", job->id);
    job->reason = fake_member(fake, "reason", job->id);
    if (is_pending && !*job->reason) {
        free(job->reason);
        job->reason = text_format("Resources");
    }
    job->nodes = xstrdup(is_pending ? "" : "n1");
}

/* Lists the jobs of the file, or only the job with the token `only`. */
static size_t fake_jobs(const struct fake_cluster *fake, const char *only,
                        struct cluster_job **ret_jobs, uint32_t *ret_last)
{
    char *text = fake_read(fake, "jobs");
    struct cluster_job *jobs = NULL;
    size_t count = 0;
    *ret_last = FIRST_ID;
    for (char *line = text; *line; line += strcspn(line, "\n") + 1) {
        struct cluster_job job = {0};
        if (sscanf(line, "%u %32s", &job.id, job.token) != 2)
            break;
        *ret_last = job.id;
        if (only && !text_equal(only, job.token))
            continue;
        fake_fill(fake, &job);
        jobs = realloc(jobs, (count + 1) * sizeof *jobs);
        assert(jobs);
        jobs[count++] = job;
    }
    free(text);
    *ret_jobs = jobs;
    return count;
}

static void fake_free_jobs(struct cluster_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(jobs[i].reason);
        free(jobs[i].nodes);
    }
    free(jobs);
}

static struct cluster_result *fake_answer(struct fake_cluster *fake, uint64_t target,
                                          enum cluster_kind kind)
{
    assert(fake->count < CLUSTER_REQUESTS_MAX);
    size_t at = (fake->first + fake->count++) % CLUSTER_REQUESTS_MAX;
    struct cluster_result *result = &fake->results[at];
    *result = (struct cluster_result){.target = target, .kind = kind, .outcome = CLUSTER_DONE};
    char *name = fake_read(fake, "name");
    (void)snprintf(result->cluster, sizeof result->cluster, "%s", *name ? name : "fake");
    free(name);
    if (fake_mode_is(fake, "down")) {
        result->outcome = CLUSTER_UNREACHABLE;
        (void)snprintf(result->message, sizeof result->message, "Unable to contact the controller");
    }
    fake->wake(fake->context);
    return result;
}

/* Returns the excluded nodes of the description, or NULL. */
static const char *fake_excluded(const struct cluster_description *description)
{
    for (size_t i = 0; i < description->option_count; i++)
        if (text_equal(description->options[i].name, "exclude"))
            return description->options[i].value;
    return NULL;
}

static int fake_submit(struct cluster *cluster, uint64_t target,
                       const struct cluster_description *description, struct error *err)
{
    struct fake_cluster *fake = (struct fake_cluster *)cluster;
    (void)err;
    struct cluster_result *result = fake_answer(fake, target, CLUSTER_SUBMIT);
    if (result->outcome != CLUSTER_DONE)
        return 0;
    const char *excluded = fake_excluded(description);
    bool refuses = fake_mode_is(fake, "refuse") || (fake_mode_is(fake, "few") && excluded);
    if (fake_mode_is(fake, "limited") || refuses) {
        result->outcome = refuses ? CLUSTER_REFUSED : CLUSTER_LIMITED;
        fake_append(fake, "turned-away", "submission\n");
        (void)snprintf(result->message, sizeof result->message, "because the test wants it");
        return 0;
    }
    struct cluster_job *jobs;
    uint32_t last;
    size_t count = fake_jobs(fake, NULL, &jobs, &last);
    fake_free_jobs(jobs, count);
    result->job_id = last + 1;
    char *line = text_format("%u %s %s\n", last + 1, description->token, description->name);
    fake_append(fake, "jobs", line);
    free(line);
    if (excluded) {
        line = text_format("%u %s\n", last + 1, excluded);
        fake_append(fake, "excluded", line);
        free(line);
    }
    if (fake_mode_is(fake, "lose"))
        result->outcome = CLUSTER_UNREACHABLE;
    return 0;
}

static int fake_ask(struct fake_cluster *fake, uint64_t target, enum cluster_kind kind,
                    const char *token)
{
    struct cluster_result *result = fake_answer(fake, target, kind);
    uint32_t last;
    if (result->outcome != CLUSTER_DONE)
        return 0;
    result->job_count = fake_jobs(fake, token, &result->jobs, &last);
    if (kind == CLUSTER_LOOKUP && result->job_count == 0)
        result->outcome = CLUSTER_ABSENT;
    else if (kind == CLUSTER_LOOKUP)
        result->job_id = result->jobs[0].id;
    return 0;
}

static int fake_lookup(struct cluster *cluster, uint64_t target, const char *token,
                       struct error *err)
{
    (void)err;
    return fake_ask((struct fake_cluster *)cluster, target, CLUSTER_LOOKUP, token);
}

static int fake_poll(struct cluster *cluster, struct error *err)
{
    (void)err;
    (void)fake_try_append((struct fake_cluster *)cluster, "polls", "poll\n");
    return fake_ask((struct fake_cluster *)cluster, 0, CLUSTER_POLL, NULL);
}

static bool fake_has(const struct fake_cluster *fake, uint32_t id, const char *token)
{
    uint32_t last;
    struct cluster_job *jobs;
    size_t count = fake_jobs(fake, token, &jobs, &last);
    bool has = false;
    for (size_t i = 0; i < count; i++)
        has = has || jobs[i].id == id;
    fake_free_jobs(jobs, count);
    return has;
}

static int fake_change(struct cluster *cluster, uint64_t target, enum cluster_kind kind,
                       uint32_t job_id, const char *token, int64_t begin, struct error *err)
{
    struct fake_cluster *fake = (struct fake_cluster *)cluster;
    (void)err;
    struct cluster_result *result = fake_answer(fake, target, kind);
    if (result->outcome != CLUSTER_DONE)
        return 0;
    assert(kind == CLUSTER_CANCEL || kind == CLUSTER_BEGIN);
    bool begins = kind == CLUSTER_BEGIN;
    char *line = text_format("%u\n", job_id);
    if (!fake_has(fake, job_id, token)) {
        fake_append(fake, "strangers", line);
        result->outcome = CLUSTER_ABSENT;
        free(line);
        return 0;
    }
    if (!begins && fake_mode_is(fake, "forget")) {
        fake_append(fake, "cancelled", line);
        free(line);
        return 0;
    }
    char *text = begins ? text_format("%lld\n", (long long)begin) : text_format("cancelled\n");
    char *path =
        text_format("%s/%s.%u", fake->folder, begins ? "eligible" : "state", (unsigned)job_id);
    (void)file_replace(path, text, strlen(text), 0600,
                       NULL); /* the test fails if the file is not written */
    fake_append(fake, begins ? "begun" : "cancelled", line);
    free(path);
    free(text);
    free(line);
    return 0;
}

/* Two idle nodes with 8 h100 each, in one partition. Job `i` of the list starts at 1000 + i. */
static int fake_survey(struct cluster *cluster, uint64_t target,
                       const struct cluster_description *const *descriptions, size_t count,
                       struct error *err)
{
    struct cluster_result *result =
        fake_answer((struct fake_cluster *)cluster, target, CLUSTER_SURVEY);
    (void)descriptions, (void)err;
    if (result->outcome != CLUSTER_DONE)
        return 0;
    struct cluster_survey *survey = calloc(1, sizeof *survey);
    assert(survey);
    survey->nodes = calloc(2, sizeof *survey->nodes);
    survey->partitions = calloc(1, sizeof *survey->partitions);
    survey->forecasts = calloc(count + 1, sizeof *survey->forecasts);
    assert(survey->nodes && survey->partitions && survey->forecasts);
    survey->node_count = 2;
    survey->partition_count = 1;
    survey->forecast_count = count;
    survey->partitions[0] = (struct survey_partition){
        .name = text_format("batch"),
        .is_default = true,
        .is_up = true,
        .max_time_minutes = UINT32_MAX,
        .max_nodes = UINT32_MAX,
        .nodes = calloc(2, sizeof(size_t)),
        .node_count = 2,
    };
    for (size_t i = 0; i < 2; i++) {
        survey->nodes[i] = (struct survey_node){.name = text_format("n%zu", i + 1),
                                                .gres = text_format("gpu:h100:8(S:0-1)"),
                                                .is_usable = true,
                                                .is_idle = true,
                                                .cpus = 64,
                                                .memory_mb = 1000000};
        survey->partitions[0].nodes[i] = i;
    }
    for (size_t i = 0; i < count; i++)
        survey->forecasts[i] = (struct survey_forecast){.start_time = 1000 + (int64_t)i,
                                                        .partition = text_format("batch")};
    result->survey = survey;
    return 0;
}

static bool fake_take(struct cluster *cluster, struct cluster_result *ret_result)
{
    struct fake_cluster *fake = (struct fake_cluster *)cluster;
    if (fake->count == 0)
        return false;
    *ret_result = fake->results[fake->first];
    fake->first = (fake->first + 1) % CLUSTER_REQUESTS_MAX;
    fake->count--;
    return true;
}

static void fake_free(struct cluster *cluster)
{
    struct fake_cluster *fake = (struct fake_cluster *)cluster;
    struct cluster_result result;
    while (fake_take(cluster, &result))
        cluster_result_fini(&result);
    free(fake->folder);
    free(fake);
}

struct cluster *fake_cluster_new(const char *folder, void (*wake)(void *context), void *context)
{
    static const struct cluster_operations operations = {
        .submit = fake_submit,
        .lookup = fake_lookup,
        .poll = fake_poll,
        .change = fake_change,
        .survey = fake_survey,
        .take = fake_take,
        .free = fake_free,
    };
    struct fake_cluster *fake = calloc(1, sizeof *fake);
    assert(fake);
    fake->cluster.operations = &operations;
    fake->folder = xstrdup(folder);
    fake->wake = wake;
    fake->context = context;
    return &fake->cluster;
}
