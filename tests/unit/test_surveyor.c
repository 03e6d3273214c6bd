/* A survey of a controller that stops answering. The controller is the functions below, which come
 * before those of libslurm. */
#include "tests/unit/unit.h"

#include "daemon/slurm/cluster.h"
#include "daemon/slurm/partitions.h"
#include "daemon/slurm/submission.h"
#include "daemon/slurm/survey.h"
#include "daemon/slurm/surveyor.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { JOBS = 3 };

static struct {
    int partition_error, forecast_error; /* 0: it answers */
    unsigned partition_loads, forecasts;
} controller;

static slurm_conf_t conf;
static node_info_msg_t nodes;
static partition_info_t partition = {
    .name = "gpu", .flags = PART_FLAG_DEFAULT, .max_time = 60, .max_nodes = INFINITE};
static partition_info_msg_t parts = {.record_count = 1, .partition_array = &partition};

static int answer(int slurm_error)
{
    errno = slurm_error;
    return slurm_error ? SLURM_ERROR : SLURM_SUCCESS;
}

int slurm_load_ctl_conf(time_t update, slurm_conf_t **ret_conf)
{
    (void)update;
    *ret_conf = &conf;
    return SLURM_SUCCESS;
}

int slurm_load_partitions(time_t update, partition_info_msg_t **ret_parts, uint16_t flags)
{
    (void)update, (void)flags;
    controller.partition_loads++;
    *ret_parts = controller.partition_error ? NULL : &parts;
    return answer(controller.partition_error);
}

int slurm_load_node(time_t update, node_info_msg_t **ret_nodes, uint16_t flags)
{
    (void)update, (void)flags;
    *ret_nodes = &nodes;
    return SLURM_SUCCESS;
}

int slurm_job_will_run2(job_desc_msg_t *job, will_run_response_msg_t **ret_response)
{
    (void)job;
    controller.forecasts++;
    *ret_response = NULL;
    return answer(controller.forecast_error);
}

void slurm_free_conf(slurm_conf_t *freed)
{
    (void)freed;
}

void slurm_free_partition_info_msg(partition_info_msg_t *freed)
{
    (void)freed;
}

void slurm_free_node_info_msg(node_info_msg_t *freed)
{
    (void)freed;
}

static int controller_setup(void **state)
{
    (void)state;
    memset(&controller, 0, sizeof controller);
    return 0;
}

static struct cluster_survey *survey_of_jobs(struct partitions *partitions)
{
    struct submission jobs[JOBS] = {0}, *pointers[JOBS];
    struct cluster_result result = {.kind = CLUSTER_SURVEY};
    for (size_t i = 0; i < JOBS; i++) {
        slurm_init_job_desc_msg(&jobs[i].job);
        pointers[i] = &jobs[i];
    }
    surveyor_look(partitions, pointers, JOBS, &result);
    assert_int_equal(result.outcome, CLUSTER_DONE);
    assert_int_equal(result.survey->forecast_count, JOBS);
    return result.survey;
}

static void a_survey_waits_once_for_a_controller_that_hangs(void **state)
{
    struct partitions partitions = {0};
    (void)state;
    controller.forecast_error = SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT;
    struct cluster_survey *survey = survey_of_jobs(&partitions);
    assert_int_equal(controller.forecasts, 1);
    assert_int_equal(controller.partition_loads, 1);
    for (size_t i = 0; i < JOBS; i++) {
        assert_false(survey->forecasts[i].is_refused);
        assert_true(survey->forecasts[i].message[0] != '\0');
        assert_string_equal(survey->forecasts[i].message, survey->forecasts[0].message);
    }
    cluster_survey_free(survey);
}

static void a_refused_job_does_not_end_a_survey(void **state)
{
    struct partitions partitions = {0};
    (void)state;
    controller.forecast_error = ESLURM_INVALID_ACCOUNT;
    struct cluster_survey *survey = survey_of_jobs(&partitions);
    assert_int_equal(controller.forecasts, JOBS);
    for (size_t i = 0; i < JOBS; i++)
        assert_true(survey->forecasts[i].is_refused);
    cluster_survey_free(survey);
}

static void a_failed_load_leaves_the_old_partitions_for_a_while(void **state)
{
    struct partitions partitions = {0};
    (void)state;
    assert_int_equal(partitions_limit(&partitions, NULL, 1000), 60);
    controller.partition_error = SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT;
    assert_int_equal(partitions_limit(&partitions, NULL, 1031), 60);
    assert_int_equal(partitions_limit(&partitions, NULL, 1032), 60);
    assert_int_equal(controller.partition_loads, 2);
    controller.partition_error = 0;
    assert_int_equal(partitions_limit(&partitions, "gpu", 1062), 60);
    assert_int_equal(controller.partition_loads, 3);
}

/* Without partitions a job could get more time than its partition allows. Slurm would refuse it. */
static void without_partitions_each_job_asks_for_them(void **state)
{
    struct partitions partitions = {0};
    (void)state;
    controller.partition_error = SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT;
    assert_int_equal(partitions_limit(&partitions, NULL, 1000), UINT32_MAX);
    controller.partition_error = 0;
    assert_int_equal(partitions_limit(&partitions, NULL, 1001), 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_survey_waits_once_for_a_controller_that_hangs, controller_setup),
        cmocka_unit_test_setup(a_refused_job_does_not_end_a_survey, controller_setup),
        cmocka_unit_test_setup(a_failed_load_leaves_the_old_partitions_for_a_while,
                               controller_setup),
        cmocka_unit_test_setup(without_partitions_each_job_asks_for_them, controller_setup),
    };
    return cmocka_run_group_tests_name("surveyor", tests, NULL, NULL);
}
