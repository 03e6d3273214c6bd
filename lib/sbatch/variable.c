/* The table of sbatch's input environment variables. */
#include "lib/sbatch/variable.h"

#include "lib/memory.h"
#include "lib/sbatch/option.h"
#include "lib/sbatch/script.h"
#include "lib/spec/problems.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* In the order of sbatch(1). If two variables set one option, the later one counts. SBATCH_DEBUG,
 * and the SLURM_* variables that control sbatch itself, mean nothing for a phase. */
static const struct {
    const char *name, *option;
} variables[] = {
    {"SBATCH_ACCOUNT", "account"},
    {"SBATCH_ACCTG_FREQ", "acctg-freq"},
    {"SBATCH_ARRAY_INX", "array"},
    {"SBATCH_BATCH", "batch"},
    {"SLURM_CLUSTERS", "clusters"},
    {"SBATCH_CLUSTERS", "clusters"},
    {"SBATCH_CONSTRAINT", "constraint"},
    {"SBATCH_CONTAINER", "container"},
    {"SBATCH_CORE_SPEC", "core-spec"},
    {"SBATCH_CPUS_PER_GPU", "cpus-per-gpu"},
    {"SBATCH_DELAY_BOOT", "delay-boot"},
    {"SBATCH_DISTRIBUTION", "distribution"},
    {"SBATCH_ERROR", "error"},
    {"SBATCH_EXCLUSIVE", "exclusive"},
    {"SBATCH_EXPORT", "export"},
    {"SBATCH_GET_USER_ENV", "get-user-env"},
    {"SBATCH_GPU_BIND", "gpu-bind"},
    {"SBATCH_GPU_FREQ", "gpu-freq"},
    {"SBATCH_GPUS", "gpus"},
    {"SBATCH_GPUS_PER_NODE", "gpus-per-node"},
    {"SBATCH_GPUS_PER_TASK", "gpus-per-task"},
    {"SBATCH_GRES", "gres"},
    {"SBATCH_GRES_FLAGS", "gres-flags"},
    {"SLURM_HINT", "hint"},
    {"SBATCH_HINT", "hint"},
    {"SBATCH_IGNORE_PBS", "ignore-pbs"},
    {"SBATCH_INPUT", "input"},
    {"SBATCH_JOB_NAME", "job-name"},
    {"SBATCH_MEM_BIND", "mem-bind"},
    {"SBATCH_MEM_PER_CPU", "mem-per-cpu"},
    {"SBATCH_MEM_PER_GPU", "mem-per-gpu"},
    {"SBATCH_MEM_PER_NODE", "mem"},
    {"SBATCH_NETWORK", "network"},
    {"SBATCH_NO_KILL", "no-kill"},
    {"SBATCH_NO_REQUEUE", "no-requeue"},
    {"SBATCH_OPEN_MODE", "open-mode"},
    {"SBATCH_OUTPUT", "output"},
    {"SBATCH_OVERCOMMIT", "overcommit"},
    {"SBATCH_PARTITION", "partition"},
    {"SBATCH_POWER", "power"},
    {"SBATCH_PROFILE", "profile"},
    {"SBATCH_QOS", "qos"},
    {"SBATCH_REQ_SWITCH", "switches"},
    {"SBATCH_REQUEUE", "requeue"},
    {"SBATCH_RESERVATION", "reservation"},
    {"SBATCH_SIGNAL", "signal"},
    {"SBATCH_SPREAD_JOB", "spread-job"},
    {"SBATCH_THREAD_SPEC", "thread-spec"},
    {"SBATCH_THREADS_PER_CORE", "threads-per-core"},
    {"SBATCH_TIMELIMIT", "time"},
    {"SBATCH_USE_MIN_NODES", "use-min-nodes"},
    {"SBATCH_WAIT", "wait"},
    {"SBATCH_WAIT_ALL_NODES", "wait-all-nodes"},
    {"SBATCH_WCKEY", "wckey"},
};

static const char *find(char *const *environment, const char *name)
{
    size_t size = strlen(name);
    for (char *const *at = environment; *at; at++)
        if (strncmp(*at, name, size) == 0 && (*at)[size] == '=')
            return *at + size + 1;
    return NULL;
}

static bool is_utf8(const char *value)
{
    json_t *string = json_string(value);
    json_decref(string);
    return string;
}

/* Whether the variable sets a flag: it is empty, `yes` or a number other than 0. */
static bool is_set(const char *value)
{
    return !*value || strcasecmp(value, "yes") == 0 || strtol(value, NULL, 10) != 0;
}

static void complain(const struct sbatch_script *script, enum spec_severity severity,
                     const char *name, const char *message)
{
    spec_problems_add(script->problems, severity, 0, 0, name, "%s", message);
}

static void take(struct sbatch_script *script, const char *name, const char *option,
                 const char *value)
{
    const char *nearest;
    const struct sbatch_option *found = sbatch_option_find(option, &nearest);
    if (found->value == SBATCH_NONE && !is_set(value))
        return;
    if (!is_utf8(value)) {
        complain(script, SPEC_ERROR, name, "it is not UTF-8 text");
    } else if (found->value == SBATCH_NEEDED && !*value) {
        complain(script, SPEC_WARNING, name, "left out: it is empty");
    } else {
        const struct sbatch_given given = {.value = xstrdup(value), .variable = name};
        sbatch_give(script, found, &given);
    }
}

void sbatch_variables_read(struct sbatch_script *script, char *const *environment)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = find(environment, variables[i].name);
        if (value)
            take(script, variables[i].name, variables[i].option, value);
    }
    if (find(environment, "SBATCH_WAIT4SWITCH"))
        complain(script, SPEC_WARNING, "SBATCH_WAIT4SWITCH",
                 "left out: use --switches=COUNT@TIME in the script");
}
