/* Building the environment of ranks. */
#include "worker/node/environment.h"

#include "lib/memory.h"
#include "lib/spec/phase.h"
#include "worker/protocol/assignment.h"
#include "worker/node/groups.h"
#include "worker/node/shards.h"
#include "worker/process/placement.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What belongs to a job and not to the shell where it was submitted. */
static const char *const environment_job_prefixes[] = {"SLURM_", "SLURMD_", "SRUN_", "SBATCH_"};
static const char *const environment_job_names[] = {
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK",
    "HOSTNAME",
};

/* What a launcher tells a process of its place: whoever submits from within one has it too. */
static const char *const environment_place_prefixes[] = {"PET_", "TORCHELASTIC_", "PHASED_SHARD"};
static const char *const environment_place_names[] = {
    "RANK",    "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "TP_RANK",
    "PP_RANK", "DP_RANK",    "TP_SIZE",    "PP_SIZE",   "DP_SIZE",
};

void environment_fini(struct environment *environment)
{
    if (!environment)
        return;
    for (size_t i = 0; i < environment->count; i++)
        free(environment->entries[i]);
    free(environment->entries);
    *environment = (struct environment){0};
}

/* The place of a variable; `count` when it is not there. */
static size_t environment_find(const struct environment *environment, const char *name, size_t size)
{
    size_t i = 0;
    while (i < environment->count && (strncmp(environment->entries[i], name, size) != 0 ||
                                      environment->entries[i][size] != '='))
        i++;
    return i;
}

void environment_set(struct environment *environment, const char *name, const char *value)
{
    size_t i = environment_find(environment, name, strlen(name));
    if (i == environment->count) {
        if (environment->count + 2 > environment->capacity) {
            environment->capacity = environment->capacity ? 2 * environment->capacity : 64;
            environment->entries =
                xrealloc(environment->entries, environment->capacity * sizeof(char *));
        }
        environment->entries[environment->count++] = NULL;
        environment->entries[environment->count] = NULL;
    }
    free(environment->entries[i]);
    environment->entries[i] = text_format("%s=%s", name, value);
}

void environment_unset(struct environment *environment, const char *name)
{
    size_t i = environment_find(environment, name, strlen(name));
    if (i == environment->count)
        return;
    free(environment->entries[i]);
    environment->entries[i] = environment->entries[--environment->count];
    environment->entries[environment->count] = NULL;
}

void environment_setf(struct environment *environment, const char *name, const char *format, ...)
{
    struct text text = {0};
    va_list args;
    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    environment_set(environment, name, text_string(&text));
    text_fini(&text);
}

const char *environment_get(const struct environment *environment, const char *name)
{
    size_t size = strlen(name), i = environment_find(environment, name, size);
    return i < environment->count ? environment->entries[i] + size + 1 : NULL;
}

static size_t environment_name_size(const char *name)
{
    size_t size = 0;
    while (isalnum((unsigned char)name[size]) || name[size] == '_')
        size++;
    return size;
}

void environment_expand(const struct environment *environment, const char *string,
                        struct text *text)
{
    while (*string) {
        bool is_braced = string[0] == '$' && string[1] == '{';
        const char *name = string + (is_braced ? 2 : 1);
        size_t size = string[0] == '$' ? environment_name_size(name) : 0;
        bool is_whole = !is_braced || name[size] == '}';
        size_t i = environment->count;
        if (is_whole && text_starts(name, "PHASED_"))
            i = size ? environment_find(environment, name, size) : i;
        if (i == environment->count) {
            text_add_bytes(text, string++, 1);
            continue;
        }
        text_add(text, environment->entries[i] + size + 1);
        string = name + size + is_braced;
    }
}

static bool environment_is_of(const char *name, const char *const *prefixes, size_t prefix_count,
                              const char *const *names, size_t name_count)
{
    for (size_t i = 0; i < prefix_count; i++)
        if (text_starts(name, prefixes[i]))
            return true;
    for (size_t i = 0; i < name_count; i++)
        if (text_equal(name, names[i]))
            return true;
    return false;
}

static bool environment_is_jobs(const char *name)
{
    return environment_is_of(name, environment_job_prefixes,
                             sizeof(environment_job_prefixes) / sizeof(char *),
                             environment_job_names, sizeof(environment_job_names) / sizeof(char *));
}

static bool environment_is_place(const char *name)
{
    return environment_is_of(
        name, environment_place_prefixes, sizeof(environment_place_prefixes) / sizeof(char *),
        environment_place_names, sizeof(environment_place_names) / sizeof(char *));
}

static void environment_add_captured(struct environment *environment, const json_t *captured)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)captured, name, value)
    {
        if (json_is_string(value) && *name && !strchr(name, '=') && !environment_is_jobs(name) &&
            !environment_is_place(name))
            environment_set(environment, name, json_string_value(value));
    }
}

static void environment_add_job(struct environment *environment, char *const *job)
{
    for (; *job; job++) {
        const char *equals = strchr(*job, '=');
        if (!equals)
            continue;
        char *name = text_format("%.*s", (int)(equals - *job), *job);
        if (environment_is_jobs(name))
            environment_set(environment, name, equals + 1);
        free(name);
    }
}

/* The sizes of the layout, where there is one. */
static void environment_add_sizes(struct environment *environment,
                                  const struct assignment_sizes *sizes)
{
    if (!sizes->tensor)
        return;
    environment_setf(environment, "TP_SIZE", "%u", sizes->tensor);
    environment_setf(environment, "PP_SIZE", "%u", sizes->pipeline);
    environment_setf(environment, "DP_SIZE", "%u", sizes->data);
}

/* A value of a param or of env as a shell sees it. */
static char *environment_value(const json_t *value)
{
    struct text text = {0};
    if (!json_is_null(value))
        phase_value_text(value, &text);
    return text_steal(&text);
}

static void environment_add_params(struct environment *environment, const json_t *params)
{
    const char *name;
    json_t *param;
    json_object_foreach((json_t *)params, name, param)
    {
        char *value = environment_value(param);
        environment_set(environment, name, value);
        free(value);
    }
    char *dump = json_dumps(params, JSON_REAL_PRECISION(15));
    environment_set(environment, "PHASED_PARAMS", dump ? dump : "{}");
    free(dump);
}

static void environment_add_inputs(struct environment *environment, const json_t *inputs)
{
    const char *phase;
    json_t *input;
    json_object_foreach((json_t *)inputs, phase, input)
    {
        const char *out = json_string_value(json_object_get(input, "out"));
        const char *checkpoint = json_string_value(json_object_get(input, "checkpoint"));
        char *name = text_format("PHASED_IN_%s", phase);
        environment_set(environment, name, out ? out : "");
        free(name);
        name = text_format("PHASED_CHECKPOINT_%s", phase);
        environment_set(environment, name, checkpoint ? checkpoint : "");
        free(name);
    }
}

static void environment_add_phased(struct environment *environment,
                                   const struct assignment *assignment,
                                   const struct environment_place *place)
{
    environment_set(environment, "PHASED_OUT", assignment->out_dir);
    environment_set(environment, "PHASED_RUN_DIR", assignment->run_dir);
    environment_set(environment, "PHASED_PHASE", assignment->phase);
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
    environment_add_inputs(environment, assignment->inputs);
}

static void environment_add_env(struct environment *environment, const json_t *env)
{
    const char *name;
    json_t *json;
    json_object_foreach((json_t *)env, name, json)
    {
        struct text text = {0};
        char *value = environment_value(json);
        environment_expand(environment, value, &text);
        environment_set(environment, name, text_string(&text));
        free(value);
        text_fini(&text);
    }
}

void environment_set_world(struct environment *environment, const struct environment_place *place,
                           unsigned local)
{
    environment_setf(environment, "WORLD_SIZE", "%u", local * place->nodes);
    environment_setf(environment, "LOCAL_WORLD_SIZE", "%u", local);
    environment_setf(environment, "NODE_RANK", "%u", place->node_index);
    environment_setf(environment, "NNODES", "%u", place->nodes);
    environment_set(environment, "MASTER_ADDR", place->address);
    environment_setf(environment, "MASTER_PORT", "%u", place->port);
}

void environment_set_torchrun(struct environment *environment,
                              const struct environment_place *place, unsigned local)
{
    environment_setf(environment, "PET_NNODES", "%u", place->nodes);
    environment_setf(environment, "PET_NODE_RANK", "%u", place->node_index);
    environment_setf(environment, "PET_NPROC_PER_NODE", "%u", local);
    environment_set(environment, "PET_MASTER_ADDR", place->address);
    environment_setf(environment, "PET_MASTER_PORT", "%u", place->port);
}

/* Slurm's own words for the run: the job may have more nodes, and its tasks are the agents. */
static void environment_set_tasks(struct environment *environment,
                                  const struct environment_place *place, unsigned local)
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

void environment_build(struct environment *environment, const struct assignment *assignment,
                       const struct environment_place *place, char *const *job)
{
    unsigned local = assignment->gpus ? assignment->gpus : 1;
    /* Python keeps back what it prints into a pipe: for minutes, where a step prints a line. */
    environment_set(environment, "PYTHONUNBUFFERED", "1");
    environment_add_captured(environment, assignment->environment);
    environment_add_job(environment, job);
    if (assignment->has_part)
        groups_narrow(environment, assignment->gpu_first, assignment->gpus);
    environment_add_phased(environment, assignment, place);
    environment_add_env(environment, json_object_get(assignment->spec, "env"));
    environment_add_params(environment, json_object_get(assignment->spec, "params"));
    environment_set_world(environment, place, local);
    environment_set_tasks(environment, place, 1);
    environment_add_sizes(environment, &assignment->parallel);
    if (assignment->launch == ASSIGNMENT_LAUNCH_NODE && assignment->gpus)
        environment_set_torchrun(environment, place, local);
    /* `phase-worker metric` must be found by scripts even where it is not installed. */
    if (place->program) {
        const char *path = environment_get(environment, "PATH"), *end;
        if ((end = strrchr(place->program, '/')))
            environment_setf(environment, "PATH", "%s%s%.*s", path ? path : "/usr/bin:/bin", ":",
                             (int)(end - place->program), place->program);
    }
}

void environment_set_rank(struct environment *environment, const struct assignment *assignment,
                          const struct environment_place *place, unsigned local_rank)
{
    unsigned local = place->ranks_per_node, rank = place->node_index * local + local_rank;
    if (place->groups)
        groups_set_environment(place->groups, environment, rank, local_rank);
    if (place->shards) {
        environment_setf(environment, "PHASED_SHARD", "%u", rank);
        environment_set(environment, "PHASED_SHARD_FILE", shards_file(place->shards, local_rank));
    }
    if (assignment->launch != ASSIGNMENT_LAUNCH_RANK)
        return;
    environment_setf(environment, "RANK", "%u", rank);
    environment_setf(environment, "LOCAL_RANK", "%u", local_rank);
    environment_setf(environment, "GROUP_RANK", "%u", place->node_index); /* as torchrun calls it */
    if (assignment->parallel.tensor) {
        struct placement at = placement_of(&assignment->parallel, rank);
        environment_setf(environment, "TP_RANK", "%u", at.tensor);
        environment_setf(environment, "PP_RANK", "%u", at.pipeline);
        environment_setf(environment, "DP_RANK", "%u", at.data);
    }
    /* Programs that read Slurm's variables instead must find the same ranks, not the agents'. */
    environment_setf(environment, "SLURM_PROCID", "%u", rank);
    environment_setf(environment, "SLURM_LOCALID", "%u", local_rank);
    environment_set_tasks(environment, place, local);
}
