/* The real cluster with a sandbox: each submission runs exactly once, whatever the controller does.
 * The test starts its own sandbox, so it is skipped without Slurm's daemons. */
#include "tests/unit/unit.h"

#include "daemon/slurm/cluster.h"
#include "daemon/slurm/slurm_cluster.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/limits.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    WAIT_S = 60,
    ABSENCES_MAX = 100, /* lookups, 50 ms apart, before a lost submission is repeated */
};

static struct {
    char folder[64];
    char checker[512]; /* phased */
    struct cluster *cluster;
    sem_t woken;
    unsigned tokens;
} test;

/* libslurm leaks 20 bytes for each refused submission. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libslurm.so";
}

__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...)
{
    struct text command = {0};
    va_list args;
    va_start(args, format);
    text_addv(&command, format, args);
    va_end(args);
    FILE *pipe = popen(text_string(&command), "r");
    assert_non_null(pipe);
    text_fini(&command);
    char line[256];
    while (fgets(line, sizeof line, pipe))
        printf("# %s", line);
    return pclose(pipe);
}

static int sandbox(const char *action)
{
    return shell("'%s/etc/sandbox/sandbox' %s '%s/sandbox' 2>&1", getenv("SRC"), action,
                 test.folder);
}

static void signal_controller(int signal)
{
    assert_int_equal(shell("kill -%d $(cat '%s/sandbox/pid/slurmctld')", signal, test.folder), 0);
}

static void wake(void *context)
{
    (void)context;
    (void)sem_post(&test.woken); /* too many wakes for an int would be another failure */
}

/* Waits for the next result. */
static struct cluster_result take(void)
{
    struct cluster_result result;
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += WAIT_S;
    while (!cluster_take(test.cluster, &result))
        if (sem_timedwait(&test.woken, &deadline) < 0 && errno == ETIMEDOUT)
            fail_msg("no result within %d s", WAIT_S);
    return result;
}

/* Returns the answer to the only open request, and frees its memory. */
static struct cluster_result answer_to(int posted, uint64_t target)
{
    assert_int_equal(posted, 0);
    struct cluster_result result = take();
    assert_int_equal(result.target, target);
    struct cluster_result plain = result;
    cluster_result_fini(&result);
    plain.jobs = NULL;
    plain.job_count = 0;
    return plain;
}

struct submission {
    char token[CLUSTER_TOKEN_LENGTH + 1];
    char output[256];
    struct cluster_description description;
};

static const char *const environment[] = {"PATH=/usr/bin:/bin", "COLOUR=green", "SLURM_JOB_ID=77",
                                          "SBATCH_PARTITION=prod", NULL};

static const char *const no_limits[] = {NULL};

static void job_init(struct submission *job, const char *script)
{
    (void)snprintf(job->token, sizeof job->token, "%032x", ++test.tokens);
    (void)snprintf(job->output, sizeof job->output, "%s/100%% phased-%s.log", test.folder,
                   job->token);
    job->description = (struct cluster_description){
        .token = job->token,
        .name = "test",
        .script = script,
        .work_dir = test.folder,
        .output = job->output,
        .environment = environment,
        .limits = no_limits,
        .umask = 022,
        .submit_dir = test.folder,
        .nodes = 1,
        .gpus_per_node = 1,
        .gpu_type = "h100",
        .time_minutes = 5,
        .requeue = true,
    };
}

static void job_hold(struct submission *job)
{
    static const struct cluster_option priority = {"priority", "0"};
    job->description.options = &priority;
    job->description.option_count = 1;
}

static uint32_t submit(const struct submission *job)
{
    struct cluster_result result =
        answer_to(cluster_submit(test.cluster, 1, &job->description, NULL), 1);
    if (result.outcome != CLUSTER_DONE)
        fail_msg("outcome %d: %s", (int)result.outcome, result.message);
    assert_true(result.job_id > 0);
    return result.job_id;
}

static bool find(uint32_t id, struct cluster_job *ret_job)
{
    bool found = false;
    assert_int_equal(cluster_poll(test.cluster, NULL), 0);
    struct cluster_result result = take();
    assert_int_equal(result.kind, CLUSTER_POLL);
    for (size_t i = 0; i < result.job_count && !found; i++) {
        *ret_job = result.jobs[i];
        ret_job->reason = ret_job->nodes = NULL;
        found = ret_job->id == id;
    }
    cluster_result_fini(&result);
    return found;
}

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
}

/* Polls until the job stays in `state`, with at least `restarts`. */
static struct cluster_job wait_for(uint32_t id, enum cluster_job_state state, uint32_t restarts)
{
    struct cluster_job job = {0};
    for (int i = 0; i < WAIT_S * 20; i++, pause_briefly())
        if (find(id, &job) && job.state == state && job.restarts >= restarts && !job.completing)
            return job;
    fail_msg("job %u is %s with %u restarts, not %s", id, cluster_job_state_name(job.state),
             job.restarts, cluster_job_state_name(state));
    return job;
}

static char *output_of(const struct submission *job)
{
    char *output = NULL;
    assert_int_equal(file_read(job->output, 1 << 20, &output, NULL, NULL), 0);
    return output;
}

/* Slurm may say RUNNING before the first line of the script. */
static void wait_for_output(const struct submission *job, const char *line)
{
    bool is_there = false;
    for (int i = 0; i < WAIT_S * 20 && !is_there; i++, pause_briefly()) {
        char *output = NULL;
        (void)file_read(job->output, 1 << 20, &output, NULL, NULL); /* the file may not exist yet */
        is_there = output && strstr(output, line);
        free(output);
    }
    assert_true(is_there);
}

static void a_submitted_job_runs_and_is_seen_to_its_end(void **state)
{
    (void)state;
    struct submission job;
    job_init(&job,
             "#!/bin/sh\necho out; echo err >&2; pwd; echo GPUs $CUDA_VISIBLE_DEVICES\nexit 3\n");
    job.description.gpus_per_node = 2;
    uint32_t id = submit(&job);
    struct cluster_job seen = wait_for(id, CLUSTER_JOB_FAILED, 0);
    assert_string_equal(seen.token, job.token);
    assert_int_equal(seen.time_limit_minutes, 5);
    assert_true(cluster_job_is_final(&seen));
    assert_true(seen.submit_time > 0 && seen.end_time >= seen.start_time);
    char *output = output_of(&job), expected[256];
    (void)snprintf(expected, sizeof expected, "out\nerr\n%s\nGPUs 0,1\n", test.folder);
    assert_string_equal(output, expected);
    free(output);
}

static void environment_umask_and_limits_reach_the_job(void **state)
{
    (void)state;
    struct rlimit limit, fewer;
    struct submission job;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    fewer = (struct rlimit){.rlim_cur = 77, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &fewer), 0);
    char **limits = limits_capture();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);

    job_init(&job, "#!/bin/sh\necho $COLOUR $SLURM_SUBMIT_DIR $SLURM_SUBMIT_HOST\numask\n"
                   "ulimit -Sn\necho $SLURM_JOB_PARTITION ${SBATCH_PARTITION-unset}\n"
                   "test $SLURM_JOB_ID != 77 && echo own id\n");
    job.description.umask = 027;
    job.description.limits = (const char *const *)limits;
    job.description.submit_dir = "/usr";
    (void)wait_for(submit(&job), CLUSTER_JOB_COMPLETED, 0);
    char *output = output_of(&job), host[128], expected[256];
    assert_int_equal(gethostname(host, sizeof host), 0);
    (void)snprintf(expected, sizeof expected, "green /usr %s\n0027\n77\npreempt unset\nown id\n",
                   host);
    assert_string_equal(output, expected);
    free(output);
    limits_free(limits);
}

static void a_job_is_found_by_its_token_also_without_its_comment(void **state)
{
    (void)state;
    struct submission job;
    job_init(&job, "#!/bin/sh\n");
    job_hold(&job);
    uint32_t id = submit(&job);
    struct cluster_result result = answer_to(cluster_lookup(test.cluster, 3, job.token, NULL), 3);
    assert_int_equal(result.outcome, CLUSTER_DONE);
    assert_int_equal(result.job_id, id);
    assert_string_equal(result.cluster, "sandbox");

    assert_int_equal(shell("scontrol update jobid=%u comment=rewritten", id), 0);
    result = answer_to(cluster_lookup(test.cluster, 4, job.token, NULL), 4);
    assert_int_equal(result.outcome, CLUSTER_DONE);
    assert_int_equal(result.job_id, id);

    result =
        answer_to(cluster_lookup(test.cluster, 5, "ffffffffffffffffffffffffffffffff", NULL), 5);
    assert_int_equal(result.outcome, CLUSTER_ABSENT);
    (void)answer_to(cluster_change(test.cluster, 6, CLUSTER_CANCEL, id, job.token, 0, NULL), 6);
}

static void many_lookups_are_each_answered(void **state)
{
    (void)state;
    struct submission jobs[20];
    uint32_t ids[20];
    for (size_t i = 0; i < 20; i++) {
        job_init(&jobs[i], "#!/bin/sh\n");
        job_hold(&jobs[i]);
        assert_int_equal(cluster_submit(test.cluster, i, &jobs[i].description, NULL), 0);
    }
    for (size_t i = 0; i < 20; i++) {
        struct cluster_result result = take();
        assert_int_equal(result.target, i);
        assert_int_equal(result.outcome, CLUSTER_DONE);
        ids[i] = result.job_id;
    }
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(cluster_lookup(test.cluster, 100 + i, jobs[i].token, NULL), 0);
    for (size_t i = 0; i < 20; i++) {
        struct cluster_result result = take();
        assert_int_equal(result.target, 100 + i);
        assert_int_equal(result.job_id, ids[i]);
        assert_int_equal(result.job_count, 1);
        assert_true(result.jobs[0].held);
        cluster_result_fini(&result);
    }
    for (size_t i = 0; i < 20; i++)
        (void)answer_to(
            cluster_change(test.cluster, i, CLUSTER_CANCEL, ids[i], jobs[i].token, 0, NULL), i);
}

static void a_held_job_waits_for_its_release(void **state)
{
    (void)state;
    struct submission job;
    job_init(&job, "#!/bin/sh\n");
    job_hold(&job);
    uint32_t id = submit(&job);
    assert_true(wait_for(id, CLUSTER_JOB_PENDING, 0).held);
    assert_int_equal(shell("scontrol release %u", id), 0);
    (void)wait_for(id, CLUSTER_JOB_COMPLETED, 0);
}

static void a_cancelled_job_ends_and_a_second_cancel_finds_none(void **state)
{
    (void)state;
    struct submission job;
    job_init(&job, "#!/bin/sh\nsleep 1000\n");
    uint32_t id = submit(&job);
    (void)wait_for(id, CLUSTER_JOB_RUNNING, 0);
    struct cluster_result result =
        answer_to(cluster_change(test.cluster, 9, CLUSTER_CANCEL, id, job.token, 0, NULL), 9);
    assert_int_equal(result.outcome, CLUSTER_DONE);
    (void)wait_for(id, CLUSTER_JOB_CANCELLED, 0);
    result = answer_to(cluster_change(test.cluster, 9, CLUSTER_CANCEL, id, job.token, 0, NULL), 9);
    assert_int_equal(result.outcome, CLUSTER_ABSENT);
    result =
        answer_to(cluster_change(test.cluster, 9, CLUSTER_CANCEL, 4000000, job.token, 0, NULL), 9);
    assert_int_equal(result.outcome, CLUSTER_ABSENT);
}

/* As after a crash of the controller, when the id of a lost job is given out again. */
static void a_job_with_another_token_is_left_alone(void **state)
{
    (void)state;
    struct submission lost, job;
    job_init(&lost, "#!/bin/sh\n");
    job_init(&job, "#!/bin/sh\n");
    job_hold(&job);
    uint32_t id = submit(&job);
    struct cluster_result result =
        answer_to(cluster_change(test.cluster, 9, CLUSTER_CANCEL, id, lost.token, 0, NULL), 9);
    assert_int_equal(result.outcome, CLUSTER_ABSENT);
    int64_t now = time(NULL);
    result = answer_to(
        cluster_change(test.cluster, 9, CLUSTER_BEGIN, id, lost.token, now + 3600, NULL), 9);
    assert_int_equal(result.outcome, CLUSTER_ABSENT);
    assert_true(wait_for(id, CLUSTER_JOB_PENDING, 0).eligible_time < now + 1800);

    /* A site may rewrite comments. Then the path shows the owner. */
    assert_int_equal(shell("scontrol update jobid=%u comment=rewritten", id), 0);
    result = answer_to(cluster_change(test.cluster, 9, CLUSTER_CANCEL, id, lost.token, 0, NULL), 9);
    assert_int_equal(result.outcome, CLUSTER_ABSENT);
    result = answer_to(cluster_change(test.cluster, 9, CLUSTER_CANCEL, id, job.token, 0, NULL), 9);
    assert_int_equal(result.outcome, CLUSTER_DONE);
    (void)wait_for(id, CLUSTER_JOB_CANCELLED, 0);
}

static void a_requeued_job_keeps_its_id_and_begins_soon_when_told(void **state)
{
    (void)state;
    struct submission job;
    job_init(&job, "#!/bin/sh\necho start ${SLURM_RESTART_COUNT-0}\n"
                   "test -n \"$SLURM_RESTART_COUNT\" || sleep 1000\n");
    uint32_t id = submit(&job);
    (void)wait_for(id, CLUSTER_JOB_RUNNING, 0);
    wait_for_output(&job, "start 0\n");
    assert_int_equal(shell("scontrol requeue %u", id), 0);
    struct cluster_job seen = wait_for(id, CLUSTER_JOB_PENDING, 1);
    assert_false(seen.held);
    int64_t now = time(NULL);
    assert_true(seen.eligible_time > now + 60);
    struct cluster_result result = answer_to(
        cluster_change(test.cluster, 12, CLUSTER_BEGIN, id, job.token, now + 2, NULL), 12);
    assert_int_equal(result.outcome, CLUSTER_DONE);
    (void)wait_for(id, CLUSTER_JOB_COMPLETED, 1);
    char *output = output_of(&job);
    assert_non_null(strstr(output, "start 0\n"));
    assert_non_null(strstr(output, "start 1\n"));
    free(output);
}

static void what_slurm_refuses_is_told_in_its_words(void **state)
{
    (void)state;
    const struct cluster_option partition = {"partition", "nowhere"};
    struct submission job;
    job_init(&job, "#!/bin/sh\n");
    job.description.options = &partition;
    job.description.option_count = 1;
    struct cluster_result result =
        answer_to(cluster_submit(test.cluster, 13, &job.description, NULL), 13);
    assert_int_equal(result.outcome, CLUSTER_REFUSED);
    assert_string_equal(result.message, "Invalid partition name specified");

    job_init(&job, "#!/bin/sh\n");
    job.description.gpus_per_node = 9;
    result = answer_to(cluster_submit(test.cluster, 14, &job.description, NULL), 14);
    assert_int_equal(result.outcome, CLUSTER_REFUSED);
}

static void an_unknown_option_is_refused_at_once(void **state)
{
    (void)state;
    const struct cluster_option options[] = {{"partition", "prod"}, {"acount", "x"}};
    struct cluster_result result;
    struct error err;
    struct submission job;
    job_init(&job, "#!/bin/sh\n");
    job.description.options = options;
    job.description.option_count = 2;
    assert_int_equal(cluster_submit(test.cluster, 15, &job.description, &err), -EINVAL);
    assert_string_equal(err.message, "unknown Slurm option 'acount' (did you mean account?)");
    assert_false(cluster_take(test.cluster, &result));
}

static void too_many_requests_are_refused_until_results_are_taken(void **state)
{
    (void)state;
    const char *token = "ffffffffffffffffffffffffffffffff";
    for (uint64_t i = 0; i < CLUSTER_REQUESTS_MAX; i++)
        assert_int_equal(cluster_lookup(test.cluster, i, token, NULL), 0);
    assert_int_equal(cluster_poll(test.cluster, NULL), -EAGAIN);
    struct cluster_result first = take();
    cluster_result_fini(&first);
    assert_int_equal(cluster_lookup(test.cluster, CLUSTER_REQUESTS_MAX, token, NULL), 0);
    for (uint64_t i = 1; i <= CLUSTER_REQUESTS_MAX; i++) {
        struct cluster_result result = take();
        assert_int_equal(result.target, i);
        cluster_result_fini(&result);
    }
}

static void a_submission_without_an_answer_is_found_by_its_token(void **state)
{
    (void)state;
    struct submission job;
    job_init(&job, "#!/bin/sh\n");
    /* The kernel takes the request for the stopped controller, whose answer comes too late. */
    signal_controller(SIGSTOP);
    struct cluster_result result =
        answer_to(cluster_submit(test.cluster, 19, &job.description, NULL), 19);
    signal_controller(SIGCONT);
    assert_int_equal(result.outcome, CLUSTER_UNREACHABLE);
    assert_int_equal(result.job_id, 0);
    assert_true(result.message[0] != '\0');

    /* The controller may answer a lookup before it reads the older submission. */
    unsigned absences = 0;
    do {
        pause_briefly();
        result = answer_to(cluster_lookup(test.cluster, 20, job.token, NULL), 20);
        absences += result.outcome == CLUSTER_ABSENT;
    } while (result.outcome == CLUSTER_UNREACHABLE ||
             (result.outcome == CLUSTER_ABSENT && absences < ABSENCES_MAX));
    if (result.outcome == CLUSTER_ABSENT)
        result.job_id = submit(&job);
    (void)wait_for(result.job_id, CLUSTER_JOB_COMPLETED, 0);
    assert_int_equal(shell("test $(squeue -h -t all -o %%k | grep -c %s) = 1", job.token), 0);
}

static void with_the_controller_gone_for_a_while_a_job_is_submitted_once(void **state)
{
    (void)state;
    struct submission job;
    job_init(&job, "#!/bin/sh\n");
    signal_controller(SIGKILL);
    struct cluster_result result =
        answer_to(cluster_submit(test.cluster, 21, &job.description, NULL), 21);
    assert_int_equal(result.outcome, CLUSTER_UNREACHABLE);
    assert_int_equal(sandbox("start"), 0);
    do
        result = answer_to(cluster_lookup(test.cluster, 22, job.token, NULL), 22);
    while (result.outcome == CLUSTER_UNREACHABLE);
    assert_int_equal(result.outcome, CLUSTER_ABSENT);
    (void)wait_for(submit(&job), CLUSTER_JOB_COMPLETED, 0);
    assert_int_equal(shell("test $(squeue -h -t all -o %%k | grep -c %s) = 1", job.token), 0);
}

static void an_end_with_requests_waiting_forgets_them(void **state)
{
    (void)state;
    struct submission job;
    job_init(&job, "#!/bin/sh\n");
    job_hold(&job);
    for (uint64_t i = 0; i < 200; i++)
        assert_int_equal(cluster_submit(test.cluster, i, &job.description, NULL), 0);
    cluster_free(test.cluster);
    test.cluster = NULL;
}

static void without_a_configuration_there_is_an_error_and_no_exit(void **state)
{
    (void)state;
    struct slurm_cluster_config config = {.checker = test.checker};
    struct cluster *cluster = NULL;
    struct error err;
    char path[128], expected[256];
    char *kept = text_format("%s", getenv("SLURM_CONF"));
    (void)snprintf(path, sizeof path, "%s/none.conf", test.folder);
    assert_int_equal(setenv("SLURM_CONF", path, 1), 0);
    assert_int_equal(slurm_cluster_new(&config, &cluster, &err), -ENOENT);
    (void)snprintf(expected, sizeof expected,
                   "cannot read Slurm's configuration %s, which SLURM_CONF names: "
                   "No such file or directory",
                   path);
    assert_string_equal(err.message, expected);
    assert_int_equal(file_replace(path, "ClusterName=x\nNonsense=1\n", 25, 0600, &err), 0);
    assert_int_equal(slurm_cluster_new(&config, &cluster, &err), -EINVAL);
    assert_string_equal(err.message, "cannot use Slurm's configuration: No SlurmctldHost defined.");
    assert_null(cluster);
    assert_int_equal(setenv("SLURM_CONF", kept, 1), 0);
    free(kept);
}

static void a_good_configuration_gives_a_cluster(void **state)
{
    (void)state;
    struct slurm_cluster_config config = {.checker = test.checker, .wake = wake};
    struct error err;
    if (slurm_cluster_new(&config, &test.cluster, &err) < 0)
        fail_msg("%s", err.message);
}

static int start(void **state)
{
    (void)state;
    char path[128];
    (void)snprintf(test.folder, sizeof test.folder, "/tmp/phased-test-XXXXXX");
    (void)snprintf(test.checker, sizeof test.checker, "%s/phased", getenv("BIN"));
    if (!mkdtemp(test.folder) || sem_init(&test.woken, 0, 0) < 0 || sandbox("start") != 0)
        return -1;
    (void)snprintf(path, sizeof path, "%s/sandbox/slurm.conf", test.folder);
    return setenv("SLURM_CONF", path, 1);
}

static int stop(void **state)
{
    (void)state;
    cluster_free(test.cluster);
    int result = sandbox("stop");
    (void)shell("rm -rf '%s'", test.folder); /* a folder left in /tmp is not a failure */
    return result;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_configuration_there_is_an_error_and_no_exit),
        cmocka_unit_test(a_good_configuration_gives_a_cluster),
        cmocka_unit_test(a_submitted_job_runs_and_is_seen_to_its_end),
        cmocka_unit_test(environment_umask_and_limits_reach_the_job),
        cmocka_unit_test(a_job_is_found_by_its_token_also_without_its_comment),
        cmocka_unit_test(many_lookups_are_each_answered),
        cmocka_unit_test(a_held_job_waits_for_its_release),
        cmocka_unit_test(a_cancelled_job_ends_and_a_second_cancel_finds_none),
        cmocka_unit_test(a_job_with_another_token_is_left_alone),
        cmocka_unit_test(a_requeued_job_keeps_its_id_and_begins_soon_when_told),
        cmocka_unit_test(what_slurm_refuses_is_told_in_its_words),
        cmocka_unit_test(an_unknown_option_is_refused_at_once),
        cmocka_unit_test(too_many_requests_are_refused_until_results_are_taken),
        cmocka_unit_test(a_submission_without_an_answer_is_found_by_its_token),
        cmocka_unit_test(with_the_controller_gone_for_a_while_a_job_is_submitted_once),
        cmocka_unit_test(an_end_with_requests_waiting_forgets_them),
    };
    if (!getenv("SRC") || !getenv("BIN") ||
        shell("PATH=$PATH:/usr/sbin command -v slurmctld >/dev/null") != 0) {
        printf("1..0 # SKIP Slurm's daemons are not installed\n");
        return 0;
    }
    return cmocka_run_group_tests_name("cluster", tests, start, stop);
}
