/* Compares what a phase asks for with what partitions have. */
#include "daemon/outlook/fit.h"

#include "daemon/core/model.h"
#include "daemon/slurm/survey.h"
#include "daemon/store/nodes.h"
#include "lib/spec/slurm_options.h"
#include "lib/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

/* What the phase asks for, read once. */
struct fit_wish {
    const struct phase *phase;
    const char *excluded; /* nodes that phased leaves out */
    json_t *options;      /* the spec's `slurm:`, and the memory */
    json_t *exclude;      /* by name: nodes that the spec leaves out */
    const char *partitions;
    bool has_qos; /* a QOS may allow more than the partition does */
    int64_t memory_mb;
};

/* The nodes of a list as Slurm writes it, "n[1-3],n7", by name. NULL: no list. */
static json_t *names_of(const char *list)
{
    json_t *names = json_object(), *expanded = nodes_expand(list ? list : ""), *name;
    size_t i;
    json_array_foreach(expanded, i, name)
    {
        (void)json_object_set_new(names, json_string_value(name), json_true());
    }
    json_decref(expanded);
    return names;
}

static void wish_init(struct fit_wish *wish, const struct phase *phase, const char *excluded)
{
    json_t *options = json_loads(phase->slurm_options ? phase->slurm_options : "{}", 0, NULL);
    const json_t *memory = json_object_get(options, "mem");
    *wish = (struct fit_wish){
        .phase = phase,
        .excluded = excluded,
        .options = options,
        .exclude = names_of(json_string_value(json_object_get(options, "exclude"))),
        .partitions = json_string_value(json_object_get(options, "partition")),
        .has_qos = json_object_get(options, "qos") != NULL,
        .memory_mb = json_integer_value(memory),
    };
    if (json_is_string(memory) && slurm_option_read(SLURM_OPTION_MEM, json_string_value(memory), 0,
                                                    &wish->memory_mb, NULL) < 0)
        wish->memory_mb = 0; /* the check of the spec has reported it */
}

static void wish_fini(struct fit_wish *wish)
{
    json_decref(wish->options);
    json_decref(wish->exclude);
}

/* --- Counting --------------------------------------------------------------------------------- */

/* How many GPUs of a suitable type the node has. */
static unsigned node_gpus(const struct fit_wish *wish, const struct survey_node *node)
{
    const struct phase *phase = wish->phase;
    const char *types = phase->alternatives;
    unsigned most = 0;
    if (!types)
        return survey_gpus(node->gres, phase->gpu_type);
    for (char *type; (type = text_take_item(&types)); free(type)) {
        unsigned gpus = survey_gpus(node->gres, type);
        most = gpus > most ? gpus : most;
    }
    return most;
}

static bool node_would_do(const struct fit_wish *wish, const struct survey_node *node)
{
    const struct phase *phase = wish->phase;
    return node->cpus >= phase->cpus_per_node &&
           (wish->memory_mb <= 0 || node->memory_mb >= (uint64_t)wish->memory_mb) &&
           (phase->gpus_per_node == 0 || node_gpus(wish, node) >= phase->gpus_per_node);
}

/* Counts of the nodes of one partition. */
struct fit_count {
    unsigned nodes, idle;
    unsigned away, excluded; /* suitable nodes: down or drained; excluded by phased */
};

static struct fit_count fit_count(const struct fit_wish *wish, const struct cluster_survey *survey,
                                  const struct survey_partition *partition)
{
    struct fit_count count = {0};
    for (size_t i = 0; i < partition->node_count; i++) {
        const struct survey_node *node = &survey->nodes[partition->nodes[i]];
        if (!node_would_do(wish, node) || json_object_get(wish->exclude, node->name))
            continue;
        bool is_excluded = text_has_item(wish->excluded, node->name);
        bool is_there = node->is_usable && !is_excluded;
        count.away += !node->is_usable;
        count.excluded += node->is_usable && is_excluded;
        count.nodes += is_there;
        count.idle += is_there && node->is_idle;
    }
    return count;
}

/* How many nodes the job can have, perhaps later. Slurm takes a job that must wait for nodes that
 * are down or drained. phased lifts its exclusions if the job could not run otherwise. */
static unsigned nodes_of_use(const struct fit_count *count)
{
    return count->nodes + count->away + count->excluded;
}

static bool time_fits(const struct fit_wish *wish, const struct survey_partition *partition)
{
    return wish->has_qos || wish->phase->has_checkpoint ||
           (wish->phase->time_s + 59) / 60 <= partition->max_time_minutes;
}

static bool partition_fits(const struct fit_wish *wish, const struct survey_partition *partition,
                           const struct fit_count *count)
{
    return partition->is_up && nodes_of_use(count) >= wish->phase->nodes &&
           time_fits(wish, partition) &&
           (wish->has_qos || wish->phase->nodes <= partition->max_nodes);
}

/* --- What is missing -------------------------------------------------------------------------- */

/* Adds "2 nodes with 8 h200". */
static void add_need(const struct fit_wish *wish, struct text *text)
{
    const struct phase *phase = wish->phase;
    const char *type = phase_gpu_types(phase);
    if (phase->nodes > 1)
        text_addf(text, "%u ", phase->nodes);
    text_add(text, "nodes");
    if (phase->gpus_per_node)
        text_addf(text, " with %u %s", phase->gpus_per_node,
                  type                        ? type
                  : phase->gpus_per_node == 1 ? "GPU"
                                              : "GPUs");
    if (phase->cpus_per_node)
        text_addf(text, "%s %u CPU%s", phase->gpus_per_node ? "," : " with", phase->cpus_per_node,
                  phase->cpus_per_node == 1 ? "" : "s");
    if (wish->memory_mb > 0)
        text_addf(text, "%s %" PRId64 " MB",
                  phase->gpus_per_node || phase->cpus_per_node ? "," : " with", wish->memory_mb);
}

/* Adds why this partition will not do. The phase wants this partition. */
static void add_reason(const struct fit_wish *wish, const struct survey_partition *partition,
                       const struct fit_count *count, struct text *text)
{
    text_addf(text, "partition %s ", partition->name);
    if (!partition->is_up) {
        text_add(text, "is down");
    } else if (!time_fits(wish, partition)) {
        text_addf(text,
                  "allows %u minutes, and `time` is %u: with a `checkpoint` the phase would go on "
                  "in one job after another",
                  partition->max_time_minutes, (wish->phase->time_s + 59) / 60);
    } else if (nodes_of_use(count) >= wish->phase->nodes) {
        text_addf(text, "allows %u node%s, not %u", partition->max_nodes,
                  partition->max_nodes == 1 ? "" : "s", wish->phase->nodes);
    } else {
        text_add(text, "does not have ");
        add_need(wish, text);
    }
}

/* --- Dangers ---------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void add_danger(json_t *dangers, const char *format,
                                                             ...)
{
    va_list args;
    va_start(args, format);
    (void)json_array_append_new(dangers, json_vsprintf(format, args));
    va_end(args);
}

static void judge_preemption(const struct fit_wish *wish, const struct survey_partition *partition,
                             json_t *dangers)
{
    const struct phase *phase = wish->phase;
    if (partition->preemption == SURVEY_PREEMPT_NEVER)
        return;
    if (!phase->has_checkpoint && partition->preemption != SURVEY_PREEMPT_SUSPEND)
        add_danger(dangers,
                   "partition %s: jobs are preempted, and the phase has no `checkpoint`: a "
                   "preemption loses all its work, and the next run begins anew",
                   partition->name);
    if (phase->has_checkpoint && partition->preemption != SURVEY_PREEMPT_SUSPEND &&
        partition->grace_s < phase->stop_s)
        add_danger(
            dangers,
            "partition %s: jobs that are preempted get %u s (GraceTime), and saving may take "
            "%u s (save_time): what was done since the last checkpoint can be lost",
            partition->name, partition->grace_s, phase->stop_s);
    if (partition->preemption == SURVEY_PREEMPT_CANCEL)
        add_danger(
            dangers,
            "partition %s: jobs that are preempted are cancelled (PreemptMode): if a job does not "
            "requeue itself in time, the run that follows begins anew in the queue",
            partition->name);
    if (partition->preemption == SURVEY_PREEMPT_SUSPEND)
        add_danger(dangers,
                   "partition %s: jobs that are preempted are suspended (PreemptMode): they stand "
                   "still, and keep the memory of their GPUs",
                   partition->name);
}

static void judge_partition(const struct fit_wish *wish, const struct survey_partition *partition,
                            const struct fit_count *count, json_t *dangers)
{
    const struct phase *phase = wish->phase;
    struct text text = {0};
    unsigned minutes = (phase->time_s + 59) / 60;
    judge_preemption(wish, partition, dangers);
    if (minutes > partition->max_time_minutes)
        add_danger(dangers, "partition %s allows %u minutes, and `time` is %u minutes%s",
                   partition->name, partition->max_time_minutes, minutes,
                   wish->has_qos ? ": the job runs only if the QOS allows more"
                                 : ": the phase runs as several jobs, one after another");
    if (count->nodes < phase->nodes)
        text_addf(&text,
                  "partition %s: the phase has to wait: it needs %u node%s; suitable nodes that "
                  "jobs can use: %u",
                  partition->name, phase->nodes, phase->nodes == 1 ? "" : "s", count->nodes);
    else if (count->excluded)
        text_addf(&text, "partition %s: suitable nodes that jobs can use: %u", partition->name,
                  count->nodes);
    if (text.size && count->away)
        text_addf(&text, "; down or drained: %u", count->away);
    if (text.size && count->excluded)
        text_addf(&text, "; left out: %u (phasectl nodes)", count->excluded);
    if (text.size)
        add_danger(dangers, "%s", text_string(&text));
    text_fini(&text);
}

/* --- The whole -------------------------------------------------------------------------------- */

static bool is_wanted(const struct fit_wish *wish, const struct survey_partition *partition)
{
    return wish->partitions ? text_has_item(wish->partitions, partition->name)
                            : partition->is_default;
}

/* Says why the phase does not fit where it goes, and which partition would do instead. Frees
 * `reasons`. `has_nodes`: some partition has enough nodes. */
static json_t *missing_json(const struct fit_wish *wish, struct text *reasons, size_t wanted,
                            bool has_nodes, const json_t *partitions)
{
    struct text text = {0};
    const json_t *item;
    size_t i;
    if (!has_nodes) {
        text_add(&text, "no partition has ");
        add_need(wish, &text);
    } else if (wanted == 0 && wish->partitions) {
        text_addf(&text, "there is no partition %s", wish->partitions);
    } else if (wanted == 0) {
        text_add(&text, "there is no default partition: name one in `slurm: {partition: ...}`");
    } else {
        text_add(&text, text_string(reasons));
    }
    json_array_foreach(partitions, i, item)
        text_addf(&text, "%s%s", i ? ", " : "; it fits partition ",
                  json_string_value(json_object_get(item, "partition")));
    json_t *json = json_string(text_string(&text));
    text_fini(&text);
    text_fini(reasons);
    return json;
}

json_t *fit_judge(const struct cluster_survey *survey, const struct phase *phase,
                  const char *excluded)
{
    struct fit_wish wish;
    struct text reasons = {0};
    json_t *partitions = json_array(), *dangers = json_array();
    size_t wanted = 0, good = 0;
    bool has_nodes = false;
    wish_init(&wish, phase, excluded);
    for (size_t i = 0; i < survey->partition_count; i++) {
        const struct survey_partition *partition = &survey->partitions[i];
        struct fit_count count = fit_count(&wish, survey, partition);
        bool fits = partition_fits(&wish, partition, &count), goes = is_wanted(&wish, partition);
        if (fits)
            (void)json_array_append_new(
                partitions, json_pack("{s:s, s:i, s:i, s:b}", "partition", partition->name, "nodes",
                                      (int)count.nodes, "idle", (int)count.idle, "wanted", goes));
        if (fits && goes)
            judge_partition(&wish, partition, &count, dangers);
        if (goes && !fits && reasons.size)
            text_add(&reasons, "; ");
        if (goes && !fits)
            add_reason(&wish, partition, &count, &reasons);
        has_nodes = has_nodes || nodes_of_use(&count) >= phase->nodes;
        wanted += goes;
        good += goes && fits;
    }
    if (survey->qos_preempts)
        (void)json_array_append_new(
            dangers,
            json_string("jobs are preempted by QOS (PreemptType): the partitions do not tell "
                        "whether the jobs of this phase are preempted"));
    json_t *missing =
        good ? json_null() : missing_json(&wish, &reasons, wanted, has_nodes, partitions);
    text_fini(&reasons);
    wish_fini(&wish);
    return json_pack("{s:o, s:o, s:o}", "partitions", partitions, "missing", missing, "dangers",
                     dangers);
}

bool fit_waits(const struct cluster_survey *survey, const struct phase *phase, const char *gpu_type)
{
    struct phase typed = *phase;
    struct fit_wish wish;
    bool waits = false;
    typed.gpu_type = (char *)gpu_type; /* it is only read */
    typed.alternatives = NULL;
    wish_init(&wish, &typed, NULL);
    for (size_t i = 0; i < survey->partition_count && !waits; i++) {
        struct fit_count count = fit_count(&wish, survey, &survey->partitions[i]);
        waits = is_wanted(&wish, &survey->partitions[i]) && count.nodes < phase->nodes &&
                partition_fits(&wish, &survey->partitions[i], &count);
    }
    wish_fini(&wish);
    return waits;
}

/* --- Estimates -------------------------------------------------------------------------------- */

void estimate_judge_budget(const struct estimate *estimate, const json_t *budget, json_t *dangers)
{
    for (enum amount i = 0; i < AMOUNT_COUNT; i++) {
        double limit = json_number_value(json_object_get(budget, amount_key(i)));
        char may[AMOUNT_SIZE], budgeted[AMOUNT_SIZE];
        if (!(limit > 0 && estimate->amounts[i] > limit)) /* NaN is above no limit */
            continue;
        add_danger(dangers, "it may %s %s, and its budget is %s",
                   i == AMOUNT_HOURS ? "take" : "cost",
                   amount_format_counted(i, estimate->amounts[i], limit, may),
                   amount_format(i, limit, budgeted));
    }
}

void estimate_judge_expected(const struct estimate *estimate, const json_t *expect, json_t *dangers)
{
    for (enum amount i = 0; i < AMOUNT_COUNT; i++) {
        const json_t *range = json_object_get(expect, amount_key(i));
        double from = json_number_value(json_array_get(range, 0));
        double to = json_number_value(json_array_get(range, 1)), amount = estimate->amounts[i];
        char took[AMOUNT_SIZE], expected[AMOUNT_SHARE_SIZE];
        bool is_more = estimate->is_measured && amount > to;
        bool is_less = !estimate->is_measured && i == AMOUNT_HOURS && amount < from;
        if (!range || (!is_more && !is_less))
            continue;
        (void)amount_format_counted(i, amount, is_more ? to : from, took);
        (void)amount_format_range(i, from, to, expected);
        if (is_more)
            add_danger(dangers, "similar runs took %s, more than the %s that are expected", took,
                       expected);
        else
            add_danger(dangers, "its `time` allows %s, less than the %s that are expected", took,
                       expected);
    }
}
