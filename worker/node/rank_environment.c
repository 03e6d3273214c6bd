/* Builds the environment of ranks in layers. */
#include "worker/node/rank_environment.h"

#include "lib/secrets.h"
#include "lib/spec/phase.h"
#include "lib/text.h"
#include "worker/node/groups.h"
#include "worker/node/shards.h"
#include "worker/process/environment.h"
#include "worker/protocol/assignment.h"

#include <stdlib.h>
#include <string.h>

/* Variables of a job, which must not come from the shell that submitted it. */
static const char *const rank_environment_job_names[] = {
    "SLURM_*",
    "SLURMD_*",
    "SRUN_*",
    "SBATCH_*",
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK",
    "HOSTNAME",
    NULL,
};

/* Variables that phased, a plugin of srun for MPI, or a shell sets for itself. Ranks do not get the
 * values that these have in the agent. */
static const char *const rank_environment_own_names[] = {
    "PHASED_*", "PMI*", "SHLVL", "_", "PWD", "OLDPWD", "BASH_FUNC_*", "BASHOPTS", "SHELLOPTS", NULL,
};

/* Variables by which a launcher tells a process its place. A shell that submits from within a
 * launcher has them, too. */
static const char *const rank_environment_place_names[] = {
    "PET_*",      "TORCHELASTIC_*", "PHASED_SHARD*", "RANK",    "LOCAL_RANK",
    "GROUP_RANK", "ROLE_RANK",      "TP_RANK",       "PP_RANK", "DP_RANK",
    "TP_SIZE",    "PP_SIZE",        "DP_SIZE",       NULL,
};

/* Variables that programs read as their place among Slurm's tasks. Slurm sets them for the agent,
 * and not for a group. */
static const char *const rank_environment_task_names[] = {
    "SLURM_PROCID", "SLURM_LOCALID",         "SLURM_NTASKS",
    "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE",
};

/* Sets a variable whose text may be the mark of a secret. The program never gets the mark: a value
 * that is missing is not set. */
static void rank_environment_set(struct environment *environment, const json_t *secrets,
                                 const char *name, const char *text)
{
    const char *value = secrets_value(secrets, name, text);
    if (value)
        environment_set(environment, name, value);
}

static void rank_environment_add_captured(struct environment *environment,
                                          const struct assignment *assignment)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)assignment->file.environment, name, value)
    {
        if (json_is_string(value) && *name && !strchr(name, '=') &&
            !environment_is_of(name, rank_environment_job_names) &&
            !environment_is_of(name, rank_environment_place_names))
            rank_environment_set(environment, assignment->secrets, name, json_string_value(value));
    }
}

/* The batch job got the captured environment without the values of secrets. So any other difference
 * comes from the job: from TaskProlog, from a plugin of the site, or from Slurm itself. */
bool rank_environment_is_of_job(const char *name, const json_t *captured)
{
    if (environment_is_of(name, rank_environment_job_names))
        return true;
    const char *text = json_string_value(json_object_get(captured, name));
    return !(text && secrets_is_mark(text)) &&
           !environment_is_of(name, rank_environment_own_names) &&
           !environment_is_of(name, rank_environment_place_names);
}

static void rank_environment_add_job(struct environment *environment, const json_t *captured,
                                     char *const *job)
{
    for (; *job; job++) {
        const char *equals = strchr(*job, '=');
        if (!equals)
            continue;
        char *name = text_format("%.*s", (int)(equals - *job), *job);
        if (*name && rank_environment_is_of_job(name, captured))
            environment_set(environment, name, equals + 1);
        free(name);
    }
}

/* Adds the sizes of the layout, if there is one. */
static void rank_environment_add_sizes(struct environment *environment,
                                       const struct assignment_sizes *sizes)
{
    if (!sizes->tensor)
        return;
    environment_setf(environment, "TP_SIZE", "%u", sizes->tensor);
    environment_setf(environment, "PP_SIZE", "%u", sizes->pipeline);
    environment_setf(environment, "DP_SIZE", "%u", sizes->data);
}

/* Writes the value of a param or of `env` as a shell sees it. */
static char *rank_environment_value(const json_t *value)
{
    struct text text = {0};
    if (!json_is_null(value))
        phase_value_text(value, &text);
    return text_steal(&text);
}

static void rank_environment_add_params(struct environment *environment, const json_t *params)
{
    const char *name;
    json_t *param;
    json_object_foreach((json_t *)params, name, param)
    {
        char *value = rank_environment_value(param);
        environment_set(environment, name, value);
        free(value);
    }
    char *dump = json_dumps(params, JSON_REAL_PRECISION(15));
    environment_set(environment, "PHASED_PARAMS", dump ? dump : "{}");
    free(dump);
}

static void rank_environment_add_inputs(struct environment *environment, const json_t *inputs)
{
    const char *phase;
    json_t *input;
    json_object_foreach((json_t *)inputs, phase, input)
    {
        struct run_input left = run_input_read(input);
        char *name = text_format("PHASED_IN_%s", phase);
        environment_set(environment, name, left.out ? left.out : "");
        free(name);
        name = text_format("PHASED_CHECKPOINT_%s", phase);
        environment_set(environment, name, left.checkpoint ? left.checkpoint : "");
        free(name);
    }
}

static void rank_environment_add_phased(struct environment *environment,
                                        const struct assignment *assignment,
                                        const struct rank_place *place)
{
    environment_set(environment, "PHASED_OUT", assignment->file.out_dir);
    environment_set(environment, "PHASED_RUN_DIR", assignment->file.run_dir);
    environment_set(environment, "PHASED_PHASE", assignment->file.phase);
    environment_set(environment, "PHASED_PHASE_ID",
                    assignment->file.phase_id ? assignment->file.phase_id : "");
    environment_set(environment, "PHASED_ADDRESS", assignment->address);
    environment_set(environment, "PHASED_CHANNEL", place->channel);
    environment_set(environment, "PHASED_STOP_SIGNAL", assignment->stop_signal_name);
    environment_set(environment, "PHASED_RESUME", assignment->resume ? assignment->resume : "");
    environment_set(environment, "PHASED_RESUME_STEP", "");
    if (assignment->resume)
        environment_setf(environment, "PHASED_RESUME_STEP", "%lld",
                         (long long)assignment->resume_step);
    if (assignment->shard_input)
        environment_setf(environment, "PHASED_SHARDS", "%u", assignment->parallel.data);
    rank_environment_add_inputs(environment, assignment->file.inputs);
}

static void rank_environment_add_env(struct environment *environment,
                                     const struct assignment *assignment)
{
    const char *name;
    json_t *json;
    json_object_foreach(json_object_get(assignment->spec, "env"), name, json)
    {
        struct text text = {0};
        char *value = rank_environment_value(json);
        environment_expand(environment, value, &text);
        rank_environment_set(environment, assignment->secrets, name, text_string(&text));
        free(value);
        text_fini(&text);
    }
}

/* Sets where the processes meet. Each node has `local` of them. */
static void rank_environment_set_world(struct environment *environment,
                                       const struct rank_place *place, unsigned local)
{
    environment_setf(environment, "WORLD_SIZE", "%u", local * place->nodes);
    environment_setf(environment, "LOCAL_WORLD_SIZE", "%u", local);
    environment_setf(environment, "NODE_RANK", "%u", place->node_index);
    environment_setf(environment, "NNODES", "%u", place->nodes);
    environment_set(environment, "MASTER_ADDR", place->address);
    environment_setf(environment, "MASTER_PORT", "%u", place->port);
}

/* Sets the variables that torchrun reads in place of its options, so that a plain `torchrun
 * train.py` spans all nodes. Ranks do not get them, because a torchrun within a rank is a world of
 * its own. */
static void rank_environment_set_torchrun(struct environment *environment,
                                          const struct rank_place *place, unsigned local)
{
    environment_setf(environment, "PET_NNODES", "%u", place->nodes);
    environment_setf(environment, "PET_NODE_RANK", "%u", place->node_index);
    environment_setf(environment, "PET_NPROC_PER_NODE", "%u", local);
    environment_set(environment, "PET_MASTER_ADDR", place->address);
    environment_setf(environment, "PET_MASTER_PORT", "%u", place->port);
}

/* Sets Slurm's variables to the size of the run, because the job may have more nodes, and its tasks
 * are the agents. */
static void rank_environment_set_tasks(struct environment *environment,
                                       const struct rank_place *place, unsigned local)
{
    environment_setf(environment, "SLURM_NNODES", "%u", place->nodes);
    environment_setf(environment, "SLURM_JOB_NUM_NODES", "%u", place->nodes);
    environment_setf(environment, "SLURM_NTASKS", "%u", local * place->nodes);
    environment_setf(environment, "SLURM_NPROCS", "%u", local * place->nodes);
    environment_setf(environment, "SLURM_NTASKS_PER_NODE", "%u", local);
    if (place->nodes > 1)
        environment_setf(environment, "SLURM_TASKS_PER_NODE", "%u(x%u)", local, place->nodes);
    else
        environment_setf(environment, "SLURM_TASKS_PER_NODE", "%u", local);
}

/* Sets the environment of a group. A group sees only its own GPUs, and its processes meet at a port
 * of this node. */
static void rank_environment_set_group(struct environment *environment, const struct groups *groups,
                                       unsigned group, unsigned local)
{
    groups_set_devices(groups, environment, local);
    for (size_t i = 0; i < sizeof rank_environment_task_names / sizeof(char *); i++)
        environment_unset(environment, rank_environment_task_names[i]);
    const struct rank_place world = {
        .nodes = 1, .address = "127.0.0.1", .port = groups_port(groups, local)};
    rank_environment_set_world(environment, &world, groups_gpus(groups));
    rank_environment_set_torchrun(environment, &world, groups_gpus(groups));
    environment_setf(environment, "DP_RANK", "%u", group);
}

void rank_environment_build(struct environment *environment, const struct assignment *assignment,
                            const struct rank_place *place, char *const *job)
{
    unsigned local = assignment->gpus ? assignment->gpus : 1;
    /* Otherwise Python buffers its output into a pipe, for minutes if a step prints one line. */
    environment_set(environment, "PYTHONUNBUFFERED", "1");
    rank_environment_add_captured(environment, assignment);
    rank_environment_add_job(environment, assignment->file.environment, job);
    if (assignment->file.gpu_first != RUN_FILE_NO_PART)
        groups_narrow(environment, (unsigned)assignment->file.gpu_first, assignment->gpus);
    rank_environment_add_phased(environment, assignment, place);
    rank_environment_add_env(environment, assignment);
    rank_environment_add_params(environment, json_object_get(assignment->spec, "params"));
    rank_environment_set_world(environment, place, local);
    rank_environment_set_tasks(environment, place, 1);
    rank_environment_add_sizes(environment, &assignment->parallel);
    if (assignment->launch == ASSIGNMENT_LAUNCH_NODE && assignment->gpus)
        rank_environment_set_torchrun(environment, place, local);
    /* Scripts must find `phase-worker metric` even if it is not installed. */
    if (place->program) {
        const char *path = environment_get(environment, "PATH"), *end;
        if ((end = strrchr(place->program, '/')))
            environment_setf(environment, "PATH", "%s%s%.*s", path ? path : "/usr/bin:/bin", ":",
                             (int)(end - place->program), place->program);
    }
}

void rank_environment_set_rank(struct environment *environment, const struct assignment *assignment,
                               const struct rank_place *place, unsigned local_rank)
{
    unsigned local = place->ranks_per_node, rank = place->node_index * local + local_rank;
    if (place->groups)
        rank_environment_set_group(environment, place->groups, rank, local_rank);
    if (place->shards) {
        environment_setf(environment, "PHASED_SHARD", "%u", rank);
        environment_set(environment, "PHASED_SHARD_FILE", shards_file(place->shards, local_rank));
    }
    if (assignment->launch != ASSIGNMENT_LAUNCH_RANK)
        return;
    environment_setf(environment, "RANK", "%u", rank);
    environment_setf(environment, "LOCAL_RANK", "%u", local_rank);
    environment_setf(environment, "GROUP_RANK", "%u",
                     place->node_index); /* torchrun's name for it */
    if (assignment->parallel.tensor) {
        struct placement at = placement_of(&assignment->parallel, rank);
        environment_setf(environment, "TP_RANK", "%u", at.tensor);
        environment_setf(environment, "PP_RANK", "%u", at.pipeline);
        environment_setf(environment, "DP_RANK", "%u", at.data);
    }
    /* Programs that read Slurm's variables must find the ranks and not the agents. */
    environment_setf(environment, "SLURM_PROCID", "%u", rank);
    environment_setf(environment, "SLURM_LOCALID", "%u", local_rank);
    rank_environment_set_tasks(environment, place, local);
}
