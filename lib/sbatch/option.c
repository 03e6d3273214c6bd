/* The table of sbatch's options. */
#include "lib/sbatch/option.h"

#include "lib/text.h"

#include <string.h>

#define NOT_A_WORKFLOWS "it does not apply to a script that phased submits"

const struct sbatch_option sbatch_options[] = {
    {"account", 'A', SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"acctg-freq", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"array", 'a', SBATCH_NEEDED, SBATCH_REFUSED,
     "a job array: submit the script once for each index, or make its index a param of a workflow"},
    {"batch", 0, SBATCH_NEEDED, SBATCH_REFUSED, "which node is the first is Slurm's choice here"},
    {"bb", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"bbf", 0, SBATCH_NEEDED, SBATCH_REFUSED, "put what the file says into `--bb`"},
    {"begin", 'b', SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"chdir", 'D', SBATCH_NEEDED, SBATCH_OWN, NULL},
    {"cluster-constraint", 0, SBATCH_NEEDED, SBATCH_REFUSED, "a daemon serves one cluster"},
    {"clusters", 'M', SBATCH_NEEDED, SBATCH_REFUSED, "a daemon serves one cluster"},
    {"comment", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"constraint", 'C', SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"container", 0, SBATCH_NEEDED, SBATCH_REFUSED, "start the container inside the script"},
    {"contiguous", 0, SBATCH_NONE, SBATCH_SLURM, NULL},
    {"core-spec", 'S', SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"cores-per-socket", 0, SBATCH_NEEDED, SBATCH_REFUSED,
     "use --constraint with a feature of such nodes"},
    {"cpu-freq", 0, SBATCH_NEEDED, SBATCH_STEP, "SLURM_CPU_FREQ_REQ"},
    {"cpus-per-gpu", 0, SBATCH_NEEDED, SBATCH_SHAPE, NULL},
    {"cpus-per-task", 'c', SBATCH_NEEDED, SBATCH_SHAPE, NULL},
    {"deadline", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"delay-boot", 0, SBATCH_NEEDED, SBATCH_WARNED, "nodes boot when Slurm wants"},
    {"dependency", 'd', SBATCH_NEEDED, SBATCH_OWN, NULL},
    {"distribution", 'm', SBATCH_NEEDED, SBATCH_STEP, "SLURM_DISTRIBUTION"},
    {"error", 'e', SBATCH_NEEDED, SBATCH_OWN, NULL},
    {"exclude", 'x', SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"exclusive", 0, SBATCH_OPTIONAL, SBATCH_OWN, NULL},
    {"export", 0, SBATCH_OPTIONAL, SBATCH_OWN, NULL},
    {"export-file", 0, SBATCH_NEEDED, SBATCH_REFUSED, "name the variables under `env:`"},
    {"extra-node-info", 'B', SBATCH_NEEDED, SBATCH_REFUSED,
     "use --constraint with a feature of such nodes"},
    {"get-user-env", 0, SBATCH_OPTIONAL, SBATCH_WARNED,
     "the environment is that of the submitting shell"},
    {"gid", 0, SBATCH_NEEDED, SBATCH_REFUSED, "jobs run as whoever runs the daemon"},
    {"gpu-bind", 0, SBATCH_NEEDED, SBATCH_STEP, "SLURM_GPU_BIND"},
    {"gpu-freq", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"gpus", 'G', SBATCH_NEEDED, SBATCH_SHAPE, NULL},
    {"gpus-per-node", 0, SBATCH_NEEDED, SBATCH_SHAPE, NULL},
    {"gpus-per-socket", 0, SBATCH_NEEDED, SBATCH_REFUSED, "use --gpus-per-node"},
    {"gpus-per-task", 0, SBATCH_NEEDED, SBATCH_SHAPE, NULL},
    {"gres", 0, SBATCH_NEEDED, SBATCH_SHAPE, NULL},
    {"gres-flags", 0, SBATCH_NEEDED, SBATCH_WARNED, "GPUs are bound as the site does it"},
    {"help", 'h', SBATCH_NONE, SBATCH_REFUSED, NOT_A_WORKFLOWS},
    {"hint", 0, SBATCH_NEEDED, SBATCH_STEP, "SLURM_HINT"},
    {"hold", 'H', SBATCH_NONE, SBATCH_WARNED, "`phasectl submit --hold` lets it wait"},
    {"ignore-pbs", 0, SBATCH_NONE, SBATCH_DROPPED, NULL},
    {"immediate", 'I', SBATCH_OPTIONAL, SBATCH_WARNED, "it waits in the queue"},
    {"input", 'i', SBATCH_NEEDED, SBATCH_OWN, NULL},
    {"job-name", 'J', SBATCH_NEEDED, SBATCH_OWN, NULL},
    {"kill-on-invalid-dep", 0, SBATCH_NEEDED, SBATCH_DROPPED, NULL},
    {"licenses", 'L', SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"mail-type", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"mail-user", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"mcs-label", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"mem", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"mem-bind", 0, SBATCH_NEEDED, SBATCH_STEP, "SLURM_MEM_BIND"},
    {"mem-per-cpu", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"mem-per-gpu", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"mincpus", 0, SBATCH_NEEDED, SBATCH_SHAPE, NULL},
    {"network", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"nice", 0, SBATCH_OPTIONAL, SBATCH_OWN, NULL},
    {"no-kill", 'k', SBATCH_OPTIONAL, SBATCH_WARNED,
     "if a node fails, the run ends, and the next run continues without that node"},
    {"no-requeue", 0, SBATCH_NONE, SBATCH_WARNED, "a run that is interrupted runs again"},
    {"nodefile", 'F', SBATCH_NEEDED, SBATCH_REFUSED, "name the nodes by --nodelist"},
    {"nodelist", 'w', SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"nodes", 'N', SBATCH_NEEDED, SBATCH_SHAPE, NULL},
    {"ntasks", 'n', SBATCH_NEEDED, SBATCH_SHAPE, NULL},
    {"ntasks-per-core", 0, SBATCH_NEEDED, SBATCH_WARNED, "give it to srun inside the script"},
    {"ntasks-per-gpu", 0, SBATCH_NEEDED, SBATCH_SHAPE, NULL},
    {"ntasks-per-node", 0, SBATCH_NEEDED, SBATCH_SHAPE, NULL},
    {"ntasks-per-socket", 0, SBATCH_NEEDED, SBATCH_WARNED, "give it to srun inside the script"},
    {"open-mode", 0, SBATCH_NEEDED, SBATCH_DROPPED, NULL},
    {"output", 'o', SBATCH_NEEDED, SBATCH_OWN, NULL},
    {"overcommit", 'O', SBATCH_NONE, SBATCH_STEP, "SLURM_OVERCOMMIT"},
    {"oversubscribe", 's', SBATCH_NONE, SBATCH_SLURM, NULL},
    {"parsable", 0, SBATCH_NONE, SBATCH_DROPPED, NULL},
    {"partition", 'p', SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"power", 0, SBATCH_NEEDED, SBATCH_WARNED, "no power is managed for it"},
    {"prefer", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"priority", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"profile", 0, SBATCH_NEEDED, SBATCH_STEP, "SLURM_PROFILE"},
    {"propagate", 0, SBATCH_OPTIONAL, SBATCH_WARNED, "all limits of the submitting shell apply"},
    {"qos", 'q', SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"quiet", 'Q', SBATCH_NONE, SBATCH_DROPPED, NULL},
    {"reboot", 0, SBATCH_NONE, SBATCH_REFUSED, "nodes are not booted for it"},
    {"requeue", 0, SBATCH_NONE, SBATCH_DROPPED, NULL},
    {"reservation", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"share", 0, SBATCH_NONE, SBATCH_OWN, NULL},
    {"signal", 0, SBATCH_NEEDED, SBATCH_OWN, NULL},
    {"sockets-per-node", 0, SBATCH_NEEDED, SBATCH_REFUSED,
     "use --constraint with a feature of such nodes"},
    {"spread-job", 0, SBATCH_NONE, SBATCH_WARNED, "the number of nodes is what is asked for"},
    {"switches", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"test-only", 0, SBATCH_NONE, SBATCH_REFUSED, NOT_A_WORKFLOWS},
    {"thread-spec", 0, SBATCH_NEEDED, SBATCH_REFUSED, "use --core-spec"},
    {"threads-per-core", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"time", 't', SBATCH_NEEDED, SBATCH_OWN, NULL},
    {"time-min", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"tmp", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"uid", 0, SBATCH_NEEDED, SBATCH_REFUSED, "jobs run as whoever runs the daemon"},
    {"usage", 0, SBATCH_NONE, SBATCH_REFUSED, NOT_A_WORKFLOWS},
    {"use-min-nodes", 0, SBATCH_NONE, SBATCH_WARNED, "the number of nodes is what is asked for"},
    {"verbose", 'v', SBATCH_NONE, SBATCH_DROPPED, NULL},
    {"version", 'V', SBATCH_NONE, SBATCH_REFUSED, NOT_A_WORKFLOWS},
    {"wait", 'W', SBATCH_NONE, SBATCH_WARNED, "`phasectl submit --watch` waits for its end"},
    {"wait-all-nodes", 0, SBATCH_NEEDED, SBATCH_DROPPED, NULL},
    {"wckey", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL},
    {"wrap", 0, SBATCH_NEEDED, SBATCH_REFUSED, "there is a script already"},
};
const size_t sbatch_option_count = sizeof sbatch_options / sizeof *sbatch_options;

const struct sbatch_option *sbatch_option_find(const char *name, const char **ret_nearest)
{
    if (text_equal(name, "tasks-per-node")) /* sbatch's second name for it */
        name = "ntasks-per-node";
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
