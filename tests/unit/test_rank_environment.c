/* Which variables ranks get from the submission, from the job, and from the spec. */
#include "tests/unit/unit.h"

#include "worker/node/rank_environment.h"
#include "worker/process/environment.h"
#include "worker/protocol/assignment.h"

#include <jansson.h>
#include <stdlib.h>

/* Builds the environment of a rank. The arguments are JSON objects of variables. */
static void build(struct environment *environment, const char *captured, const char *secrets,
                  const char *env, char *const *job)
{
    char path[] = "/phase", out[] = "/phase/out";
    const struct assignment assignment = {
        .spec = json_pack("{s:o}", "env", json_loads(env, 0, NULL)),
        .secrets = json_loads(secrets, 0, NULL),
        .file = {.run_dir = path,
                 .out_dir = out,
                 .gpu_first = RUN_FILE_NO_PART,
                 .environment = json_loads(captured, 0, NULL)},
        .launch = ASSIGNMENT_LAUNCH_NODE,
        .stop_signal_name = "TERM",
    };
    const struct rank_place place = {
        .nodes = 1, .ranks_per_node = 1, .address = "n1", .channel = "/channel"};
    rank_environment_build(environment, &assignment, &place, job);
    json_decref((json_t *)assignment.spec);
    json_decref(assignment.secrets);
    json_decref((json_t *)assignment.file.environment);
}

static void assert_variable(const struct environment *environment, const char *name,
                            const char *value)
{
    const char *found = environment_get(environment, name);
    if (value)
        assert_string_equal(found ? found : "(absent)", value);
    else
        assert_null(found);
}

/* TaskProlog and SPANK plugins set variables, or set others than the shell has. */
static void what_the_site_sets_for_a_job_reaches_the_ranks(void **state)
{
    (void)state;
    struct environment environment = {0};
    char *job[] = {"TMPDIR=/scratch",
                   "JOBSCRATCH=/scratch/7",
                   "UCX_NET_DEVICES=mlx5_0:1",
                   "ENVIRONMENT=BATCH",
                   "PATH=/site:/bin",
                   "EMPTY=",
                   "CUDA_DEVICE_ORDER=PCI_BUS_ID",
                   "LANG=C",
                   NULL};
    build(&environment,
          "{\"TMPDIR\": \"/tmp/of-the-login\", \"PATH\": \"/bin\", \"EMPTY\": \"full\","
          " \"LANG\": \"C\", \"only_f\": \"of the shell\"}",
          "{}", "{\"UCX_NET_DEVICES\": \"mlx5_1:1\"}", job);
    assert_variable(&environment, "TMPDIR", "/scratch");
    assert_variable(&environment, "JOBSCRATCH", "/scratch/7");
    assert_variable(&environment, "ENVIRONMENT", "BATCH");
    assert_variable(&environment, "PATH", "/site:/bin");
    assert_variable(&environment, "EMPTY", "");
    assert_variable(&environment, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    assert_variable(&environment, "LANG", "C");
    assert_variable(&environment, "only_f", "of the shell");
    assert_variable(&environment, "UCX_NET_DEVICES", "mlx5_1:1"); /* `env` wins */
    environment_fini(&environment);
}

static void what_is_of_the_agent_or_of_its_shell_does_not_reach_the_ranks(void **state)
{
    (void)state;
    struct environment environment = {0};
    char *job[] = {"PHASED_JOB=token",
                   "PHASED_NVML=/other",
                   "PMI_RANK=1",
                   "PMIX_RANK=1",
                   "SHLVL=3",
                   "_=/bin/sh",
                   "PWD=/job",
                   "OLDPWD=/",
                   "BASH_FUNC_f%%=() { :}",
                   "RANK=5",
                   "PET_NNODES=5",
                   "TP_RANK=5",
                   "HF_TOKEN=of the job",
                   "nothing",
                   NULL};
    build(&environment,
          "{\"PHASED_NVML\": \"/own\", \"SHLVL\": \"1\", \"PWD\": \"/login\", \"RANK\": \"3\","
          " \"HF_TOKEN\": \"(secret)\", \"WANDB_API_KEY\": \"(secret)\"}",
          "{\"HF_TOKEN\": [\"hf_1\"]}", "{}", job);
    const char *const absent[] = {"PHASED_JOB", "PMI_RANK",      "PMIX_RANK",    "_",
                                  "OLDPWD",     "BASH_FUNC_f%%", "RANK",         "PET_NNODES",
                                  "TP_RANK",    "nothing",       "WANDB_API_KEY"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_variable(&environment, absent[i], NULL);
    assert_variable(&environment, "PHASED_NVML", "/own");
    assert_variable(&environment, "SHLVL", "1");
    assert_variable(&environment, "PWD", "/login");
    assert_variable(&environment, "HF_TOKEN", "hf_1");
    environment_fini(&environment);
}

/* The shell that submits may be in a job of its own. */
static void variables_of_another_job_are_replaced_or_left_out(void **state)
{
    (void)state;
    struct environment environment = {0};
    char *job[] = {"SLURM_JOB_ID=8", "HOSTNAME=n1", NULL};
    build(&environment,
          "{\"SLURM_JOB_ID\": \"7\", \"SLURM_ARRAY_TASK_ID\": \"2\", \"HOSTNAME\": \"login\","
          " \"CUDA_VISIBLE_DEVICES\": \"3\", \"CUDA_DEVICE_ORDER\": \"FASTEST_FIRST\"}",
          "{}", "{}", job);
    assert_variable(&environment, "SLURM_JOB_ID", "8");
    assert_variable(&environment, "HOSTNAME", "n1");
    assert_variable(&environment, "SLURM_ARRAY_TASK_ID", NULL);
    assert_variable(&environment, "CUDA_VISIBLE_DEVICES", NULL);
    assert_variable(&environment, "CUDA_DEVICE_ORDER", "FASTEST_FIRST");
    environment_fini(&environment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_site_sets_for_a_job_reaches_the_ranks),
        cmocka_unit_test(what_is_of_the_agent_or_of_its_shell_does_not_reach_the_ranks),
        cmocka_unit_test(variables_of_another_job_are_replaced_or_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
