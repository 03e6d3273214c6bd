/* Puts a description and the options of the spec into libslurm's structure. This file maps sbatch's
 * names to the fields of job_desc_msg_t. */
#include "daemon/slurm/submission.h"

#include "daemon/slurm/cluster.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/spec/slurm_options.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Takes a string, and frees it with the submission. */
static char *keep(struct submission *submission, char *take_string)
{
    size_t i = 0;
    while (submission->strings[i])
        i++;
    assert(i + 1 < sizeof submission->strings / sizeof submission->strings[0]);
    return submission->strings[i] = take_string;
}

static char *keep_copy(struct submission *submission, const char *string)
{
    return keep(submission, xstrdup(string));
}

/* Slurm replaces %j and the like in paths, so each % is doubled. */
static char *output_path(const char *path)
{
    struct text text = {0};
    for (const char *at = path; *at; at++)
        text_add_bytes(&text, *at == '%' ? "%%" : at, *at == '%' ? 2 : 1);
    return text_steal(&text);
}

/* --- Options that are more than one number or string ------------------------------------------ */

static int comment_apply(struct submission *submission, const char *value, int64_t number,
                         struct error *err)
{
    (void)number, (void)err;
    job_desc_msg_t *job = &submission->job;
    job->comment = keep(submission, text_format("%s %s", job->comment, value));
    return 0;
}

static int exclusive_apply(struct submission *submission, const char *value, int64_t number,
                           struct error *err)
{
    (void)value, (void)err;
    if (number)
        submission->job.shared = JOB_SHARED_NONE;
    return 0;
}

static int oversubscribe_apply(struct submission *submission, const char *value, int64_t number,
                               struct error *err)
{
    (void)value, (void)err;
    if (number)
        submission->job.shared = JOB_SHARED_OK;
    return 0;
}

static int gpu_freq_apply(struct submission *submission, const char *value, int64_t number,
                          struct error *err)
{
    (void)number, (void)err;
    submission->job.tres_freq = keep(submission, text_format("gpu:%s", value));
    return 0;
}

/* Slurm wants "gres:" before each part of "gpu:h100:8,nvme:1". */
static int gres_apply(struct submission *submission, const char *value, int64_t number,
                      struct error *err)
{
    (void)number, (void)err;
    struct text text = {0};
    if (submission->job.tres_per_node)
        text_add(&text, submission->job.tres_per_node);
    for (const char *word = value; *word;) {
        size_t size = strcspn(word, ",");
        text_addf(&text, "%s%s%.*s", text.size ? "," : "",
                  text_starts(word, "gres:") ? "" : "gres:", (int)size, word);
        word += size + (word[size] == ',');
    }
    submission->job.tres_per_node = keep(submission, text_steal(&text));
    return 0;
}

static int mail_type_apply(struct submission *submission, const char *value, int64_t number,
                           struct error *err)
{
    static const int types[SLURM_MAIL_COUNT] = {
        [SLURM_MAIL_BEGIN] = MAIL_JOB_BEGIN,
        [SLURM_MAIL_END] = MAIL_JOB_END,
        [SLURM_MAIL_FAIL] = MAIL_JOB_FAIL,
        [SLURM_MAIL_REQUEUE] = MAIL_JOB_REQUEUE,
        [SLURM_MAIL_STAGE_OUT] = MAIL_JOB_STAGE_OUT,
        [SLURM_MAIL_ALL] = MAIL_JOB_BEGIN | MAIL_JOB_END | MAIL_JOB_FAIL | MAIL_JOB_REQUEUE |
                           MAIL_JOB_STAGE_OUT | MAIL_INVALID_DEPEND,
        [SLURM_MAIL_INVALID_DEPEND] = MAIL_INVALID_DEPEND,
        [SLURM_MAIL_TIME_LIMIT] = MAIL_JOB_TIME100,
        [SLURM_MAIL_TIME_LIMIT_90] = MAIL_JOB_TIME90,
        [SLURM_MAIL_TIME_LIMIT_80] = MAIL_JOB_TIME80,
        [SLURM_MAIL_TIME_LIMIT_50] = MAIL_JOB_TIME50,
    };
    (void)value, (void)err;
    submission->job.mail_type = 0;
    for (int i = 0; i < SLURM_MAIL_COUNT; i++)
        if (number >> i & 1)
            submission->job.mail_type |= (uint16_t)types[i];
    return 0;
}

static int mem_per_cpu_apply(struct submission *submission, const char *value, int64_t number,
                             struct error *err)
{
    (void)value, (void)err;
    submission->job.pn_min_memory = (uint64_t)number | MEM_PER_CPU;
    return 0;
}

static int mem_per_gpu_apply(struct submission *submission, const char *value, int64_t number,
                             struct error *err)
{
    (void)value, (void)err;
    submission->job.mem_per_tres =
        keep(submission, text_format("gres:gpu:%lld", (long long)number));
    return 0;
}

static int nice_apply(struct submission *submission, const char *value, int64_t number,
                      struct error *err)
{
    (void)value, (void)err;
    submission->job.nice = (uint32_t)(NICE_OFFSET + number);
    return 0;
}

static int switches_apply(struct submission *submission, const char *value, int64_t number,
                          struct error *err)
{
    (void)err;
    submission->job.req_switch = (uint32_t)number;
    if (strchr(value, '@'))
        submission->job.wait4switch = (uint32_t)(number >> 32) * 60;
    return 0;
}

/* --- The target of each option ---------------------------------------------------------------- */

enum field_type { FIELD_STRING = 1, FIELD_U16, FIELD_U32, FIELD_U64, FIELD_TIME };

/* The target is a field of job_desc_msg_t, or a function if one field is not enough. */
static const struct {
    enum field_type type;
    size_t offset;
    int (*apply)(struct submission *submission, const char *value, int64_t number,
                 struct error *err);
} targets[SLURM_OPTION_COUNT] = {
#define FIELD(type, name)                                                                          \
    {                                                                                              \
        FIELD_##type, offsetof(job_desc_msg_t, name), NULL                                         \
    }
#define APPLY(function)                                                                            \
    {                                                                                              \
        0, 0, function                                                                             \
    }
    [SLURM_OPTION_ACCOUNT] = FIELD(STRING, account),
    [SLURM_OPTION_ACCTG_FREQ] = FIELD(STRING, acctg_freq),
    [SLURM_OPTION_BB] = FIELD(STRING, burst_buffer),
    [SLURM_OPTION_BEGIN] = FIELD(TIME, begin_time),
    [SLURM_OPTION_COMMENT] = APPLY(comment_apply),
    [SLURM_OPTION_CONSTRAINT] = FIELD(STRING, features),
    [SLURM_OPTION_CONTIGUOUS] = FIELD(U16, contiguous),
    [SLURM_OPTION_CORE_SPEC] = FIELD(U16, core_spec),
    [SLURM_OPTION_DEADLINE] = FIELD(TIME, deadline),
    [SLURM_OPTION_DEPENDENCY] = FIELD(STRING, dependency),
    [SLURM_OPTION_EXCLUDE] = FIELD(STRING, exc_nodes),
    [SLURM_OPTION_EXCLUSIVE] = APPLY(exclusive_apply),
    [SLURM_OPTION_GPU_FREQ] = APPLY(gpu_freq_apply),
    [SLURM_OPTION_GRES] = APPLY(gres_apply),
    [SLURM_OPTION_LICENSES] = FIELD(STRING, licenses),
    [SLURM_OPTION_MAIL_TYPE] = APPLY(mail_type_apply),
    [SLURM_OPTION_MAIL_USER] = FIELD(STRING, mail_user),
    [SLURM_OPTION_MCS_LABEL] = FIELD(STRING, mcs_label),
    [SLURM_OPTION_MEM] = FIELD(U64, pn_min_memory),
    [SLURM_OPTION_MEM_PER_CPU] = APPLY(mem_per_cpu_apply),
    [SLURM_OPTION_MEM_PER_GPU] = APPLY(mem_per_gpu_apply),
    [SLURM_OPTION_NETWORK] = FIELD(STRING, network),
    [SLURM_OPTION_NICE] = APPLY(nice_apply),
    [SLURM_OPTION_NODELIST] = FIELD(STRING, req_nodes),
    [SLURM_OPTION_OVERSUBSCRIBE] = APPLY(oversubscribe_apply),
    [SLURM_OPTION_PARTITION] = FIELD(STRING, partition),
    [SLURM_OPTION_PREFER] = FIELD(STRING, prefer),
    [SLURM_OPTION_PRIORITY] = FIELD(U32, priority),
    [SLURM_OPTION_QOS] = FIELD(STRING, qos),
    [SLURM_OPTION_RESERVATION] = FIELD(STRING, reservation),
    [SLURM_OPTION_SWITCHES] = APPLY(switches_apply),
    [SLURM_OPTION_THREADS_PER_CORE] = FIELD(U16, threads_per_core),
    [SLURM_OPTION_TIME_MIN] = FIELD(U32, time_min),
    [SLURM_OPTION_TMP] = FIELD(U32, pn_min_tmp_disk),
    [SLURM_OPTION_WCKEY] = FIELD(STRING, wckey),
#undef FIELD
#undef APPLY
};

/* slurm_option_read() lets only numbers through that fit into the field. */
static int option_store(struct submission *submission, enum slurm_option option, char *value,
                        int64_t number, struct error *err)
{
    char *field = (char *)&submission->job + targets[option].offset;
    if (targets[option].apply)
        return targets[option].apply(submission, value, number, err);
    switch (targets[option].type) {
    case FIELD_STRING:
        *(char **)(void *)field = value;
        return 0;
    case FIELD_U16:
        *(uint16_t *)(void *)field = (uint16_t)number;
        return 0;
    case FIELD_U32:
        *(uint32_t *)(void *)field = (uint32_t)number;
        return 0;
    case FIELD_U64:
        *(uint64_t *)(void *)field = (uint64_t)number;
        return 0;
    case FIELD_TIME:
        *(time_t *)(void *)field = (time_t)number;
        return 0;
    }
    assert(false && "an option without a target");
    return -EINVAL;
}

static int option_apply(struct submission *submission, const struct cluster_option *given,
                        int64_t submitted, struct error *err)
{
    int64_t number;
    int found = slurm_option_find(given->name, err);
    if (found < 0)
        return -EINVAL;
    enum slurm_option option = (enum slurm_option)found;
    int status = slurm_option_read(option, given->value, submitted, &number, err);
    if (status == 0)
        status = option_store(submission, option, keep_copy(submission, given->value), number, err);
    if (status < 0)
        (void)error_prefix(err, "slurm.%s", slurm_option_name(option));
    return status;
}

/* --- The environment -------------------------------------------------------------------------- */

/* A job that is submitted through libslurm gets only what its description says. Without sbatch's
 * variables it has no SLURM_SUBMIT_DIR, and it has the controller's umask and limits instead of the
 * user's. */

/* The variables that sbatch adds, without the limits, and the NULL. */
enum { ENVIRONMENT_ADDED_MAX = 8 };

static void environment_add(struct submission *submission, char *take_variable)
{
    submission->environment[submission->job.env_size++] = take_variable;
}

static size_t strings_count(const char *const *strings)
{
    size_t count = 0;
    while (strings[count])
        count++;
    return count;
}

/* Whether Slurm or one of its commands set the variable, for the job or shell of the capture. */
static bool is_of_slurm(const char *variable)
{
    return text_starts(variable, "SLURM_") || text_starts(variable, "SLURMD_") ||
           text_starts(variable, "SBATCH_") || text_starts(variable, "SRUN_") ||
           text_starts(variable, "SALLOC_");
}

/* Copies the captured environment without the variables of other jobs, and adds sbatch's
 * variables. */
static void fill_environment(struct submission *submission,
                             const struct cluster_description *description)
{
    size_t captured = strings_count(description->environment);
    size_t limits = strings_count(description->limits);
    char host[HOST_NAME_MAX + 1] = "localhost";
    (void)gethostname(host, sizeof host - 1); /* if the name is too long, "localhost" stays */
    submission->job.environment = submission->environment =
        xcalloc(captured + limits + ENVIRONMENT_ADDED_MAX, sizeof *submission->environment);
    submission->job.env_size = 0;

    for (size_t i = 0; i < captured; i++) {
        if (!is_of_slurm(description->environment[i]))
            environment_add(submission, xstrdup(description->environment[i]));
    }
    for (size_t i = 0; i < limits; i++)
        environment_add(submission, text_format("SLURM_RLIMIT_%s", description->limits[i]));
    environment_add(submission, text_format("SLURM_UMASK=0%03o", description->umask));
    environment_add(submission, text_format("SLURM_SUBMIT_DIR=%s", description->submit_dir));
    environment_add(submission, text_format("SLURM_SUBMIT_HOST=%s", host));
    environment_add(submission, text_format("SLURM_JOB_NAME=%s", description->name));
    environment_add(submission, text_format("SLURM_PRIO_PROCESS=0"));
    /* The job's own srun must find the cluster that the daemon found. */
    const char *conf = getenv("SLURM_CONF");
    if (conf)
        environment_add(submission, text_format("SLURM_CONF=%s", conf));
}

/* --- The description -------------------------------------------------------------------------- */

static int description_check(const struct cluster_description *description, struct error *err)
{
    assert(strlen(description->token) == CLUSTER_TOKEN_LENGTH);
    assert(strstr(description->output, description->token));
    if (description->output[0] != '/' || strchr(description->output, '\\'))
        return error_set(err, -EINVAL, "cannot have Slurm write to %s: %s", description->output,
                         description->output[0] == '/' ? "Slurm takes '\\' out of paths"
                                                       : "must be an absolute path");
    if (description->nodes == 0 || description->cpus_per_node > SLURM_SHORT_MAX)
        return error_set(
            err, -EINVAL,
            "job %s asks for %u nodes with %u CPUs each: at least 1 node, at most %u CPUs",
            description->name, description->nodes, description->cpus_per_node, SLURM_SHORT_MAX);
    if (description->option_count > SLURM_OPTION_COUNT)
        return error_set(err, -EINVAL, "job %s: an option is given twice", description->name);
    return 0;
}

static void fill_text(struct submission *submission, const struct cluster_description *description)
{
    job_desc_msg_t *job = &submission->job;
    job->name = keep_copy(submission, description->name);
    job->script = keep_copy(submission, description->script);
    job->work_dir = keep_copy(submission, description->work_dir);
    job->std_out = keep(submission, output_path(description->output));
    job->std_in = keep_copy(submission, "/dev/null");
    job->open_mode = OPEN_MODE_APPEND;
    job->comment = keep(submission, text_format("phased:%s", description->token));
}

/* One task on each node. The worker decides what the task starts. */
static void fill_resources(struct submission *submission,
                           const struct cluster_description *description)
{
    job_desc_msg_t *job = &submission->job;
    unsigned cpus = description->cpus_per_node;
    job->min_nodes = job->max_nodes = description->nodes;
    job->num_tasks = description->nodes;
    job->ntasks_per_node = 1;
    job->min_cpus = description->nodes * (cpus ? cpus : 1);
    if (cpus)
        job->cpus_per_task = (uint16_t)cpus;
    if (description->gpus_per_node > 0)
        job->tres_per_node =
            keep(submission,
                 text_format("gres:gpu:%s%s%u", description->gpu_type ? description->gpu_type : "",
                             description->gpu_type ? ":" : "", description->gpus_per_node));
}

static void fill_control(job_desc_msg_t *job, const struct cluster_description *description)
{
    job->user_id = getuid();
    job->group_id = getgid();
    if (description->time_minutes > 0)
        job->time_limit = description->time_minutes;
    if (description->can_chain && description->time_min_minutes > 0 &&
        description->time_min_minutes < description->time_minutes)
        job->time_min = description->time_min_minutes;
    if (description->warn_s > 0) {
        job->warn_signal = SIGUSR2;
        job->warn_time = (uint16_t)(description->warn_s < SLURM_SHORT_MAX ? description->warn_s
                                                                          : SLURM_SHORT_MAX);
        job->warn_flags = KILL_JOB_BATCH;
    }
    job->requeue = description->requeue;
}

int submission_new(const job_desc_msg_t *defaults, const struct cluster_description *description,
                   struct submission **ret_submission, struct error *err)
{
    int status = description_check(description, err);
    if (status < 0)
        return status;
    struct submission *submission = xcalloc(1, sizeof *submission);
    submission->job = *defaults;
    fill_text(submission, description);
    fill_environment(submission, description);
    fill_resources(submission, description);
    fill_control(&submission->job, description);
    submission->can_chain = description->can_chain;
    for (size_t i = 0; i < description->option_count && status == 0; i++)
        status = option_apply(submission, &description->options[i], description->submitted, err);
    if (status < 0) {
        submission_free(submission);
        return status;
    }
    if (description->excluded && submission->job.exc_nodes)
        submission->excluded = submission->job.exc_nodes + strlen(submission->job.exc_nodes) -
                               strlen(description->excluded);
    *ret_submission = submission;
    return 0;
}

int submission_fit(struct submission *submission, uint32_t limit_minutes, struct error *err)
{
    job_desc_msg_t *job = &submission->job;
    if (job->time_limit == NO_VAL || job->time_limit <= limit_minutes || job->qos)
        return 0;
    if (!submission->can_chain)
        return error_set(err, -EINVAL,
                         "time: %u minutes are more than the %u that %s%s allows; with a "
                         "`checkpoint` the phase would go on in one job after another",
                         job->time_limit, limit_minutes, job->partition ? "partition " : "",
                         job->partition ? job->partition : "the default partition");
    job->time_limit = limit_minutes;
    if (job->time_min != NO_VAL && job->time_min > limit_minutes)
        job->time_min = limit_minutes;
    uint32_t half_s = limit_minutes * 60 / 2;
    if (job->warn_time > half_s)
        job->warn_time = (uint16_t)half_s;
    return 0;
}

bool submission_drop_nodes(struct submission *submission,
                           bool (*is_node)(void *context, const char *name), void *context,
                           struct text *dropped)
{
    const char *at = submission->excluded;
    if (!at)
        return false;
    struct text kept = {0};
    bool has_dropped = false;
    text_add_bytes(&kept, submission->job.exc_nodes, (size_t)(at - submission->job.exc_nodes));
    size_t own = kept.size;
    for (char *name; (name = text_take_item(&at)); free(name)) {
        bool stays = is_node(context, name);
        struct text *list = stays ? &kept : dropped;
        text_addf(list, "%s%s", list->size > (stays ? own : 0) ? "," : "", name);
        has_dropped = has_dropped || !stays;
    }
    if (kept.size == own && own) /* the comma after the spec's own names */
        kept.data[--kept.size] = '\0';
    bool is_empty = kept.size == 0;
    char *names = keep(submission, text_steal(&kept));
    submission->job.exc_nodes = is_empty ? NULL : names;
    submission->excluded = is_empty || own > strlen(names) ? NULL : names + own;
    return has_dropped;
}

void submission_free(struct submission *submission)
{
    if (!submission)
        return;
    for (size_t i = 0; submission->strings[i]; i++)
        free(submission->strings[i]);
    for (size_t i = 0; submission->environment[i]; i++)
        free(submission->environment[i]);
    free(submission->environment);
    free(submission);
}
