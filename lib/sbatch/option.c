/* The table of sbatch's options. */
#include "lib/sbatch/option.h"

#include "lib/text.h"

#include <string.h>

#define NOT_A_WORKFLOWS "it does not apply to a script that phased submits"

const struct sbatch_option sbatch_options[] = {
    {"account", 'A', SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_ACCOUNT", NULL},
    {"acctg-freq", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_ACCTG_FREQ", NULL},
    {"array", 'a', SBATCH_NEEDED, SBATCH_REFUSED, "SBATCH_ARRAY_INX",
     "a job array: submit the script once for each index, or make its index a param of a workflow"},
    {"batch", 0, SBATCH_NEEDED, SBATCH_REFUSED, "SBATCH_BATCH",
     "which node is the first is Slurm's choice here"},
    {"bb", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"bbf", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL, "put what the file says into `--bb`"},
    {"begin", 'b', SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"chdir", 'D', SBATCH_NEEDED, SBATCH_OWN, NULL, NULL},
    {"cluster-constraint", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL, "a daemon serves one cluster"},
    {"clusters", 'M', SBATCH_NEEDED, SBATCH_REFUSED, "SBATCH_CLUSTERS",
     "a daemon serves one cluster"},
    {"comment", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"constraint", 'C', SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_CONSTRAINT", NULL},
    {"container", 0, SBATCH_NEEDED, SBATCH_REFUSED, "SBATCH_CONTAINER",
     "start the container inside the script"},
    {"contiguous", 0, SBATCH_NONE, SBATCH_SLURM, NULL, NULL},
    {"core-spec", 'S', SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_CORE_SPEC", NULL},
    {"cores-per-socket", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL,
     "use --constraint with a feature of such nodes"},
    {"cpu-freq", 0, SBATCH_NEEDED, SBATCH_STEP, NULL, "SLURM_CPU_FREQ_REQ"},
    {"cpus-per-gpu", 0, SBATCH_NEEDED, SBATCH_SHAPE, "SBATCH_CPUS_PER_GPU", NULL},
    {"cpus-per-task", 'c', SBATCH_NEEDED, SBATCH_SHAPE, NULL, NULL},
    {"deadline", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"delay-boot", 0, SBATCH_NEEDED, SBATCH_WARNED, "SBATCH_DELAY_BOOT",
     "nodes boot when Slurm wants"},
    {"dependency", 'd', SBATCH_NEEDED, SBATCH_OWN, NULL, NULL},
    {"distribution", 'm', SBATCH_NEEDED, SBATCH_STEP, "SBATCH_DISTRIBUTION", "SLURM_DISTRIBUTION"},
    {"error", 'e', SBATCH_NEEDED, SBATCH_OWN, "SBATCH_ERROR", NULL},
    {"exclude", 'x', SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"exclusive", 0, SBATCH_OPTIONAL, SBATCH_OWN, "SBATCH_EXCLUSIVE", NULL},
    {"export", 0, SBATCH_OPTIONAL, SBATCH_OWN, "SBATCH_EXPORT", NULL},
    {"export-file", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL, "name the variables under `env:`"},
    {"extra-node-info", 'B', SBATCH_NEEDED, SBATCH_REFUSED, NULL,
     "use --constraint with a feature of such nodes"},
    {"get-user-env", 0, SBATCH_OPTIONAL, SBATCH_WARNED, "SBATCH_GET_USER_ENV",
     "the environment is that of the submitting shell"},
    {"gid", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL, "jobs run as whoever runs the daemon"},
    {"gpu-bind", 0, SBATCH_NEEDED, SBATCH_STEP, "SBATCH_GPU_BIND", "SLURM_GPU_BIND"},
    {"gpu-freq", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_GPU_FREQ", NULL},
    {"gpus", 'G', SBATCH_NEEDED, SBATCH_SHAPE, "SBATCH_GPUS", NULL},
    {"gpus-per-node", 0, SBATCH_NEEDED, SBATCH_SHAPE, "SBATCH_GPUS_PER_NODE", NULL},
    {"gpus-per-socket", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL, "use --gpus-per-node"},
    {"gpus-per-task", 0, SBATCH_NEEDED, SBATCH_SHAPE, "SBATCH_GPUS_PER_TASK", NULL},
    {"gres", 0, SBATCH_NEEDED, SBATCH_SHAPE, "SBATCH_GRES", NULL},
    {"gres-flags", 0, SBATCH_NEEDED, SBATCH_WARNED, "SBATCH_GRES_FLAGS",
     "GPUs are bound as the site does it"},
    {"help", 'h', SBATCH_NONE, SBATCH_REFUSED, NULL, NOT_A_WORKFLOWS},
    {"hint", 0, SBATCH_NEEDED, SBATCH_STEP, "SBATCH_HINT", "SLURM_HINT"},
    {"hold", 'H', SBATCH_NONE, SBATCH_WARNED, NULL, "`phasectl submit --hold` lets it wait"},
    {"ignore-pbs", 0, SBATCH_NONE, SBATCH_DROPPED, "SBATCH_IGNORE_PBS", NULL},
    {"immediate", 'I', SBATCH_OPTIONAL, SBATCH_WARNED, NULL, "it waits in the queue"},
    {"input", 'i', SBATCH_NEEDED, SBATCH_OWN, "SBATCH_INPUT", NULL},
    {"job-name", 'J', SBATCH_NEEDED, SBATCH_OWN, "SBATCH_JOB_NAME", NULL},
    {"kill-on-invalid-dep", 0, SBATCH_NEEDED, SBATCH_DROPPED, NULL, NULL},
    {"licenses", 'L', SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"mail-type", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"mail-user", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"mcs-label", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"mem", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_MEM_PER_NODE", NULL},
    {"mem-bind", 0, SBATCH_NEEDED, SBATCH_STEP, "SBATCH_MEM_BIND", "SLURM_MEM_BIND"},
    {"mem-per-cpu", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_MEM_PER_CPU", NULL},
    {"mem-per-gpu", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_MEM_PER_GPU", NULL},
    {"mincpus", 0, SBATCH_NEEDED, SBATCH_SHAPE, NULL, NULL},
    {"network", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_NETWORK", NULL},
    {"nice", 0, SBATCH_OPTIONAL, SBATCH_OWN, NULL, NULL},
    {"no-kill", 'k', SBATCH_OPTIONAL, SBATCH_WARNED, "SBATCH_NO_KILL",
     "if a node fails, the run ends, and the next run continues without that node"},
    {"no-requeue", 0, SBATCH_NONE, SBATCH_WARNED, "SBATCH_NO_REQUEUE",
     "a run that is interrupted runs again"},
    {"nodefile", 'F', SBATCH_NEEDED, SBATCH_REFUSED, NULL, "name the nodes by --nodelist"},
    {"nodelist", 'w', SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"nodes", 'N', SBATCH_NEEDED, SBATCH_SHAPE, NULL, NULL},
    {"ntasks", 'n', SBATCH_NEEDED, SBATCH_SHAPE, NULL, NULL},
    {"ntasks-per-core", 0, SBATCH_NEEDED, SBATCH_WARNED, NULL, "give it to srun inside the script"},
    {"ntasks-per-gpu", 0, SBATCH_NEEDED, SBATCH_SHAPE, NULL, NULL},
    {"ntasks-per-node", 0, SBATCH_NEEDED, SBATCH_SHAPE, NULL, NULL},
    {"ntasks-per-socket", 0, SBATCH_NEEDED, SBATCH_WARNED, NULL,
     "give it to srun inside the script"},
    {"open-mode", 0, SBATCH_NEEDED, SBATCH_DROPPED, "SBATCH_OPEN_MODE", NULL},
    {"output", 'o', SBATCH_NEEDED, SBATCH_OWN, "SBATCH_OUTPUT", NULL},
    {"overcommit", 'O', SBATCH_NONE, SBATCH_STEP, "SBATCH_OVERCOMMIT", "SLURM_OVERCOMMIT"},
    {"oversubscribe", 's', SBATCH_NONE, SBATCH_SLURM, NULL, NULL},
    {"parsable", 0, SBATCH_NONE, SBATCH_DROPPED, NULL, NULL},
    {"partition", 'p', SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_PARTITION", NULL},
    {"power", 0, SBATCH_NEEDED, SBATCH_WARNED, "SBATCH_POWER", "no power is managed for it"},
    {"prefer", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"priority", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"profile", 0, SBATCH_NEEDED, SBATCH_STEP, "SBATCH_PROFILE", "SLURM_PROFILE"},
    {"propagate", 0, SBATCH_OPTIONAL, SBATCH_WARNED, NULL,
     "all limits of the submitting shell apply"},
    {"qos", 'q', SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_QOS", NULL},
    {"quiet", 'Q', SBATCH_NONE, SBATCH_DROPPED, NULL, NULL},
    {"reboot", 0, SBATCH_NONE, SBATCH_REFUSED, NULL, "nodes are not booted for it"},
    {"requeue", 0, SBATCH_NONE, SBATCH_DROPPED, "SBATCH_REQUEUE", NULL},
    {"reservation", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_RESERVATION", NULL},
    {"signal", 0, SBATCH_NEEDED, SBATCH_OWN, "SBATCH_SIGNAL", NULL},
    {"sockets-per-node", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL,
     "use --constraint with a feature of such nodes"},
    {"spread-job", 0, SBATCH_NONE, SBATCH_WARNED, "SBATCH_SPREAD_JOB",
     "the number of nodes is what is asked for"},
    {"switches", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_REQ_SWITCH", NULL},
    {"test-only", 0, SBATCH_NONE, SBATCH_REFUSED, NULL, NOT_A_WORKFLOWS},
    {"thread-spec", 0, SBATCH_NEEDED, SBATCH_REFUSED, "SBATCH_THREAD_SPEC", "use --core-spec"},
    {"threads-per-core", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_THREADS_PER_CORE", NULL},
    {"time", 't', SBATCH_NEEDED, SBATCH_OWN, "SBATCH_TIMELIMIT", NULL},
    {"time-min", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"tmp", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"uid", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL, "jobs run as whoever runs the daemon"},
    {"usage", 0, SBATCH_NONE, SBATCH_REFUSED, NULL, NOT_A_WORKFLOWS},
    {"use-min-nodes", 0, SBATCH_NONE, SBATCH_WARNED, "SBATCH_USE_MIN_NODES",
     "the number of nodes is what is asked for"},
    {"verbose", 'v', SBATCH_NONE, SBATCH_DROPPED, NULL, NULL},
    {"version", 'V', SBATCH_NONE, SBATCH_REFUSED, NULL, NOT_A_WORKFLOWS},
    {"wait", 'W', SBATCH_NONE, SBATCH_WARNED, "SBATCH_WAIT",
     "`phasectl submit --watch` waits for its end"},
    {"wait-all-nodes", 0, SBATCH_NEEDED, SBATCH_DROPPED, "SBATCH_WAIT_ALL_NODES", NULL},
    {"wckey", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_WCKEY", NULL},
    {"wrap", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL, "there is a script already"},
};
const size_t sbatch_option_count = sizeof sbatch_options / sizeof *sbatch_options;

const struct sbatch_option *sbatch_option_find(const char *name, const char **ret_nearest)
{
    if (text_equal(name, "tasks-per-node")) /* second names that sbatch knows */
        name = "ntasks-per-node";
    else if (text_equal(name, "share"))
        name = "oversubscribe";
    const struct sbatch_option *found = NULL;
    const char *names[SBATCH_OPTIONS_MAX];
    bool is_unique = true;
    for (size_t i = 0; i < sbatch_option_count; i++) {
        const struct sbatch_option *option = &sbatch_options[i];
        names[i] = option->name;
        if (text_equal(option->name, name))
            return option;
        if (*name && text_starts(option->name, name)) {
            is_unique = is_unique && !found;
            found = option;
        }
    }
    *ret_nearest = text_nearest(name, names, sbatch_option_count);
    return is_unique ? found : NULL;
}

const struct sbatch_option *sbatch_option_of_letter(char letter)
{
    for (size_t i = 0; i < sbatch_option_count; i++)
        if (letter && sbatch_options[i].letter == letter)
            return &sbatch_options[i];
    return NULL;
}
