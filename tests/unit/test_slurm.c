/* The border to libslurm, without a controller: what becomes of a description, and what answers
 * mean. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "daemon/slurm/answer.h"
#include "daemon/slurm/configuration.h"
#include "daemon/slurm/submission.h"
#include "daemon/slurm/versions.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/spec/slurm_options.h"
#include "lib/text.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOKEN "0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210"

enum { SUBMITTED = 1769860800 };

static const char *const environment[] = {"A=1", "SLURM_JOB_ID=7", "SRUN_DEBUG=3", "SLURMX=kept",
                                          NULL};
static const char *const limits[] = {"NOFILE=77", NULL};

static const struct cluster_description plain = {
    .token = TOKEN,
    .name = "trm/validate",
    .script = "#!/bin/sh\n",
    .work_dir = "/home/me",
    .output = "/home/me/50%/phased-" TOKEN ".log",
    .environment = environment,
    .limits = limits,
    .umask = 0077,
    .submit_dir = "/home/me/code",
    .submitted = SUBMITTED,
    .nodes = 2,
    .gpus_per_node = 8,
    .gpu_type = "h100",
    .cpus_per_node = 128,
    .time_minutes = 60,
    .warn_s = 90,
    .requeue = true,
};

static struct submission *submission_of(const struct cluster_description *description)
{
    struct submission *submission;
    struct error err;
    job_desc_msg_t defaults;
    slurm_init_job_desc_msg(&defaults);
    if (submission_new(&defaults, description, &submission, &err) < 0)
        fail_msg("%s", err.message);
    return submission;
}

static void a_description_becomes_what_sbatch_would_send(void **state)
{
    (void)state;
    struct submission *submission = submission_of(&plain);
    const job_desc_msg_t *job = &submission->job;
    assert_string_equal(job->comment, "phased:" TOKEN);
    assert_string_equal(job->std_out, "/home/me/50%%/phased-" TOKEN ".log");
    assert_string_equal(job->tres_per_node, "gres:gpu:h100:8");
    assert_int_equal(job->min_nodes, 2);
    assert_int_equal(job->max_nodes, 2);
    assert_int_equal(job->num_tasks, 2);
    assert_int_equal(job->ntasks_per_node, 1);
    assert_int_equal(job->cpus_per_task, 128);
    assert_int_equal(job->min_cpus, 256);
    assert_int_equal(job->time_limit, 60);
    assert_int_equal(job->warn_signal, SIGUSR2);
    assert_int_equal(job->warn_time, 90);
    assert_int_equal(job->warn_flags, KILL_JOB_BATCH);
    assert_int_equal(job->requeue, 1);
    assert_int_equal(job->open_mode, OPEN_MODE_APPEND);
    assert_int_equal(job->priority, NO_VAL);
    submission_free(submission);
}

static void a_limit_of_a_partition_shortens_the_time_or_is_reported(void **state)
{
    static const struct {
        bool can_chain;
        unsigned time_min, limit;
        bool has_qos;
        uint32_t time, least; /* as submitted; 0: refused */
        unsigned warn;
    } rows[] = {
        {false, 0, 60, false, 60, NO_VAL, 90},
        {false, 0, 59, false, 0, 0, 0},
        {false, 0, 59, true, 60, NO_VAL, 90},
        {true, 0, UINT32_MAX, false, 60, NO_VAL, 90},
        {true, 15, UINT32_MAX, false, 60, 15, 90},
        {true, 15, 10, false, 10, 10, 90},
        {true, 15, 2, false, 2, 2, 60},
        {false, 15, 60, false, 60, NO_VAL, 90},
        {true, 60, 60, false, 60, NO_VAL, 90},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cluster_description description = plain;
        struct error err;
        description.can_chain = rows[i].can_chain;
        description.time_min_minutes = rows[i].time_min;
        struct submission *submission = submission_of(&description);
        char qos[] = "long";
        submission->job.qos = rows[i].has_qos ? qos : NULL;
        int result = submission_fit(submission, rows[i].limit, &err);
        assert_int_equal(result, rows[i].time ? 0 : -EINVAL);
        if (result == 0) {
            assert_int_equal(submission->job.time_limit, rows[i].time);
            assert_int_equal(submission->job.time_min, rows[i].least);
            assert_int_equal(submission->job.warn_time, rows[i].warn);
        } else {
            assert_string_equal(err.message,
                                "time: 60 minutes are more than the 59 that the default partition "
                                "allows; with a `checkpoint` the phase would go on in one job "
                                "after another");
        }
        submission_free(submission);
    }
}

static void the_environment_has_the_variables_of_user_and_sbatch(void **state)
{
    (void)state;
    char host[128] = "SLURM_SUBMIT_HOST=";
    assert_int_equal(gethostname(host + strlen(host), sizeof host - strlen(host)), 0);
    const char *const expected[] = {"A=1",
                                    "SLURMX=kept",
                                    "SLURM_RLIMIT_NOFILE=77",
                                    "SLURM_UMASK=0077",
                                    "SLURM_SUBMIT_DIR=/home/me/code",
                                    host,
                                    "SLURM_JOB_NAME=trm/validate",
                                    "SLURM_PRIO_PROCESS=0",
                                    "SLURM_CONF=/etc/here/slurm.conf"};
    const size_t count = sizeof expected / sizeof expected[0];
    assert_int_equal(setenv("SLURM_CONF", "/etc/here/slurm.conf", 1), 0);
    struct submission *submission = submission_of(&plain);
    assert_int_equal(submission->job.env_size, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(submission->job.environment[i], expected[i]);
    submission_free(submission);
}

/* Returns a value that the type accepts. */
static const char *sample(enum slurm_option option)
{
    switch (slurm_option_type(option)) {
    case SLURM_VALUE_STRING:
        return "word";
    case SLURM_VALUE_SHORT:
    case SLURM_VALUE_INTEGER:
    case SLURM_VALUE_NICE:
        return "3";
    case SLURM_VALUE_MEMORY:
        return "4G";
    case SLURM_VALUE_FLAG:
        return "true";
    case SLURM_VALUE_DURATION:
        return "30m";
    case SLURM_VALUE_TIME:
        return "now+60";
    case SLURM_VALUE_MAIL:
        return "END";
    case SLURM_VALUE_SWITCHES:
        return "2@60";
    }
    return NULL;
}

/* Whether two descriptions differ in more than the addresses of their strings. */
static bool differ(const struct submission *a, const struct submission *b)
{
    job_desc_msg_t job = a->job, other = b->job;
    if (text_equal(job.comment, other.comment))
        job.comment = other.comment;
    if (text_equal(job.tres_per_node, other.tres_per_node))
        job.tres_per_node = other.tres_per_node;
    job.name = other.name, job.script = other.script, job.work_dir = other.work_dir;
    job.std_out = other.std_out, job.std_in = other.std_in;
    job.environment = other.environment;
    return memcmp(&job, &other, sizeof job) != 0;
}

static void each_option_changes_the_job(void **state)
{
    (void)state;
    struct submission *without = submission_of(&plain), *again = submission_of(&plain);
    assert_false(differ(without, again));
    for (int i = 0; i < SLURM_OPTION_COUNT; i++) {
        struct cluster_option option = {slurm_option_name((enum slurm_option)i),
                                        sample((enum slurm_option)i)};
        struct cluster_description description = plain;
        description.options = &option;
        description.option_count = 1;
        struct submission *with = submission_of(&description);
        if (!differ(with, without))
            fail_msg("%s changes nothing", option.name);
        submission_free(with);
    }
    submission_free(without);
    submission_free(again);
}

static void options_go_where_sbatch_puts_them(void **state)
{
    (void)state;
    static const struct cluster_option options[] = {
        {"comment", "mine"},
        {"gres", "nvme:1,gres:lustre"},
        {"mem-per-cpu", "2G"},
        {"nice", "-5"},
        {"mail_type", "END,fail,ARRAY_TASKS"},
        {"switches", "2@60"},
        {"exclusive", "true"},
        {"begin", "now+90"},
        {"mem_per_gpu", "100G"},
        {"exclude", "n[1-2]"},
        {"time_min", "30m"},
    };
    struct cluster_description description = plain;
    description.options = options;
    description.option_count = sizeof options / sizeof options[0];
    struct submission *submission = submission_of(&description);
    const job_desc_msg_t *job = &submission->job;
    assert_string_equal(job->comment, "phased:" TOKEN " mine");
    assert_string_equal(job->tres_per_node, "gres:gpu:h100:8,gres:nvme:1,gres:lustre");
    assert_true(job->pn_min_memory == (2048 | MEM_PER_CPU));
    assert_int_equal(job->nice, NICE_OFFSET - 5);
    assert_int_equal(job->mail_type, MAIL_JOB_END | MAIL_JOB_FAIL);
    assert_int_equal(job->req_switch, 2);
    assert_int_equal(job->wait4switch, 3600);
    assert_int_equal(job->shared, JOB_SHARED_NONE);
    assert_int_equal(job->begin_time, SUBMITTED + 90);
    assert_string_equal(job->mem_per_tres, "gres:gpu:102400");
    assert_string_equal(job->exc_nodes, "n[1-2]");
    assert_int_equal(job->time_min, 30);
    submission_free(submission);
}

static bool is_not_nope(void *context, const char *name)
{
    (void)context;
    return !text_starts(name, "nope");
}

static void unknown_excluded_nodes_are_dropped_except_those_of_the_spec(void **state)
{
    (void)state;
    static const struct {
        const char *all, *excluded, *left, *dropped;
    } rows[] = {
        {"n1,nope", "n1,nope", "n1", "nope"},
        {"nope", "nope", NULL, "nope"},
        {"nope1,nope2,n[1-2],nope3", "nope3", "nope1,nope2,n[1-2]", "nope3"},
        {"n7,nope1,n3,nope2,n4", "nope1,n3,nope2,n4", "n7,n3,n4", "nope1,nope2"},
        {"n1,n2", "n1,n2", "n1,n2", ""},
        {"nope", NULL, "nope", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct cluster_option option = {"exclude", rows[i].all};
        struct cluster_description description = plain;
        struct text dropped = {0};
        description.options = &option;
        description.option_count = 1;
        description.excluded = rows[i].excluded;
        struct submission *submission = submission_of(&description);
        for (int j = 0; j < 2; j++) /* the second time, nothing is left to drop */
            assert_int_equal(submission_drop_nodes(submission, is_not_nope, NULL, &dropped),
                             j == 0 && rows[i].dropped[0]);
        assert_string_equal(text_string(&dropped), rows[i].dropped);
        const char *left = submission->job.exc_nodes;
        if (!left || !rows[i].left)
            assert_ptr_equal(left, rows[i].left);
        else
            assert_string_equal(left, rows[i].left);
        submission_free(submission);
        text_fini(&dropped);
    }
}

static void a_wrong_option_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        struct cluster_option option;
        const char *message;
    } rows[] = {
        {{"ntasks", "8"}, "unknown Slurm option 'ntasks'"},
        {{"mail_type", "SOMETIMES"}, "slurm.mail_type: unknown type 'SOMETIMES'"},
        {{"switches", "few"}, "slurm.switches: 'few' is not COUNT or COUNT@MINUTES"},
        {{"core_spec", "70000"}, "slurm.core_spec: 70000 is not from 0 to 65533"},
        {{"priority", "-1"}, "slurm.priority: -1 is not from 0 to 4294967293"},
        {{"exclusive", "maybe"}, "slurm.exclusive: 'maybe' must be true or false"},
    };
    job_desc_msg_t defaults;
    slurm_init_job_desc_msg(&defaults);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cluster_description description = plain;
        struct submission *submission = NULL;
        struct error err;
        description.options = &rows[i].option;
        description.option_count = 1;
        assert_int_equal(submission_new(&defaults, &description, &submission, &err), -EINVAL);
        assert_string_equal(err.message, rows[i].message);
        assert_null(submission);
    }
}

static void each_error_of_slurm_has_one_meaning(void **state)
{
    (void)state;
    static const struct {
        enum cluster_kind kind;
        int slurm_error;
        enum cluster_outcome outcome;
    } rows[] = {
        {CLUSTER_SUBMIT, SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR, CLUSTER_UNREACHABLE},
        {CLUSTER_SUBMIT, SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT, CLUSTER_UNREACHABLE},
        {CLUSTER_SUBMIT, SLURM_PROTOCOL_AUTHENTICATION_ERROR, CLUSTER_UNREACHABLE},
        {CLUSTER_SUBMIT, ESLURM_AUTH_CRED_INVALID, CLUSTER_UNREACHABLE},
        {CLUSTER_SUBMIT, ESLURM_IN_STANDBY_MODE, CLUSTER_UNREACHABLE},
        {CLUSTER_SUBMIT, EAGAIN, CLUSTER_UNREACHABLE},
        {CLUSTER_SUBMIT, ESLURM_INVALID_PARTITION_NAME, CLUSTER_REFUSED},
        {CLUSTER_SUBMIT, ESLURM_INVALID_ACCOUNT, CLUSTER_REFUSED},
        {CLUSTER_SUBMIT, ESLURM_INVALID_QOS, CLUSTER_REFUSED},
        {CLUSTER_SUBMIT, ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, CLUSTER_REFUSED},
        {CLUSTER_SUBMIT, ESLURM_ACCOUNTING_POLICY, CLUSTER_LIMITED},
        {CLUSTER_SUBMIT, ESLURM_MAX_JOB_COUNT, CLUSTER_LIMITED},
        {CLUSTER_SUBMIT, ESLURM_SUBMISSIONS_DISABLED, CLUSTER_LIMITED},
        {CLUSTER_SUBMIT, ESLURM_WRITING_TO_FILE, CLUSTER_LIMITED},
        {CLUSTER_CANCEL, ESLURM_INVALID_JOB_ID, CLUSTER_ABSENT},
        {CLUSTER_CANCEL, ESLURM_ALREADY_DONE, CLUSTER_ABSENT},
        {CLUSTER_CANCEL, ESLURM_ACCESS_DENIED, CLUSTER_REFUSED},
        {CLUSTER_BEGIN, ESLURM_DISABLED, CLUSTER_REFUSED},
        {CLUSTER_BEGIN, ESLURM_INVALID_JOB_ID, CLUSTER_ABSENT},
        {CLUSTER_POLL, SLURMCTLD_COMMUNICATIONS_RECEIVE_ERROR, CLUSTER_UNREACHABLE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cluster_result result = {.kind = rows[i].kind};
        answer_failure(&result, rows[i].slurm_error);
        if (result.outcome != rows[i].outcome)
            fail_msg("%s, %d: outcome %d", cluster_kind_name(rows[i].kind), rows[i].slurm_error,
                     (int)result.outcome);
        assert_true(result.message[0] != '\0');
        assert_int_equal(strstr(result.message, "sacctmgr show assoc,qos") != NULL,
                         rows[i].slurm_error == ESLURM_ACCOUNTING_POLICY);
    }
}

static void own_jobs_are_found_by_comment_or_path(void **state)
{
    (void)state;
    slurm_job_info_t jobs[] = {
        {.job_id = 1, .comment = "somebody's"},
        {.job_id = 2, .comment = "phased:" TOKEN " mine", .job_state = JOB_RUNNING, .nodes = "n1"},
        {.job_id = 3,
         .comment = "rewritten",
         .std_out = "/a/phased-" OTHER ".log",
         .state_reason = WAIT_RESOURCES},
        {.job_id = 4, .comment = "phased:tooshort", .std_out = "/a/phased-" OTHER "0.log"},
        {.job_id = 5},
    };
    job_info_msg_t loaded = {.record_count = 5, .job_array = jobs};
    struct cluster_result result = {.kind = CLUSTER_POLL};
    answer_jobs(&result, &loaded, NULL);
    assert_int_equal(result.job_count, 2);
    assert_int_equal(result.jobs[0].id, 2);
    assert_string_equal(result.jobs[0].token, TOKEN);
    assert_string_equal(result.jobs[0].nodes, "n1");
    assert_int_equal(result.jobs[1].id, 3);
    assert_string_equal(result.jobs[1].token, OTHER);
    assert_string_equal(result.jobs[1].reason, "Resources");
    assert_true(result.jobs[1].held);
    cluster_result_fini(&result);
}

static void states_and_flags_are_distinguished(void **state)
{
    (void)state;
    static const struct {
        uint32_t slurm_state;
        enum cluster_job_state state;
        bool completing, requeuing, final;
    } rows[] = {
        {JOB_PENDING, CLUSTER_JOB_PENDING, false, false, false},
        {JOB_RUNNING | JOB_CONFIGURING, CLUSTER_JOB_RUNNING, false, false, false},
        {JOB_RUNNING | JOB_COMPLETING, CLUSTER_JOB_RUNNING, true, false, false},
        {JOB_SUSPENDED, CLUSTER_JOB_SUSPENDED, false, false, false},
        {JOB_COMPLETE | JOB_COMPLETING, CLUSTER_JOB_COMPLETED, true, false, false},
        {JOB_COMPLETE, CLUSTER_JOB_COMPLETED, false, false, true},
        {JOB_TIMEOUT, CLUSTER_JOB_TIMEOUT, false, false, true},
        {JOB_OOM, CLUSTER_JOB_OUT_OF_MEMORY, false, false, true},
        {JOB_NODE_FAIL | JOB_REQUEUE, CLUSTER_JOB_NODE_FAIL, false, true, false},
        {JOB_PREEMPTED | JOB_COMPLETING | JOB_REQUEUE, CLUSTER_JOB_PREEMPTED, true, true, false},
        {JOB_END, CLUSTER_JOB_UNKNOWN, false, false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        slurm_job_info_t job = {.comment = "phased:" TOKEN, .job_state = rows[i].slurm_state};
        job_info_msg_t loaded = {.record_count = 1, .job_array = &job};
        struct cluster_result result = {.kind = CLUSTER_POLL};
        answer_jobs(&result, &loaded, NULL);
        assert_int_equal(result.jobs[0].state, rows[i].state);
        assert_int_equal(result.jobs[0].completing, rows[i].completing);
        assert_int_equal(result.jobs[0].requeuing, rows[i].requeuing);
        assert_int_equal(cluster_job_is_final(&result.jobs[0]), rows[i].final);
        cluster_result_fini(&result);
    }
}

static void a_job_has_slurms_text_or_word_or_no_reason(void **state)
{
    (void)state;
    static const struct {
        uint16_t reason; /* enum job_state_reason */
        char *words;
        const char *expected;
    } rows[] = {
        {WAIT_NO_REASON, NULL, ""},
        {WAIT_NO_REASON, "", ""},
        {WAIT_NO_REASON, "a node is lost", "a node is lost"},
        {WAIT_RESOURCES, NULL, "Resources"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        slurm_job_info_t job = {.comment = "phased:" TOKEN,
                                .state_reason = rows[i].reason,
                                .state_desc = rows[i].words};
        job_info_msg_t loaded = {.record_count = 1, .job_array = &job};
        struct cluster_result result = {.kind = CLUSTER_POLL};
        answer_jobs(&result, &loaded, NULL);
        assert_string_equal(result.jobs[0].reason, rows[i].expected);
        cluster_result_fini(&result);
    }
}

static void a_requeued_job_waits_and_a_failed_launch_is_stuck(void **state)
{
    (void)state;
    static const struct {
        uint32_t slurm_state;
        uint32_t priority;
        time_t eligible;
        uint16_t reason; /* enum job_state_reason: some releases have it as narrow as this */
        char *words;
        bool waiting, stuck;
    } rows[] = {
        {JOB_PENDING, 7, 1121, WAIT_TIME, NULL, true, false},
        {JOB_PENDING, 7, 990 + 900, WAIT_TIME, NULL, true, false},
        {JOB_PENDING, 7, 990 + 901, WAIT_TIME, NULL, false, false}, /* a person has put it off */
        {JOB_PENDING | JOB_COMPLETING, 7, 1121, WAIT_TIME, NULL, false, false},
        {JOB_PENDING, 7, 1002, WAIT_TIME, NULL, false, false}, /* as CLUSTER_BEGIN leaves it */
        {JOB_PENDING, 7, 900, WAIT_RESOURCES, NULL, false, false},
        {JOB_RUNNING, 7, 1121, WAIT_NO_REASON, NULL, false, false},
        {JOB_PENDING, 0, 1121, WAIT_HELD_USER, NULL, false, false},
        {JOB_PENDING, 0, 900, WAIT_HELD, NULL, false, false},
        {JOB_PENDING, 0, 900, WAIT_HELD_USER, "job requeued in held state", false, false},
        {JOB_PENDING, 0, 900, WAIT_HELD_USER, "launch failed requeued held", false, true},
        {JOB_PENDING, 0, 900, WAIT_MAX_REQUEUE, NULL, false, true},
        {JOB_RUNNING, 0, 900, WAIT_HELD_USER, "launch failed requeued held", false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        slurm_job_info_t job = {.comment = "phased:" TOKEN,
                                .job_state = rows[i].slurm_state,
                                .priority = rows[i].priority,
                                .submit_time = 990,
                                .eligible_time = rows[i].eligible,
                                .state_reason = rows[i].reason,
                                .state_desc = rows[i].words};
        job_info_msg_t loaded = {.record_count = 1, .job_array = &job};
        struct cluster_result result = {.kind = CLUSTER_POLL};
        answer_jobs(&result, &loaded, NULL);
        assert_int_equal(cluster_job_is_waiting(&result.jobs[0], 1000), rows[i].waiting);
        assert_int_equal(cluster_job_is_stuck(&result.jobs[0]), rows[i].stuck);
        cluster_result_fini(&result);
    }
}

static void the_live_one_of_two_jobs_with_a_token_is_found(void **state)
{
    (void)state;
    slurm_job_info_t jobs[] = {
        {.job_id = 1, .comment = "phased:" TOKEN, .job_state = JOB_FAILED, .submit_time = 300},
        {.job_id = 2, .comment = "phased:" TOKEN, .job_state = JOB_RUNNING, .submit_time = 100},
        {.job_id = 3, .comment = "phased:" TOKEN, .job_state = JOB_COMPLETE, .submit_time = 400},
        {.job_id = 4, .comment = "phased:" OTHER, .job_state = JOB_RUNNING, .submit_time = 500},
    };
    job_info_msg_t loaded = {.record_count = 4, .job_array = jobs};
    struct cluster_result result = {.kind = CLUSTER_LOOKUP};
    answer_jobs(&result, &loaded, TOKEN);
    assert_int_equal(result.job_id, 2);
    assert_int_equal(result.job_count, 1);
    cluster_result_fini(&result);
}

/* A checker that says this and fails, as libslurm would. */
static void assert_refused(const char *says, const char *expected)
{
    struct error err;
    char *checker = text_format("%s/checker", folder);
    char *script = text_format("#!/bin/sh\necho '%s' >&2\nexit 1\n", says);
    assert_int_equal(file_replace(checker, script, strlen(script), 0700, NULL), 0);
    assert_int_equal(configuration_check(checker, NULL, &err), -EINVAL);
    assert_string_equal(err.message, expected);
    free(checker);
    free(script);
}

static void the_message_about_an_unusable_configuration_says_what_to_do(void **state)
{
    (void)state;
    assert_int_equal(unsetenv("SLURM_CONF"), 0);
    assert_refused("check: error: _establish_config_source: failed to fetch config",
                   "no slurm.conf was found and no controller gave one: set SLURM_CONF, or start a "
                   "private Slurm with "
                   "`phasectl sandbox start` (Slurm says: _establish_config_source: failed to "
                   "fetch config)");
    assert_refused("check: error: No SlurmctldHost defined.",
                   "cannot use Slurm's configuration: No SlurmctldHost defined.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_description_becomes_what_sbatch_would_send),
        cmocka_unit_test(a_limit_of_a_partition_shortens_the_time_or_is_reported),
        cmocka_unit_test(the_environment_has_the_variables_of_user_and_sbatch),
        cmocka_unit_test(each_option_changes_the_job),
        cmocka_unit_test(options_go_where_sbatch_puts_them),
        cmocka_unit_test(unknown_excluded_nodes_are_dropped_except_those_of_the_spec),
        cmocka_unit_test(a_wrong_option_is_refused_by_name),
        cmocka_unit_test(each_error_of_slurm_has_one_meaning),
        cmocka_unit_test(own_jobs_are_found_by_comment_or_path),
        cmocka_unit_test(states_and_flags_are_distinguished),
        cmocka_unit_test(a_job_has_slurms_text_or_word_or_no_reason),
        cmocka_unit_test(a_requeued_job_waits_and_a_failed_launch_is_stuck),
        cmocka_unit_test(the_live_one_of_two_jobs_with_a_token_is_found),
        cmocka_unit_test_setup_teardown(the_message_about_an_unusable_configuration_says_what_to_do,
                                        folder_make, folder_remove),
    };
    return cmocka_run_group_tests_name("slurm", tests, NULL, NULL);
}
