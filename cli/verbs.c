/* What phasectl can do, in the order of its help. */
#include "cli/verbs.h"

#include "lib/text.h"

#include <string.h>

const struct verb verbs[] = {
    {"submit", submit_verb, "FILE... [options] [-- ARGUMENT...]",
     "check workflow files or sbatch scripts and queue them",
     "The command, its environment, umask and current folder are captured, as sbatch does.\n"
     "An sbatch script gets the words behind `--` as its arguments.\n"
     "A submission that is repeated because the answer was lost never submits twice.\n"},
    {"check", check_verb, "FILE [options]", "say what is wrong with a workflow file",
     "Prints every problem as FILE:LINE:COLUMN and exits 1 if there are any; asks no daemon.\n"},
    {"plan", plan_verb, "FILE [options]", "say what would become of a workflow file",
     "Where its phases fit, when Slurm would start them if they were submitted now, what they may\n"
     "take and cost, and what in the cluster's settings may harm them. Nothing is queued. Exits 1\n"
     "if a phase fits nowhere or Slurm would refuse it.\n"},
    {"rehearse", rehearse_verb, "FILE [options]",
     "run each phase for a few steps first, and say what the real run would meet",
     "On the allocations that the real run will get. Says which metrics and checkpoints came, "
     "what\n"
     "the gates' checks found, and what the real run would cost. Exits 1 if something is "
     "missing.\n"},
    {"import", import_verb, "SCRIPT... [options]", "print sbatch scripts as one workflow",
     "Each script becomes a phase, after the one before. What #SBATCH lines ask for is kept, or\n"
     "refused by its name and line. `submit` and `check` take scripts too.\n"},
    {"status", status_verb, "[ADDRESS...] [options]",
     "show workflows, or one of them, a phase or a run",
     "Without an address: what is live, and what ended within a day.\n"},
    {"why", why_verb, "ADDRESS...", "explain what became of a phase's runs, and what follows",
     "Its runs with their causes, the verdicts and the last lines of the newest that failed, and "
     "what\n"
     "is done or waited for. For a workflow: the phase that needs it most.\n"},
    {"show", show_verb, "ADDRESS [options]", "tell what a workflow was submitted with",
     "Its file, options, folder and code: the git commit, what was changed since, and the copy\n"
     "that runs use where the file says code: snapshot.\n"},
    {"watch", watch_verb, "ADDRESS", "follow a workflow until it ends",
     "Exits 0 when it succeeded, 1 when it failed, was cancelled or is held. Ctrl-C only ends the\n"
     "watching.\n"},
    {"logs", logs_verb, "ADDRESS [options]", "print what the ranks of a run printed",
     "For a phase its newest run is meant, for a workflow the newest run of all.\n"},
    {"metrics", metrics_verb, "ADDRESS [options]", "print the metrics of a run",
     "For a phase its newest run is meant, for a workflow the newest run of all.\n"},
    {"gpus", gpus_verb, "ADDRESS... [options]", "print what the GPUs of a run do",
     "Means of ten seconds or a minute, the newest. For a phase its newest run is meant, for a\n"
     "workflow the newest run of all.\n"},
    {"gate", gate_verb, "ADDRESS... [options]", "explain each check of a phase's gate", NULL},
    {"promote", action_verb, "ADDRESS...", "let the next phases start, whatever the gate says",
     "Recorded as your decision, beside the verdict of the gate.\n"},
    {"hold", action_verb, "ADDRESS...", "stop after a checkpoint and keep for later",
     "A running phase stops with a checkpoint, a queued one leaves Slurm's queue; both wait until\n"
     "released.\n"},
    {"release", action_verb, "ADDRESS...", "let what is held go on", NULL},
    {"resume", action_verb, "ADDRESS...", "go on from the newest checkpoint, whatever stopped it",
     "For phases that are held, failed or cancelled. Unlike `retry` it never begins anew.\n"},
    {"cancel", action_verb, "ADDRESS...", "end for good; runs stop with a checkpoint", NULL},
    {"retry", retry_verb, "ADDRESS... [--from STEP]", "run a held or failed phase again",
     "It goes on from its last good checkpoint, or begins anew when its gate has judged it.\n"},
    {"runs", runs_verb, "[ADDRESS...] [options]", "list the runs, newest first", NULL},
    {"cost", cost_verb, "[ADDRESS] [options]", "show what was paid, and for what",
     "Useful is what led to a checkpoint that was kept or to the end; the rest was lost by runs\n"
     "that were preempted, failed or stopped, or waited in an allocation.\n"},
    {"budget", budget_verb, "WORKFLOW [options]", "show or change what a workflow may cost",
     "Without options it is shown. At 80 % it is warned of, at 100 % the workflow is held after a\n"
     "checkpoint; with a larger budget, `phasectl release` lets it go on.\n"},
    {"nodes", nodes_verb, "[add NODE | clear NODE] [options]",
     "list, add or clear the nodes that jobs are kept away from",
     "A node that takes a run down is left out for 2 hours, and for twice as long each time it\n"
     "does so again within a week. `add` leaves one out because you want it, `clear` uses it\n"
     "again.\n"
     "Jobs that wait in Slurm's queue already are not changed.\n"},
    {"failures", failures_verb, "[LOG...] [options]",
     "list what is known of failures, or say what a log tells",
     "A run that failed is recognised by what it printed: phased-failures(5). Entries of your own\n"
     "stand in failures.yaml in the home; with a LOG you can try them. Exits with 1 if an entry "
     "is\n"
     "wrong; the daemon leaves it out.\n"},
    {"daemon", daemon_verb, "start|stop|status", "start or stop phased",
     "One daemon serves one home ($PHASED_HOME, or ~/.phased). Training goes on without it.\n"
     "With a sandbox in the home and no SLURM_CONF, `start` uses the sandbox.\n"},
    {"sandbox", sandbox_verb, "start|stop|status [options]",
     "start or stop a private Slurm with pretend GPUs",
     "It lies in the home, runs as you and disturbs no other Slurm. `status` exits with 3 where "
     "not\n"
     "all of it runs.\n"},
};

const size_t verb_count = sizeof verbs / sizeof verbs[0];

const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < verb_count; i++) {
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    }
    return NULL;
}

const char *verb_nearest(const char *name)
{
    const char *names[sizeof verbs / sizeof verbs[0]];
    for (size_t i = 0; i < verb_count; i++)
        names[i] = verbs[i].name;
    return text_nearest(name, names, verb_count);
}
