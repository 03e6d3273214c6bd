/* A row for each setting of Slurm that matters, with a function that judges its value. */
#include "cli/doctor/settings.h"

#include "cli/doctor/finding.h"
#include "cli/doctor/nodelist.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SETTING_SIZE = 512,
    SETTING_AGE_MIN_S = 60, /* phased may look only every 30 s */
    SETTING_KILL_WAIT_MIN_S = 10,
    SETTING_BATCH_START_MIN_S = 10, /* Slurm's default */
    SETTING_REQUEUES_MIN = 3,
    SETTING_EXPIRE_S = 120, /* Slurm's default */
};

void setting_value(const char *config, const char *key, char *ret_value, size_t size)
{
    size_t length = strlen(key);
    const char *line = config;
    ret_value[0] = '\0';
    for (; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *at = line + length;
        if (strncmp(line, key, length) != 0)
            continue;
        at += strspn(at, " ");
        if (*at != '=')
            continue;
        at += 1 + strspn(at + 1, " ");
        (void)snprintf(ret_value, size, "%.*s", (int)strcspn(at, "\n"), at); /* a long one is cut */
        break;
    }
    if (text_equal(ret_value, "(null)"))
        ret_value[0] = '\0';
    char *unit = strstr(ret_value, " sec");
    if (unit)
        *unit = '\0';
}

/* --- The cluster ------------------------------------------------------------------------------ */

static void judge_job_age(const char *value, json_t *findings)
{
    long age_s = strtol(value, NULL, 10);
    bool is_short = age_s > 0 && age_s < SETTING_AGE_MIN_S; /* 0: jobs are never forgotten */
    finding_add(findings, is_short ? FINDING_WARNING : FINDING_OK, "MinJobAge",
                is_short
                    ? "ask the site for MinJobAge=300, Slurm's default: phased looks every 30 s, "
                      "and if a worker was killed, only Slurm knows how its run ended"
                    : NULL,
                "Slurm %s%s%s", age_s ? "forgets a job " : "never forgets a job",
                age_s ? value : "", age_s ? " s after its end" : "");
}

static void judge_kill_wait(const char *value, json_t *findings)
{
    bool is_short = strtol(value, NULL, 10) < SETTING_KILL_WAIT_MIN_S;
    finding_add(findings, is_short ? FINDING_NOTE : FINDING_OK, "KillWait",
                is_short ? "set `save_time` of each phase to the time that a checkpoint takes: "
                           "phased then asks for a checkpoint before the limit"
                         : NULL,
                "at its time limit a job has %s s between TERM and KILL", value);
}

static void judge_batch_start(const char *value, json_t *findings)
{
    if (strtol(value, NULL, 10) < SETTING_BATCH_START_MIN_S)
        finding_add(findings, FINDING_NOTE, "BatchStartTimeout",
                    "if jobs start twice, ask the site to raise BatchStartTimeout",
                    "a job whose Prolog takes more than %s s is started again", value);
}

static void judge_requeues(const char *value, json_t *findings)
{
    bool is_few = strtol(value, NULL, 10) < SETTING_REQUEUES_MIN;
    finding_add(findings, is_few ? FINDING_NOTE : FINDING_OK, "MaxBatchRequeue",
                is_few ? "phased replaces a job that Slurm holds by a new one, which begins anew "
                         "in the queue"
                       : NULL,
                "Slurm holds a job after it was requeued %s times", value);
}

static void judge_requeue(const char *value, json_t *findings)
{
    if (text_equal(value, "0"))
        finding_add(findings, FINDING_NOTE, "JobRequeue", NULL,
                    "jobs are not requeued unless they ask for it, as the jobs of phased do");
}

static void judge_auth(const char *value, json_t *findings)
{
    const char *expire = strstr(value, "cred_expire=");
    long seconds = expire ? strtol(expire + strlen("cred_expire="), NULL, 10) : SETTING_EXPIRE_S;
    if (seconds < SETTING_EXPIRE_S)
        finding_add(findings, FINDING_WARNING, "AuthInfo",
                    "ask the site for 120, Slurm's default: a launch on many nodes, or after a "
                    "long Prolog, fails when its credential is too old",
                    "credentials expire after %ld s (cred_expire)", seconds);
    else if (seconds > SETTING_EXPIRE_S)
        finding_add(findings, FINDING_NOTE, "AuthInfo",
                    "keep the daemon running: it shortens this wait to 2 s",
                    "a job that Slurm requeues waits %ld s (cred_expire)", seconds + 1);
}

static void judge_plugins(const char *value, json_t *findings)
{
    finding_add(findings, FINDING_NOTE, "JobSubmitPlugins",
                "if a job is not what its phase says, compare it with `scontrol show job`",
                "the site may change or refuse submissions: %s", value);
}

static void judge_filters(const char *value, json_t *findings)
{
    finding_add(findings, FINDING_NOTE, "CliFilterPlugins",
                "if sbatch works and phased's jobs are refused, write the missing options into "
                "`slurm`",
                "sbatch changes submissions (%s), but phased does not use sbatch", value);
}

static void judge_parameters(const char *value, json_t *findings)
{
    if (strstr(value, "rl_enable"))
        finding_add(findings, FINDING_NOTE, "SlurmctldParameters",
                    "phased stays below one request per second; watch loops of squeue do not",
                    "requests of a user are limited (rl_enable)");
    if (strstr(value, "preempt_send_user_signal"))
        finding_add(findings, FINDING_OK, "SlurmctldParameters", NULL,
                    "jobs are told of a preemption (preempt_send_user_signal)");
}

static void judge_accounting(const char *value, json_t *findings)
{
    bool is_none = text_equal(value, "accounting_storage/none");
    finding_add(findings, FINDING_OK, "AccountingStorageType", NULL, "%s%s", value,
                is_none ? ": phased needs no accounting" : "");
}

static void judge_enforce(const char *value, json_t *findings)
{
    if (!text_equal(value, "none"))
        finding_add(findings, FINDING_NOTE, "AccountingStorageEnforce",
                    "if a partition refuses jobs, name the account: `slurm: {account: NAME}`; "
                    "phased does not read SBATCH_ACCOUNT",
                    "accounts and limits are enforced: %s", value);
}

static void judge_preempt_type(const char *value, json_t *findings)
{
    if (strstr(value, "qos"))
        finding_add(findings, FINDING_NOTE, "PreemptType",
                    "`sacctmgr show qos format=name,preempt,preemptmode,gracetime` shows which",
                    "jobs are preempted by their QOS");
}

void setting_judge(const char *config, json_t *findings)
{
    static const struct {
        const char *key;
        void (*judge)(const char *value, json_t *findings);
    } rows[] = {
        {"MinJobAge", judge_job_age},
        {"KillWait", judge_kill_wait},
        {"BatchStartTimeout", judge_batch_start},
        {"MaxBatchRequeue", judge_requeues},
        {"JobRequeue", judge_requeue},
        {"AuthInfo", judge_auth},
        {"PreemptType", judge_preempt_type},
        {"JobSubmitPlugins", judge_plugins},
        {"CliFilterPlugins", judge_filters},
        {"SlurmctldParameters", judge_parameters},
        {"AccountingStorageType", judge_accounting},
        {"AccountingStorageEnforce", judge_enforce},
    };
    char value[SETTING_SIZE];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setting_value(config, rows[i].key, value, sizeof value);
        if (value[0])
            rows[i].judge(value, findings);
    }
}

/* Returns a number that is larger for a newer release; the last part of "24.11.5" does not count.
 */
static long release_of(const char *version)
{
    char *end;
    long year = strtol(version, &end, 10);
    return *end == '.' ? 100 * year + strtol(end + 1, NULL, 10) : 0;
}

void setting_judge_version(const char *built, const char *controller, json_t *findings)
{
    long ours = release_of(built), theirs = release_of(controller);
    if (ours == 0 || theirs == 0)
        finding_add(findings, FINDING_NOTE, "release", NULL,
                    "cannot compare the Slurm of phased (%s) with the controller's (%s)", built,
                    controller);
    else if (ours > theirs)
        finding_add(findings, FINDING_ERROR, "release",
                    "build the module of the controller's release: `phasectl daemon build-slurm`",
                    "phased uses the module for Slurm %s, and the controller is older: %s", built,
                    controller);
    else
        finding_add(findings, ours < theirs ? FINDING_WARNING : FINDING_OK, "release",
                    ours < theirs
                        ? "build the module of the controller's release with `phasectl daemon "
                          "build-slurm`: a controller understands only the two or "
                          "three releases before its own"
                        : NULL,
                    "phased uses the module for Slurm %s, the controller is %s", built, controller);
}

/* --- Partitions ------------------------------------------------------------------------------- */

/* Finds the value of a word "KEY=VALUE" of a paragraph, which ends at an empty line. Returns "" if
 * the paragraph has no such word. */
static const char *word_find(const char *paragraph, const char *key, int *ret_size)
{
    const char *stop = strstr(paragraph, "\n\n");
    size_t length = strlen(key);
    for (const char *at = paragraph; *at && (!stop || at < stop);) {
        size_t word = strcspn(at, " \n");
        if (strncmp(at, key, length) == 0 && at[length] == '=') {
            *ret_size = (int)(word - length - 1);
            return at + length + 1;
        }
        at += word;
        at += strspn(at, " \n");
    }
    *ret_size = 0;
    return "";
}

static void word_value(const char *paragraph, const char *key, char *ret_value, size_t size)
{
    int length;
    const char *value = word_find(paragraph, key, &length);
    (void)snprintf(ret_value, size, "%.*s", length, value); /* a long one is cut */
}

/* Adds a line "NAME|GRES|ALLOCATED/IDLE/OTHER/TOTAL" to its partition. */
static void partition_add_nodes(struct setting_partition *partition, const char *line)
{
    size_t length = strlen(partition->name), gres_size;
    unsigned long numbers[4] = {0};
    if (strncmp(line, partition->name, length) != 0 || line[length] != '|')
        return;
    const char *gres = line + length + 1;
    gres_size = strcspn(gres, "|\n");
    const char *at = gres + gres_size;
    for (size_t i = 0; i < 4 && (*at == '|' || *at == '/'); i++) {
        char *end;
        numbers[i] = strtoul(at + 1, &end, 10);
        at = end;
    }
    partition->nodes += numbers[3];
    partition->away += numbers[2];
    if (strncmp(gres, "gpu", 3) != 0 && !memmem(gres, gres_size, ",gpu", 4))
        return;
    size_t used = strlen(partition->gpus);
    (void)snprintf(partition->gpus + used, sizeof partition->gpus - used, "%s%lu x %.*s",
                   used ? ", " : "", numbers[3], (int)gres_size, gres); /* many types are cut */
    partition->has_gpus = true;
}

size_t setting_read_partitions(const char *partitions, const char *nodes,
                               struct setting_partition **ret_list)
{
    size_t count = 0;
    const char *at = partitions;
    *ret_list = NULL;
    while ((at = strstr(at, "PartitionName="))) {
        struct setting_partition partition = {0};
        char word[32];
        int size;
        word_value(at, "PartitionName", partition.name, sizeof partition.name);
        word_value(at, "State", word, sizeof word);
        partition.is_up = text_equal(word, "UP");
        word_value(at, "PriorityTier", word, sizeof word);
        partition.tier = strtol(word, NULL, 10);
        word_value(at, "GraceTime", word, sizeof word);
        partition.grace_s = strtol(word, NULL, 10);
        word_value(at, "MaxTime", partition.max_time, sizeof partition.max_time);
        word_value(at, "PreemptMode", partition.preemption, sizeof partition.preemption);
        const char *nodelist = word_find(at, "Nodes", &size);
        partition.nodelist = text_format("%.*s", size, nodelist);
        for (const char *line = nodes; line && *line;
             line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
            partition_add_nodes(&partition, line);
        *ret_list = xreallocarray(*ret_list, count + 1, sizeof **ret_list);
        (*ret_list)[count++] = partition;
        at += strlen("PartitionName=");
    }
    return count;
}

void setting_free_partitions(struct setting_partition *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i].nodelist);
    free(list);
}

static void judge_preemption(const struct setting_partition *partition, const char *above,
                             json_t *findings)
{
    const char *name = partition->name, *mode = partition->preemption;
    const char *advice =
        "write checkpoints often (`checkpoint`): a preempted run keeps only its checkpoints";
    if (strstr(mode, "SUSPEND"))
        finding_add(findings, FINDING_WARNING, name,
                    "prefer another partition: a suspended job keeps the memory of its GPUs, and "
                    "its ranks may time out",
                    "jobs are suspended for partition %s (PreemptMode)", above);
    else if (partition->grace_s == 0)
        finding_add(findings, FINDING_WARNING, name, advice,
                    "jobs are preempted for partition %s without a warning (GraceTime is 0)",
                    above);
    else
        finding_add(findings, FINDING_NOTE, name,
                    "saving a checkpoint (`save_time`) must take less time than the warning gives: "
                    "otherwise the last steps are lost",
                    "jobs are preempted for partition %s, %ld s after a warning (GraceTime)", above,
                    partition->grace_s);
    if (strstr(mode, "CANCEL"))
        finding_add(findings, FINDING_NOTE, name,
                    "a job requeues itself; if that fails, phased submits a new job, which begins "
                    "anew in the queue",
                    "jobs that are preempted are cancelled (PreemptMode)");
}

/* Returns the name of a partition whose jobs may preempt the jobs of this partition, or NULL. */
static const char *partition_above(const char *config, const struct setting_partition *list,
                                   size_t count, size_t index)
{
    char type[SETTING_SIZE];
    setting_value(config, "PreemptType", type, sizeof type);
    if (!strstr(type, "partition_prio") || text_equal(list[index].preemption, "OFF"))
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (list[i].is_up && list[i].tier > list[index].tier &&
            nodelist_may_share(list[i].nodelist, list[index].nodelist))
            return list[i].name;
    return NULL;
}

void setting_judge_partition(const char *config, const struct setting_partition *list, size_t count,
                             size_t index, json_t *findings)
{
    const struct setting_partition *partition = &list[index];
    const char *above = partition_above(config, list, count, index);
    if (!partition->is_up)
        finding_add(findings, FINDING_NOTE, partition->name, NULL, "the partition is not up");
    else if (partition->nodes > 0 && partition->away == partition->nodes)
        finding_add(findings, FINDING_WARNING, partition->name, "`sinfo -R` says why",
                    "no node can be used: %zu of %zu are down, drained or reserved",
                    partition->away, partition->nodes);
    else
        finding_add(findings, FINDING_OK, partition->name, NULL,
                    "%zu node%s (%zu away), %s%s, jobs of %s%s", partition->nodes,
                    partition->nodes == 1 ? "" : "s", partition->away,
                    partition->has_gpus ? "" : "no GPUs", partition->gpus,
                    text_equal(partition->max_time, "UNLIMITED") ? "any length" : "at most ",
                    text_equal(partition->max_time, "UNLIMITED") ? "" : partition->max_time);
    if (partition->is_up && above)
        judge_preemption(partition, above, findings);
}

void setting_judge_trials(const struct setting_trials *trials, json_t *findings)
{
    bool are_all = trials->silent == 0 && trials->left_out == 0;
    if (trials->taken > 0)
        finding_add(findings, FINDING_OK, "submit", NULL,
                    "%zu of %zu partitions would take a job (nothing was queued)", trials->taken,
                    trials->tried);
    else if (trials->tried > 0 && are_all)
        finding_add(findings, FINDING_ERROR, "submit", "ask the site for access, or an account",
                    "no partition takes your jobs");
    if (trials->left_out > 0)
        finding_add(findings, FINDING_NOTE, "partitions",
                    "`sbatch --test-only -p NAME --wrap=:` tries one",
                    "%zu partition%s not tried: the trials before took too long", trials->left_out,
                    trials->left_out == 1 ? " was" : "s were");
}
