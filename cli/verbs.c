/* The table of verbs. The help has the same order. */
#include "cli/verbs.h"

#include "lib/text.h"

const struct verb verbs[] = {
    {"submit", submit_verb, "[options] FILE... [[--] ARGUMENT...]",
     "check workflow files or sbatch scripts and queue them",
     "Keeps the command, the environment, the umask and the current folder, as sbatch does.\n"
     "Options of sbatch before a script override its #SBATCH lines. The words after the script\n"
     "are its arguments; after `--` all words are.\n"
     "If the answer is lost, the submission is repeated, but nothing is submitted twice.\n"},
    {"check", check_verb, "[options] FILE... [[--] ARGUMENT...]",
     "say what is wrong with workflow files",
     "Prints every problem as FILE:LINE:COLUMN. Exits 1 if a file has problems. Needs no daemon.\n"
     "Takes options and arguments of a script as `submit` does.\n"},
    {"plan", plan_verb, "[options] FILE [[--] ARGUMENT...]",
     "say what a workflow file would do on this cluster",
     "Shows where each phase fits, when Slurm would start it if it were submitted now, how long\n"
     "it may take and what it may cost. Warns of settings of the cluster that may harm a phase.\n"
     "Queues nothing. Exits 1 if a phase fits nowhere or Slurm would refuse it. Takes options\n"
     "and arguments of a script as `submit` does.\n"},
    {"rehearse", rehearse_verb, "[options] FILE [[--] ARGUMENT...]",
     "run a few steps of each phase, to find problems before the real run",
     "Uses the same allocations as the real run. Shows which metrics and checkpoints came, what\n"
     "the checks of the gates found, and what the real run would cost. Exits 1 if something is\n"
     "missing. Takes options and arguments of a script as `submit` does.\n"},
    {"import", import_verb, "[options] SCRIPT... [-- ARGUMENT...]",
     "print sbatch scripts as one workflow",
     "Each script becomes a phase that starts after the phase before. Each option of an #SBATCH\n"
     "line is kept, or refused with its name and line. `submit` and `check` take scripts too.\n"
     "If there is one script, options of sbatch before the script override its lines, and the\n"
     "words after `--` are its arguments.\n"},
    {"status", status_verb, "[ADDRESS...] [options]",
     "show all workflows, or one workflow, phase or run",
     "Without an address, shows the workflows that are live or ended within a day.\n"},
    {"why", why_verb, "ADDRESS... [options]",
     "explain what happened to the runs of a phase, and what comes next",
     "Shows the runs with their causes, the verdicts and the last lines of the newest failed run,\n"
     "and what phased does or waits for. For a workflow, shows the phase that needs you most.\n"},
    {"show", show_verb, "ADDRESS... [options]", "show what a workflow was submitted with",
     "Shows the file, the options, the folder and the code: the git commit, and the changes since\n"
     "that commit. If the file says `code: snapshot`, also shows the copy that the runs use.\n"},
    {"diff", diff_verb, "ADDRESS ADDRESS [options]", "compare two workflows, phases or runs",
     "Shows the differences in code, params and file. Shows states, metrics and costs side by\n"
     "side.\n"},
    {"watch", watch_verb, "[ADDRESS...] [options]", "follow workflows until they end",
     "Without an address, does what `top` does. That needs a terminal.\n"
     "Exits 0 if all workflows succeeded, and 1 if one failed, was cancelled or is held. Ctrl-C\n"
     "stops the watching, and nothing else.\n"},
    {"events", events_verb, "[ADDRESS...] [options]",
     "print the history as lines of JSON, oldest first",
     "Each line is an EVENT of doc/api.md. With --follow, phasectl exits 0 at Ctrl-C.\n"
     "With --otlp, sends spans to the collector of OTEL_EXPORTER_OTLP_ENDPOINT instead.\n"},
    {"top", top_verb, "", "show all workflows live; keys open, promote, hold, cancel and retry",
     "Uses the whole terminal. Shows workflows, the phases of a workflow with their gates and\n"
     "GPUs, and the metrics and the log of a run. Press ? for the keys. If you quit, everything\n"
     "goes on without the view.\n"},
    {"open", open_verb, "[options]", "print the address of the web page",
     "The page shows what `top` shows, and curves, in a browser. On a desktop, opens it.\n"
     "The address is good until the daemon ends.\n"},
    {"mcp", mcp_verb, "[options]", "serve an AI assistant by the Model Context Protocol",
     "Reads and writes messages on standard input and output. The assistant starts this command.\n"
     "By default its tools only read: a submission is checked and planned, but not made.\n"},
    {"logs", logs_verb, "ADDRESS... [options]", "print what the ranks of a run printed",
     "For a phase, prints the logs of its newest run that has logs. For a workflow, prints those\n"
     "of the newest run of any phase. Needs no daemon.\n"},
    {"metrics", metrics_verb, "ADDRESS... [options]", "print the metrics of a run",
     "For a phase, prints the metrics of its newest run that has metrics. For a workflow, prints\n"
     "those of the newest run of any phase.\n"
     "With --tensorboard or --trackio, writes all runs of a phase as one curve, and all phases of\n"
     "a workflow. Needs no daemon.\n"},
    {"attach", attach_verb, "ADDRESS [options] [-- PROGRAM [ARGUMENT...]]",
     "open a shell beside the ranks of a run",
     "The shell, or the PROGRAM, is a job step of Slurm on a node of the run. The job step\n"
     "has the GPUs of the job, and PHASED_OUT and PHASED_RUN_DIR of the run. The job step ends\n"
     "with the job at the latest.\n"},
    {"gpus", gpus_verb, "ADDRESS... [options]", "show what the GPUs of a run do",
     "Shows the newest means over ten seconds or a minute. For a phase, shows its newest run.\n"
     "For a matrix, shows the active runs of its members. For a workflow, shows its newest run of\n"
     "any phase.\n"},
    {"gate", gate_verb, "ADDRESS... [options]", "explain each check of a phase's gate", NULL},
    {"promote", action_verb, "ADDRESS... [options]",
     "start the next phases, whatever the gate says",
     "The record keeps your decision and the verdict of the gate.\n"},
    {"hold", action_verb, "ADDRESS... [options]", "stop with a checkpoint, and wait for `release`",
     "A running phase stops with a checkpoint. A queued phase leaves the queue of Slurm. Both\n"
     "wait until you release them.\n"},
    {"release", action_verb, "ADDRESS... [options]", "let a held phase or workflow go on", NULL},
    {"resume", action_verb, "ADDRESS... [options]",
     "continue from the newest good checkpoint, whatever stopped it",
     "Works on phases that are held, failed or cancelled, and have a checkpoint, but not on a\n"
     "phase with `promote: manual` that waits for `promote`. `retry` may start from the\n"
     "beginning, but `resume` never does.\n"},
    {"cancel", action_verb, "ADDRESS... [options]",
     "end a phase or workflow for good; runs stop with a checkpoint", NULL},
    {"retry", retry_verb, "ADDRESS... [options]", "run a held, failed or cancelled phase again",
     "Works on phases that failed, were cancelled, or are held by their gate, by a failure or\n"
     "because they made no progress. The phase resumes from its last good checkpoint. If the gate\n"
     "has already judged the phase, the phase starts from the beginning.\n"},
    {"runs", runs_verb, "[ADDRESS...] [options]", "list the runs, newest first", NULL},
    {"cost", cost_verb, "[ADDRESS...] [options]", "show what was spent, and on what",
     "Useful time led to a checkpoint that was kept, or to the end of a run. Other time was lost\n"
     "in runs that were preempted, failed or stopped, or passed while nothing ran in an\n"
     "allocation.\n"},
    {"budget", budget_verb, "WORKFLOW... [options]", "show or change what a workflow may cost",
     "Without an amount, shows the budget. At 80 % of the budget, phased warns. At 100 %, all\n"
     "runs stop with a checkpoint, and phased holds the workflow. After you give the workflow a\n"
     "larger budget, `phasectl release` lets the workflow go on.\n"},
    {"nodes", nodes_verb, "[add NODE | clear NODE] [options]",
     "list, add or clear nodes that new jobs leave out",
     "If a node makes a run fail, new jobs leave the node out for 2 hours; twice as long for each\n"
     "further failure within a week; at most 48 hours. `add` leaves a node out because you want\n"
     "it. `clear` lets new jobs use the node again. Jobs that already wait in the queue of Slurm\n"
     "do not change.\n"},
    {"failures", failures_verb, "[LOG...] [options]",
     "list the known failures, or recognise them in a log",
     "phased recognises a failure by what the run printed: phased-failures(5). Your own entries\n"
     "are in failures.yaml in the home. To try your entries, give a LOG. Exits 1 if an entry is\n"
     "wrong. The daemon leaves a wrong entry out.\n"},
    {"doctor", doctor_verb, "[options]",
     "find what may harm training on this machine and in this Slurm",
     "Looks at the machine, the settings of Slurm, and the home. Each line says what was found\n"
     "and what to do. Changes nothing, and needs no daemon. Exits 1 if a line is an error.\n"},
    {"daemon", daemon_verb, "start|stop|status|build-slurm [options]",
     "start, stop or look at phased",
     "One daemon serves one home ($PHASED_HOME, or ~/.phased). Training goes on without it.\n"
     "If the home has a sandbox and SLURM_CONF is not set, `start` uses the sandbox.\n"
     "`build-slurm` builds the module for the Slurm of this machine, if phased has no module for "
     "it.\n\n"
     "`start --as-job -- --partition=cpu --time=7-0` is for sites that end processes on login\n"
     "nodes: a small job runs phased, and submits its successor before its time limit. `stop`\n"
     "ends both.\n"},
    {"sandbox", sandbox_verb, "start|stop|status [options]",
     "start or stop a private Slurm on this machine",
     "The sandbox is in the home, runs as your user and does not disturb another Slurm. If this\n"
     "machine has NVIDIA GPUs and no other Slurm, the sandbox has one node with these GPUs.\n"
     "Otherwise it has pretend nodes. `status` exits 3 if a part of the sandbox does not run.\n"},
};

const size_t verb_count = sizeof verbs / sizeof verbs[0];

const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < verb_count; i++) {
        if (text_equal(verbs[i].name, name))
            return &verbs[i];
    }
    return NULL;
}

/* What other programs call the verbs. */
static const struct {
    const char *name, *verb, *other; /* NULL: one verb does it */
} verb_synonyms[] = {
    {"explain", "why", "gate"},
    {"describe", "status", "show"},
    {"info", "status", "show"},
    {"list", "status", NULL},
    {"ls", "status", NULL},
    {"queue", "status", NULL},
    {"squeue", "status", NULL},
    {"sbatch", "submit", NULL},
    {"run", "submit", "runs"},
    {"validate", "check", NULL},
    {"lint", "check", NULL},
    {"stop", "hold", "cancel"},
    {"pause", "hold", NULL},
    {"kill", "cancel", NULL},
    {"scancel", "cancel", NULL},
    {"delete", "cancel", NULL},
    {"continue", "release", "resume"},
    {"restart", "retry", NULL},
    {"rerun", "retry", NULL},
    {"requeue", "retry", NULL},
    {"approve", "promote", NULL},
    {"history", "runs", "events"},
    {"follow", "watch", NULL},
    {"tail", "logs", NULL},
    {"shell", "attach", NULL},
    {"ssh", "attach", NULL},
};

char *verb_suggest(const char *name)
{
    const char *names[sizeof verbs / sizeof verbs[0]];
    for (size_t i = 0; i < sizeof verb_synonyms / sizeof verb_synonyms[0]; i++) {
        const char *other = verb_synonyms[i].other;
        if (text_equal(verb_synonyms[i].name, name))
            return text_format("'%s'%s%s%s", verb_synonyms[i].verb, other ? " or '" : "",
                               other ? other : "", other ? "'" : "");
    }
    for (size_t i = 0; i < verb_count; i++)
        names[i] = verbs[i].name;
    const char *nearest = text_nearest(name, names, verb_count);
    return nearest ? text_format("'%s'", nearest) : NULL;
}
