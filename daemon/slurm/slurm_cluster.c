/* The Slurm thread takes requests from one queue, calls libslurm, and puts the results into another
 * queue. */
#include "daemon/slurm/slurm_cluster.h"

#include "daemon/slurm/answer.h"
#include "daemon/slurm/cluster.h"
#include "daemon/slurm/configuration.h"
#include "daemon/slurm/interface.h"
#include "daemon/slurm/module.h"
#include "daemon/slurm/partitions.h"
#include "daemon/slurm/submission.h"
#include "daemon/slurm/survey.h"
#include "daemon/slurm/surveyor.h"
#include "daemon/slurm/versions.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

/* One request, which also carries its result. It lives until the caller takes the result. A full
 * queue is therefore noticed when a request is made, and the thread always has room for a
 * result. */
struct request {
    STAILQ_ENTRY(request) link;
    struct cluster_result result; /* its kind, target and job_id are also those of the request */
    struct submission *submissions[SURVEY_FORECASTS_MAX]; /* one to submit, or those of a survey */
    size_t submission_count;
    char token[CLUSTER_TOKEN_LENGTH + 1];
    int64_t begin; /* of CLUSTER_BEGIN */
};

STAILQ_HEAD(requests, request);

struct slurm_cluster {
    struct cluster cluster;
    struct slurm_cluster_config config;
    job_desc_msg_t defaults;
    pthread_t thread;

    pthread_mutex_t mutex; /* guards the members up to the next blank line */
    pthread_cond_t changed;
    struct requests waiting, answered;
    bool closing;

    /* The thread alone uses the members below. */
    char name[64];       /* the name of the cluster, once the controller has answered */
    char *configuration; /* path of the configuration file, or NULL */
    struct configuration_version version;
    struct partitions partitions;
};

static struct request *requests_take(struct requests *requests)
{
    struct request *request = STAILQ_FIRST(requests);
    if (request)
        STAILQ_REMOVE_HEAD(requests, link);
    return request;
}

static void request_free(struct request *request)
{
    if (!request)
        return;
    for (size_t i = 0; i < request->submission_count; i++)
        submission_free(request->submissions[i]);
    cluster_result_fini(&request->result);
    free(request);
}

static void requests_free(struct requests *requests)
{
    for (struct request *request; (request = requests_take(requests));)
        request_free(request);
}

static struct slurm_cluster *slurm_cluster_of(struct cluster *cluster)
{
    return (struct slurm_cluster *)((char *)cluster - offsetof(struct slurm_cluster, cluster));
}

/* --- On the thread ---------------------------------------------------------------------------- */

/* Most calls return -1 and set errno. Some return the error itself. */
static int slurm_error_of(int status)
{
    return status == SLURM_ERROR ? errno : status;
}

static void answer_change(struct cluster_result *result, int slurm_result)
{
    if (slurm_result == SLURM_SUCCESS)
        result->outcome = CLUSTER_DONE;
    else
        answer_failure(result, slurm_error_of(slurm_result));
}

static bool is_node(void *context, const char *name)
{
    const node_info_msg_t *loaded = context;
    for (uint32_t i = 0; i < loaded->record_count; i++)
        if (loaded->node_array[i].name && text_equal(loaded->node_array[i].name, name))
            return true;
    return false;
}

/* Submits the job. If Slurm refuses the job because an excluded node does not exist, submits it
 * once more without the excluded nodes that Slurm does not know. The names of these nodes go into
 * `dropped`. */
static int submit_job(struct submission *submission, submit_response_msg_t **ret_response,
                      struct text *dropped)
{
    node_info_msg_t *loaded = NULL;
    int status = slurm_submit_batch_job(&submission->job, ret_response);
    int code = status == SLURM_SUCCESS ? 0 : slurm_error_of(status);
    if (code != ESLURM_INVALID_NODE_NAME || !submission->excluded ||
        slurm_load_node(0, &loaded, SHOW_ALL) != SLURM_SUCCESS)
        return code;
    if (submission_drop_nodes(submission, is_node, loaded, dropped)) {
        if (*ret_response)
            slurm_free_submit_response_response_msg(*ret_response);
        *ret_response = NULL;
        status = slurm_submit_batch_job(&submission->job, ret_response);
        code = status == SLURM_SUCCESS ? 0 : slurm_error_of(status);
    }
    slurm_free_node_info_msg(loaded);
    return code;
}

static void carry_out_submit(struct slurm_cluster *slurm, struct request *request)
{
    struct cluster_result *result = &request->result;
    struct submission *submission = request->submissions[0];
    submit_response_msg_t *response = NULL;
    struct text dropped = {0};
    struct error err;
    uint32_t limit = partitions_limit(&slurm->partitions, submission->job.partition, time(NULL));
    if (submission_fit(submission, limit, &err) < 0) {
        result->outcome = CLUSTER_REFUSED;
        (void)snprintf(result->message, sizeof result->message, "%.255s", err.message);
        return;
    }
    int slurm_result = submit_job(submission, &response, &dropped);
    answer_change(result, slurm_result);
    if (slurm_result == SLURM_SUCCESS && response) {
        result->job_id = submit_response_id(response);
        if (response->job_submit_user_msg)
            (void)snprintf(result->message, sizeof result->message, "%s",
                           response->job_submit_user_msg);
        result->has_dropped = dropped.size > 0;
        if (result->has_dropped)
            (void)snprintf(result->message, sizeof result->message,
                           "Slurm knows no node %s, which was to be left out",
                           text_string(&dropped));
    }
    text_fini(&dropped);
    if (response)
        slurm_free_submit_response_response_msg(response);
}

/* Asks for the cluster's name once: the name cannot change as long as libslurm keeps its
 * configuration. */
static int learn_name(struct slurm_cluster *slurm)
{
    slurm_conf_t *conf = NULL;
    int slurm_result = slurm->name[0] ? SLURM_SUCCESS : slurm_load_ctl_conf(0, &conf);
    if (!conf)
        return slurm_result;
    (void)snprintf(slurm->name, sizeof slurm->name, "%s", conf->cluster_name);
    slurm_free_conf(conf);
    return slurm_result;
}

/* Loads all jobs once, to answer a poll or several lookups that follow each other. */
static void carry_out_load(struct slurm_cluster *slurm, const struct requests *batch)
{
    struct request *request;
    job_info_msg_t *loaded = NULL;
    int slurm_result = slurm_load_job_user(&loaded, getuid(), SHOW_ALL);
    if (slurm_result == SLURM_SUCCESS)
        slurm_result = learn_name(slurm); /* jobs of an unknown cluster say nothing */
    STAILQ_FOREACH(request, batch, link)
    {
        struct cluster_result *result = &request->result;
        answer_change(result, slurm_result);
        if (slurm_result != SLURM_SUCCESS)
            continue;
        memcpy(result->cluster, slurm->name, sizeof result->cluster);
        answer_jobs(result, loaded, result->kind == CLUSTER_LOOKUP ? request->token : NULL);
        if (result->kind == CLUSTER_LOOKUP && result->job_count == 0)
            result->outcome = CLUSTER_ABSENT;
    }
    if (loaded)
        slurm_free_job_info_msg(loaded);
}

/* Whether the job with the request's id still carries the request's token. A controller that
 * crashed right after a submission has lost the job, and gives the id to the next job of any user.
 * False: the request is answered. A crash between this check and the change stays possible. */
static bool is_same_job(struct request *request)
{
    job_info_msg_t *loaded = NULL;
    struct cluster_result *result = &request->result;
    int slurm_result = slurm_load_job(&loaded, result->job_id, SHOW_ALL);
    answer_change(result, slurm_result);
    if (slurm_result != SLURM_SUCCESS)
        return false;
    bool is_same = answer_has_token(loaded, request->token);
    if (!is_same) {
        result->outcome = CLUSTER_ABSENT;
        (void)snprintf(result->message, sizeof result->message,
                       "its id belongs to a job that is not phased's own");
    }
    slurm_free_job_info_msg(loaded);
    return is_same;
}

static void carry_out_begin(const struct slurm_cluster *slurm, struct request *request)
{
    job_desc_msg_t job = slurm->defaults;
    job_desc_set_id(&job, request->result.job_id);
    job.begin_time = request->begin;
    answer_change(&request->result, slurm_update_job(&job));
}

static void carry_out_cancel(struct request *request)
{
    answer_change(&request->result, slurm_kill_job(request->result.job_id, SIGKILL, 0));
}

/* `request` is the first request of the batch. */
static void carry_out(struct slurm_cluster *slurm, struct request *request,
                      const struct requests *batch)
{
    switch (request->result.kind) {
    case CLUSTER_SUBMIT:
        carry_out_submit(slurm, request);
        break;
    case CLUSTER_LOOKUP:
    case CLUSTER_POLL:
        carry_out_load(slurm, batch);
        break;
    case CLUSTER_CANCEL:
        if (is_same_job(request))
            carry_out_cancel(request);
        break;
    case CLUSTER_BEGIN:
        if (is_same_job(request))
            carry_out_begin(slurm, request);
        break;
    case CLUSTER_SURVEY:
        surveyor_look(&slurm->partitions, request->submissions, request->submission_count,
                      &request->result);
        break;
    }
}

/* Whether there is a new configuration that libslurm can use. A new file that cannot be used,
 * perhaps because it is half written, is ignored until it changes again. */
static bool configuration_is_new(struct slurm_cluster *slurm)
{
    struct configuration_version version = configuration_version(slurm->configuration);
    if (configuration_version_equal(&version, &slurm->version))
        return false;
    slurm->version = version;
    return configuration_check(slurm->config.checker, slurm->config.home, NULL) == 0;
}

/* Waits for requests. Takes one request, or all lookups at the head of the queue, and returns the
 * first of them. NULL: the cluster ends. */
static struct request *take_batch(struct slurm_cluster *slurm, struct requests *batch)
{
    struct request *request;
    pthread_mutex_lock(&slurm->mutex);
    while (!slurm->closing && STAILQ_EMPTY(&slurm->waiting))
        pthread_cond_wait(&slurm->changed, &slurm->mutex);
    bool goes_on = !slurm->closing;
    while (goes_on && (request = requests_take(&slurm->waiting))) {
        const struct request *next = STAILQ_FIRST(&slurm->waiting);
        STAILQ_INSERT_TAIL(batch, request, link);
        goes_on =
            request->result.kind == CLUSTER_LOOKUP && next && next->result.kind == CLUSTER_LOOKUP;
    }
    pthread_mutex_unlock(&slurm->mutex);
    return STAILQ_FIRST(batch);
}

static void hand_over(struct slurm_cluster *slurm, struct requests *batch)
{
    pthread_mutex_lock(&slurm->mutex);
    bool was_empty = STAILQ_EMPTY(&slurm->answered);
    STAILQ_CONCAT(&slurm->answered, batch);
    pthread_mutex_unlock(&slurm->mutex);
    if (was_empty)
        slurm->config.wake(slurm->config.wake_context);
}

static void *slurm_cluster_run(void *context)
{
    struct slurm_cluster *slurm = context;
    struct requests batch = STAILQ_HEAD_INITIALIZER(batch);
    for (struct request *request; (request = take_batch(slurm, &batch));) {
        if (configuration_is_new(slurm)) {
            requests_free(&batch);
            slurm->config.renew(slurm->config.renew_context);
            break;
        }
        carry_out(slurm, request, &batch);
        hand_over(slurm, &batch);
    }
    return NULL;
}

/* --- On the caller's side --------------------------------------------------------------------- */

static struct request *request_new(uint64_t target, enum cluster_kind kind)
{
    struct request *request = xcalloc(1, sizeof *request);
    request->result.target = target;
    request->result.kind = kind;
    return request;
}

/* Gives the request to the thread. Frees it if too many results are not taken. */
static int ask(struct slurm_cluster *slurm, struct request *request, struct error *err)
{
    if (slurm->cluster.requests >= CLUSTER_REQUESTS_MAX) {
        request_free(request);
        return error_set(err, -EAGAIN, "could not ask Slurm: %d requests are waiting",
                         CLUSTER_REQUESTS_MAX);
    }
    pthread_mutex_lock(&slurm->mutex);
    STAILQ_INSERT_TAIL(&slurm->waiting, request, link);
    pthread_cond_signal(&slurm->changed);
    pthread_mutex_unlock(&slurm->mutex);
    return 0;
}

static int ask_about_job(struct cluster *cluster, struct request *request, const char *token,
                         struct error *err)
{
    assert(strlen(token) == CLUSTER_TOKEN_LENGTH);
    memcpy(request->token, token, sizeof request->token);
    return ask(slurm_cluster_of(cluster), request, err);
}

static int slurm_cluster_lookup(struct cluster *cluster, uint64_t target, const char *token,
                                struct error *err)
{
    return ask_about_job(cluster, request_new(target, CLUSTER_LOOKUP), token, err);
}

static int slurm_cluster_change(struct cluster *cluster, uint64_t target, enum cluster_kind kind,
                                uint32_t job_id, const char *token, int64_t begin,
                                struct error *err)
{
    assert(job_id != 0);
    struct request *request = request_new(target, kind);
    request->result.job_id = job_id;
    request->begin = begin;
    return ask_about_job(cluster, request, token, err);
}

static int slurm_cluster_poll(struct cluster *cluster, struct error *err)
{
    return ask(slurm_cluster_of(cluster), request_new(0, CLUSTER_POLL), err);
}

static int ask_with_jobs(struct cluster *cluster, struct request *request,
                         const struct cluster_description *const *descriptions, size_t count,
                         struct error *err)
{
    struct slurm_cluster *slurm = slurm_cluster_of(cluster);
    for (size_t i = 0; i < count; i++) {
        int status =
            submission_new(&slurm->defaults, descriptions[i], &request->submissions[i], err);
        if (status < 0) {
            request_free(request);
            return status;
        }
        request->submission_count++;
    }
    return ask(slurm, request, err);
}

static int slurm_cluster_submit(struct cluster *cluster, uint64_t target,
                                const struct cluster_description *description, struct error *err)
{
    return ask_with_jobs(cluster, request_new(target, CLUSTER_SUBMIT), &description, 1, err);
}

static int slurm_cluster_survey(struct cluster *cluster, uint64_t target,
                                const struct cluster_description *const *descriptions, size_t count,
                                struct error *err)
{
    return ask_with_jobs(cluster, request_new(target, CLUSTER_SURVEY), descriptions, count, err);
}

static bool slurm_cluster_take(struct cluster *cluster, struct cluster_result *ret_result)
{
    struct slurm_cluster *slurm = slurm_cluster_of(cluster);
    pthread_mutex_lock(&slurm->mutex);
    struct request *request = requests_take(&slurm->answered);
    pthread_mutex_unlock(&slurm->mutex);
    if (!request)
        return false;
    *ret_result = request->result;
    request->result = (struct cluster_result){0};
    request_free(request);
    return true;
}

/* Frees everything but the thread. */
static void slurm_cluster_release(struct slurm_cluster *slurm)
{
    partitions_fini(&slurm->partitions);
    slurm_fini();
    free(slurm->configuration);
    requests_free(&slurm->waiting);
    requests_free(&slurm->answered);
    pthread_cond_destroy(&slurm->changed);
    pthread_mutex_destroy(&slurm->mutex);
    free(slurm);
}

static void slurm_cluster_free(struct cluster *cluster)
{
    struct slurm_cluster *slurm = slurm_cluster_of(cluster);
    pthread_mutex_lock(&slurm->mutex);
    slurm->closing = true;
    pthread_cond_signal(&slurm->changed);
    pthread_mutex_unlock(&slurm->mutex);
    pthread_join(slurm->thread, NULL);
    slurm_cluster_release(slurm);
}

static const struct cluster_operations slurm_cluster_operations = {
    .submit = slurm_cluster_submit,
    .lookup = slurm_cluster_lookup,
    .poll = slurm_cluster_poll,
    .change = slurm_cluster_change,
    .survey = slurm_cluster_survey,
    .take = slurm_cluster_take,
    .free = slurm_cluster_free,
};

/* Starts the thread with all signals blocked: the loop handles signals. */
static int thread_start(struct slurm_cluster *slurm)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(&slurm->thread, NULL, slurm_cluster_run, slurm);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -status;
}

int slurm_cluster_new(const struct slurm_cluster_config *config, struct cluster **ret_cluster,
                      struct error *err)
{
    int status = configuration_check(config->checker, config->home, err);
    if (status < 0)
        return status;
    struct slurm_cluster *slurm = xcalloc(1, sizeof *slurm);
    slurm->cluster.operations = &slurm_cluster_operations;
    slurm->config = *config;
    /* This call comes before the thread starts: it reads the environment without a lock. Once the
     * thread runs, only the thread calls libslurm. */
    slurm->configuration = configuration_read();
    slurm->version = configuration_version(slurm->configuration);
    slurm_init_job_desc_msg(&slurm->defaults);
    STAILQ_INIT(&slurm->waiting);
    STAILQ_INIT(&slurm->answered);
    pthread_mutex_init(&slurm->mutex, NULL);
    pthread_cond_init(&slurm->changed, NULL);
    status = thread_start(slurm);
    if (status < 0) {
        slurm_cluster_release(slurm);
        return error_set(err, status, "could not start the Slurm thread: %s", strerror(-status));
    }
    *ret_cluster = &slurm->cluster;
    return 0;
}

/* --- What the module exports ------------------------------------------------------------------ */

extern const struct module_calls phased_slurm_module;

__attribute__((visibility("default"))) const struct module_calls phased_slurm_module = {
    .interface = CLUSTER_INTERFACE,
    .release = SLURM_RELEASE,
    .cluster_new = slurm_cluster_new,
    .configuration_read = configuration_read,
};
