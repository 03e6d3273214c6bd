/* The table of sbatch's options. */
#include "lib/sbatch/option.h"

#include "lib/text.h"

#define NOT_A_WORKFLOWS "it does not apply to a script that phased submits"

const struct sbatch_option sbatch_options[] = {
    {"account", 'A', SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_ACCOUNT", NULL},
    {"acctg-freq", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_ACCTG_FREQ", NULL},
    {"array", 'a', SBATCH_NEEDED, SBATCH_OWN, "SBATCH_ARRAY_INX",
     "a matrix: a member and a job for each task, at most `%N` at once; no array for scontrol"},
    {"batch", 0, SBATCH_NEEDED, SBATCH_REFUSED, "SBATCH_BATCH",
     "Slurm chooses which node is the first"},
    {"bb", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"bbf", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL, "put what the file says into `--bb`"},
    {"begin", 'b', SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"chdir", 'D', SBATCH_NEEDED, SBATCH_OWN, NULL, "`workdir`, or `cd` before the script"},
    {"cluster-constraint", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL, "a daemon serves one cluster"},
    {"clusters", 'M', SBATCH_NEEDED, SBATCH_REFUSED, "SBATCH_CLUSTERS",
     "a daemon serves one cluster"},
    {"comment", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"consolidate-segments", 0, SBATCH_NONE, SBATCH_REFUSED, NULL,
     "use --switches or --nodelist to keep nodes together"},
    {"constraint", 'C', SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_CONSTRAINT", NULL},
    {"container", 0, SBATCH_NEEDED, SBATCH_REFUSED, "SBATCH_CONTAINER",
     "start the container inside the script"},
    {"container-id", 0, SBATCH_NEEDED, SBATCH_REFUSED, "SBATCH_CONTAINER_ID",
     "start the container inside the script"},
    {"container-type", 0, SBATCH_NEEDED, SBATCH_REFUSED, "SBATCH_CONTAINER_TYPE",
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
     "Slurm decides when nodes boot"},
    {"dependency", 'd', SBATCH_NEEDED, SBATCH_OWN, NULL,
     "names of scripts: `after`; numbers of jobs: kept under `slurm`"},
    {"distribution", 'm', SBATCH_NEEDED, SBATCH_STEP, "SBATCH_DISTRIBUTION", "SLURM_DISTRIBUTION"},
    {"error", 'e', SBATCH_NEEDED, SBATCH_OWN, "SBATCH_ERROR",
     "the file is written beside the logs"},
    {"exclude", 'x', SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"exclusive", 0, SBATCH_OPTIONAL, SBATCH_OWN, "SBATCH_EXCLUSIVE",
     "kept under `slurm`; refused with a value; for GPUs add `--gpus-per-node`"},
    {"export", 0, SBATCH_OPTIONAL, SBATCH_OWN, "SBATCH_EXPORT",
     "values: `env`; phased always takes the whole environment"},
    {"export-file", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL, "name the variables under `env:`"},
    {"external", 0, SBATCH_NONE, SBATCH_REFUSED, NULL, NOT_A_WORKFLOWS},
    {"extra", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL, "use --constraint to choose nodes"},
    {"extra-node-info", 'B', SBATCH_NEEDED, SBATCH_REFUSED, NULL,
     "use --constraint with a feature of such nodes"},
    {"get-user-env", 0, SBATCH_OPTIONAL, SBATCH_WARNED, "SBATCH_GET_USER_ENV",
     "the job has the environment of the submitting shell"},
    {"gid", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL, "jobs run as the user who runs the daemon"},
    {"gpu-bind", 0, SBATCH_NEEDED, SBATCH_STEP, "SBATCH_GPU_BIND", "SLURM_GPU_BIND"},
    {"gpu-freq", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_GPU_FREQ", NULL},
    {"gpus", 'G', SBATCH_NEEDED, SBATCH_SHAPE, "SBATCH_GPUS", NULL},
    {"gpus-per-node", 0, SBATCH_NEEDED, SBATCH_SHAPE, "SBATCH_GPUS_PER_NODE", NULL},
    {"gpus-per-socket", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL, "use --gpus-per-node"},
    {"gpus-per-task", 0, SBATCH_NEEDED, SBATCH_SHAPE, "SBATCH_GPUS_PER_TASK", NULL},
    {"gres", 0, SBATCH_NEEDED, SBATCH_SHAPE, "SBATCH_GRES", NULL},
    {"gres-flags", 0, SBATCH_NEEDED, SBATCH_WARNED, "SBATCH_GRES_FLAGS",
     "the site decides how GPUs are bound"},
    {"help", 'h', SBATCH_NONE, SBATCH_REFUSED, NULL, NOT_A_WORKFLOWS},
    {"hint", 0, SBATCH_NEEDED, SBATCH_OWN, "SBATCH_HINT",
     "`SLURM_HINT` for srun in the script; `threads-per-core` 1 under `slurm`, except for "
     "multithread"},
    {"hold", 'H', SBATCH_NONE, SBATCH_WARNED, NULL, "`phasectl submit --hold` lets it wait"},
    {"ignore-pbs", 0, SBATCH_NONE, SBATCH_DROPPED, "SBATCH_IGNORE_PBS",
     "only #SBATCH lines are read"},
    {"immediate", 'I', SBATCH_OPTIONAL, SBATCH_WARNED, NULL, "it waits in the queue"},
    {"input", 'i', SBATCH_NEEDED, SBATCH_OWN, "SBATCH_INPUT",
     "the input of the script; `%j` and so on as in `--output`"},
    {"job-name", 'J', SBATCH_NEEDED, SBATCH_OWN, "SBATCH_JOB_NAME", "the name of the phase"},
    {"kill-on-invalid-dep", 0, SBATCH_NEEDED, SBATCH_WARNED, NULL,
     "the site decides what Slurm does"},
    {"licenses", 'L', SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"mail-type", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"mail-user", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"mcs-label", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"mem", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_MEM_PER_NODE", NULL},
    {"mem-bind", 0, SBATCH_NEEDED, SBATCH_STEP, "SBATCH_MEM_BIND", "SLURM_MEM_BIND"},
    {"mem-per-cpu", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_MEM_PER_CPU", NULL},
    {"mem-per-gpu", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_MEM_PER_GPU", NULL},
    {"mem-update", 0, SBATCH_NEEDED, SBATCH_WARNED, NULL, "the job keeps the memory it asked for"},
    {"mincpus", 0, SBATCH_NEEDED, SBATCH_SHAPE, NULL, NULL},
    {"network", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_NETWORK", NULL},
    {"nice", 0, SBATCH_OPTIONAL, SBATCH_OWN, NULL, "kept under `slurm`"},
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
    {"oom-kill-step", 0, SBATCH_OPTIONAL, SBATCH_WARNED, "SBATCH_OOM_KILL_STEP",
     "give it to srun inside the script"},
    {"open-mode", 0, SBATCH_NEEDED, SBATCH_DROPPED, "SBATCH_OPEN_MODE",
     "append: the first run appends, too; all later runs append"},
    {"output", 'o', SBATCH_NEEDED, SBATCH_OWN, "SBATCH_OUTPUT",
     "the file is written beside the logs"},
    {"overcommit", 'O', SBATCH_NONE, SBATCH_STEP, "SBATCH_OVERCOMMIT", "SLURM_OVERCOMMIT"},
    {"oversubscribe", 's', SBATCH_NONE, SBATCH_SLURM, NULL, NULL},
    {"parsable", 0, SBATCH_NONE, SBATCH_WARNED, NULL, "`phasectl submit --json` prints the number"},
    {"partition", 'p', SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_PARTITION", NULL},
    {"power", 0, SBATCH_NEEDED, SBATCH_WARNED, "SBATCH_POWER", "phased does not manage power"},
    {"prefer", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"priority", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"profile", 0, SBATCH_NEEDED, SBATCH_STEP, "SBATCH_PROFILE", "SLURM_PROFILE"},
    {"propagate", 0, SBATCH_OPTIONAL, SBATCH_WARNED, NULL,
     "all limits of the submitting shell apply"},
    {"qos", 'q', SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_QOS", NULL},
    {"quiet", 'Q', SBATCH_NONE, SBATCH_DROPPED, NULL, "phased prints little anyway"},
    {"reboot", 0, SBATCH_NONE, SBATCH_REFUSED, NULL, "phased does not boot nodes"},
    {"requeue", 0, SBATCH_NONE, SBATCH_DROPPED, "SBATCH_REQUEUE",
     "phased always runs a script again"},
    {"reservation", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_RESERVATION", NULL},
    {"resources", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL,
     "phased asks for no hierarchical resources"},
    {"resv-ports", 0, SBATCH_OPTIONAL, SBATCH_WARNED, NULL, "give it to srun inside the script"},
    {"segment", 0, SBATCH_NEEDED, SBATCH_REFUSED, "SBATCH_SEGMENT_SIZE",
     "use --switches or --nodelist to keep nodes together"},
    {"signal", 0, SBATCH_NEEDED, SBATCH_OWN, "SBATCH_SIGNAL",
     "sent that many seconds before the time limit"},
    {"sockets-per-node", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL,
     "use --constraint with a feature of such nodes"},
    {"spread-job", 0, SBATCH_NONE, SBATCH_WARNED, "SBATCH_SPREAD_JOB",
     "the job gets the number of nodes that it asks for"},
    {"spread-segments", 0, SBATCH_NONE, SBATCH_REFUSED, NULL, "name the nodes by --nodelist"},
    {"stepmgr", 0, SBATCH_NONE, SBATCH_REFUSED, NULL, "the site decides how job steps are managed"},
    {"switches", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_REQ_SWITCH", NULL},
    {"test-only", 0, SBATCH_NONE, SBATCH_REFUSED, NULL, NOT_A_WORKFLOWS},
    {"thread-spec", 0, SBATCH_NEEDED, SBATCH_REFUSED, "SBATCH_THREAD_SPEC", "use --core-spec"},
    {"threads-per-core", 0, SBATCH_NEEDED, SBATCH_SLURM, "SBATCH_THREADS_PER_CORE", NULL},
    {"time", 't', SBATCH_NEEDED, SBATCH_OWN, "SBATCH_TIMELIMIT", "`resources.time`"},
    {"time-min", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"tmp", 0, SBATCH_NEEDED, SBATCH_SLURM, NULL, NULL},
    {"tres-bind", 0, SBATCH_NEEDED, SBATCH_STEP, "SBATCH_TRES_BIND", "SLURM_TRES_BIND"},
    {"tres-per-task", 0, SBATCH_NEEDED, SBATCH_REFUSED, "SBATCH_TRES_PER_TASK",
     "use --cpus-per-task and --gpus-per-task"},
    {"uid", 0, SBATCH_NEEDED, SBATCH_REFUSED, NULL, "jobs run as the user who runs the daemon"},
    {"usage", 0, SBATCH_NONE, SBATCH_REFUSED, NULL, NOT_A_WORKFLOWS},
    {"use-min-nodes", 0, SBATCH_NONE, SBATCH_WARNED, "SBATCH_USE_MIN_NODES",
     "the job gets the number of nodes that it asks for"},
    {"verbose", 'v', SBATCH_NONE, SBATCH_DROPPED, NULL, "phased prints little anyway"},
    {"version", 'V', SBATCH_NONE, SBATCH_REFUSED, NULL, NOT_A_WORKFLOWS},
    {"wait", 'W', SBATCH_NONE, SBATCH_WARNED, "SBATCH_WAIT",
     "`phasectl submit --watch` waits for its end"},
    {"wait-all-nodes", 0, SBATCH_NEEDED, SBATCH_DROPPED, "SBATCH_WAIT_ALL_NODES",
     "phased always waits for all nodes"},
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
