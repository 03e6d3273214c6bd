/* The questions to Slurm. The programs of Slurm are asked, because phasectl does not link libslurm:
 * a libslurm that does not fit the site ends its process. */
#include "cli/doctor/slurm.h"

#include "cli/doctor/finding.h"
#include "cli/doctor/settings.h"
#include "lib/clock.h"
#include "lib/command.h"
#include "lib/error.h"
#include "lib/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SLURM_ASK_S = 15, /* longer than Slurm itself waits by default */
    SLURM_SLOW_MS = 1000,
    SLURM_TRIES_MS = 15000, /* for trial submissions to all partitions together */
};

/* Runs a program of Slurm. False: there was no answer, and a finding says so. */
static bool slurm_ask(const char *const *words, struct command_result *ret_result, json_t *findings)
{
    struct error err;
    int status = command_run(words, NULL, SLURM_ASK_S, ret_result, &err);
    if (status == -ENOENT) {
        finding_add(findings, FINDING_ERROR, "slurm",
                    "put Slurm's programs into PATH (`module load slurm`)", "%s", err.message);
    } else if (status < 0) {
        finding_add(findings, FINDING_ERROR, "controller",
                    "check that slurmctld runs and that its port is open from here. Running jobs "
                    "go on, and phased repeats its requests",
                    "Slurm does not answer: %s", err.message);
    } else if (ret_result->exit_code != 0) {
        char *complaint = command_complaint(ret_result);
        finding_add(
            findings, FINDING_ERROR, "controller",
            strstr(complaint, "uthentication") || strstr(complaint, "unge")
                ? "ask the site whether munged runs on this machine, and whether clocks "
                  "and keys agree"
                : "check SLURM_CONF, that slurmctld runs, and that its port is open from here",
            "%s failed: %s", words[0], complaint);
        free(complaint);
        command_fini(ret_result);
    } else {
        return true;
    }
    return false;
}

/* A backup controller that is down is seen when the first one fails. */
static void slurm_judge_pings(const char *config, json_t *findings)
{
    for (const char *at = strstr(config, "Slurmctld("); at; at = strstr(at + 1, "Slurmctld("))
        if (memmem(at, strcspn(at, "\n"), " DOWN", 5))
            finding_add(findings, FINDING_WARNING, "controller", "tell the site", "%.*s",
                        (int)strcspn(at, "\n"), at);
}

/* Asks Slurm whether it would take a job of one GPU. The job is not queued. Returns false if Slurm
 * did not answer. */
static bool slurm_try(const struct setting_partition *partition, bool *ret_is_taken,
                      json_t *findings)
{
    struct command_result result;
    const char *words[] = {"sbatch",   "--test-only",
                           "-N1",      "-t1",
                           "-D/",      "-o/dev/null",
                           "-p",       partition->name,
                           "--wrap=:", partition->has_gpus ? "--gres=gpu:1" : NULL,
                           NULL};
    struct error err;
    int status = command_run(words, NULL, SLURM_ASK_S, &result, &err);
    *ret_is_taken = status == 0 && result.exit_code == 0;
    if (status < 0) {
        finding_add(findings, FINDING_WARNING, partition->name, NULL,
                    "cannot tell whether you may submit: %s", err.message);
        return false;
    }
    char *complaint = command_complaint(&result);
    if (!*ret_is_taken)
        finding_add(findings, FINDING_WARNING, partition->name,
                    "name account and QOS under `slurm` in the workflow, or use another partition",
                    "Slurm refuses a job of %s: %s", partition->has_gpus ? "one GPU" : "one CPU",
                    complaint);
    free(complaint);
    command_fini(&result);
    return true;
}

/* Takes sbatch's variables out of the environment: workflow files do not use them, so trial
 * submissions must not use them either. */
static void slurm_drop_variables(json_t *findings)
{
    struct text names = {0};
    for (char **variable = environ; *variable;) {
        if (!text_starts(*variable, "SBATCH_")) {
            variable++;
            continue;
        }
        char *name = text_format("%.*s", (int)strcspn(*variable, "="), *variable);
        text_addf(&names, "%s%s", names.size ? ", " : "", name);
        (void)unsetenv(name); /* the next variable moves to this place */
        free(name);
    }
    if (names.size)
        finding_add(findings, FINDING_NOTE, "environment",
                    "write account, partition and QOS under `slurm` in the workflow",
                    "workflow files do not use %s; only sbatch scripts do", text_string(&names));
    text_fini(&names);
}

static void slurm_look_at_partitions(const char *config, const char *partitions, const char *nodes,
                                     json_t *findings)
{
    struct setting_partition *list;
    size_t count = setting_read_partitions(partitions, nodes, &list);
    struct setting_trials trials = {0};
    int64_t until = clock_steady_ms() + SLURM_TRIES_MS;
    bool has_gpus = false;
    slurm_drop_variables(findings);
    for (size_t i = 0; i < count; i++) {
        bool is_taken = false;
        has_gpus = has_gpus || list[i].has_gpus;
        setting_judge_partition(config, list, count, i, findings);
        if (!list[i].is_up)
            continue;
        if (trials.silent || clock_steady_ms() > until)
            trials.left_out++;
        else if (slurm_try(&list[i], &is_taken, findings))
            trials.tried++;
        else
            trials.silent++;
        trials.taken += is_taken;
    }
    if (!has_gpus)
        finding_add(findings, FINDING_WARNING, "gpus",
                    "phases that want GPUs fit nowhere: ask the site for Gres=gpu of its nodes",
                    "no partition has GPUs that Slurm knows");
    setting_judge_trials(&trials, findings);
    setting_free_partitions(list, count);
}

void slurm_look(const char *built, json_t *findings)
{
    static const char *const config_words[] = {"scontrol", "show", "config", NULL};
    static const char *const partition_words[] = {"scontrol", "show", "partition", NULL};
    static const char *const node_words[] = {"sinfo", "-h", "-o", "%R|%G|%F", NULL};
    struct command_result config, partitions, nodes;
    char version[64], cluster[64];
    int64_t began = clock_steady_ms();
    if (!slurm_ask(config_words, &config, findings))
        return;
    long long took = clock_steady_ms() - began;
    const char *text = text_string(&config.out);
    setting_value(text, "SLURM_VERSION", version, sizeof version);
    setting_value(text, "ClusterName", cluster, sizeof cluster);
    finding_add(
        findings, took > SLURM_SLOW_MS ? FINDING_WARNING : FINDING_OK, "controller",
        took > SLURM_SLOW_MS ? "the controller is busy: submissions and decisions will be late"
                             : NULL,
        "Slurm %s, cluster %s, let you in and answered after %lld ms", version, cluster, took);
    if (*built)
        setting_judge_version(built, version, findings);
    slurm_judge_pings(text, findings);
    setting_judge(text, findings);
    if (slurm_ask(partition_words, &partitions, findings)) {
        if (slurm_ask(node_words, &nodes, findings)) {
            slurm_look_at_partitions(text, text_string(&partitions.out), text_string(&nodes.out),
                                     findings);
            command_fini(&nodes);
        }
        command_fini(&partitions);
    }
    command_fini(&config);
}
