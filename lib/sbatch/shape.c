/* Reads the options that say how large a job is. */
#include "lib/sbatch/shape.h"

#include "lib/error.h"
#include "lib/sbatch/script.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Common nodes have at most SHAPE_GPUS_KNOWN GPUs. More GPUs need an option about nodes. */
enum { SHAPE_NUMBER_MAX = 1000000, SHAPE_GPUS_KNOWN = 8 };

/* The GPUs that one option asks for. */
struct gpus {
    uint32_t count; /* 0: not given */
    char type[UNITS_GPU_TYPE_SIZE];
};

/* Returns the value of an option, a whole number from 1; 0: the option is absent or wrong. */
static uint32_t number_of(const struct sbatch_script *script, const char *name)
{
    const char *value = sbatch_given(script, name)->value;
    if (!value)
        return 0;
    char *end;
    unsigned long number = strtoul(value, &end, 10);
    if (*value >= '0' && *value <= '9' && !*end && number >= 1 && number <= SHAPE_NUMBER_MAX)
        return (uint32_t)number;
    sbatch_refuse(script, name, "'%s' is not a whole number of 1 or more", value);
    return 0;
}

/* Reads "2" or "2-4". phased takes the least number of a range. */
static uint32_t nodes_of(const struct sbatch_script *script)
{
    const char *value = sbatch_given(script, "nodes")->value;
    const char *dash = value ? strchr(value, '-') : NULL;
    if (!dash)
        return number_of(script, "nodes");
    char *end, *end_of_least;
    unsigned long least = strtoul(value, &end_of_least, 10);
    unsigned long most = strtoul(dash + 1, &end, 10);
    if (end_of_least != dash || least < 1 || least > most || most > SHAPE_NUMBER_MAX || *end) {
        sbatch_refuse(script, "nodes", "'%s' is not a number of nodes, such as 2", value);
        return 0;
    }
    if (least != most)
        sbatch_warn(script, "nodes", "%lu of %s: all runs of a phase have the same number", least,
                    value);
    return (uint32_t)least;
}

static uint32_t divided(uint32_t number, uint32_t by)
{
    return (number + by - 1) / by;
}

/* --- GPUs ------------------------------------------------------------------------------------- */

static void gpus_read(const struct sbatch_script *script, const char *name, const char *text,
                      struct gpus *gpus)
{
    struct error err;
    if (strchr(text, ','))
        sbatch_refuse(script, name, "GPUs of several models in one job");
    else if (units_parse_gpus(text, gpus->type, &gpus->count, &err) < 0)
        sbatch_refuse(script, name, "%s", err.message);
}

/* Reads the part of --gres after "gpu": nothing, ":8", ":h100" or ":h100:8". */
static void gres_read_gpus(const struct sbatch_script *script, const char *text, struct gpus *gpus)
{
    const char *last = strrchr(text, ':');
    bool has_count = last && last[1] >= '0' && last[1] <= '9';
    char *whole = text_format("%s%s", *text ? text + 1 : "", has_count ? "" : *text ? ":1" : "1");
    gpus_read(script, "gres", whole, gpus);
    free(whole);
}

static struct gpus gpus_of(const struct sbatch_script *script, const char *name)
{
    struct gpus gpus = {0};
    const char *value = sbatch_given(script, name)->value;
    if (value)
        gpus_read(script, name, value, &gpus);
    return gpus;
}

/* Reads "gpu:h100:8,nvme:1": GPUs go to `ret_gpus`, other items to `rest`. */
static void gres_read(const struct sbatch_script *script, struct text *rest, struct gpus *ret_gpus)
{
    const char *value = sbatch_given(script, "gres")->value;
    for (char *item; (item = text_take_item(&value)); free(item)) {
        bool is_gpu = text_equal(item, "gpu") || text_starts(item, "gpu:");
        if (!is_gpu && !text_equal(item, "none"))
            text_addf(rest, "%s%s", rest->size ? "," : "", item);
        else if (is_gpu && ret_gpus->count)
            sbatch_refuse(script, "gres", "GPUs of several models in one job");
        else if (is_gpu)
            gres_read_gpus(script, item + strlen("gpu"), ret_gpus);
    }
}

/* Returns the GPUs on each node by --gres or --gpus-per-node; 0: neither gives them. */
static uint32_t gpus_on_node(const struct sbatch_script *script)
{
    struct text rest = {0};
    struct gpus gpus = {0};
    gres_read(script, &rest, &gpus);
    text_fini(&rest);
    return gpus.count ? gpus.count : gpus_of(script, "gpus-per-node").count;
}

static void take_gpus(struct sbatch_shape *shape, const struct sbatch_script *script,
                      const char *name, uint32_t count, const char *type)
{
    if (!count)
        return;
    if (shape->gpus && shape->gpus != count)
        sbatch_refuse(script, name, "%u GPU%s on each node, but another option says %u", count,
                      count == 1 ? "" : "s", shape->gpus);
    shape->gpus = count;
    if (*type)
        (void)snprintf(shape->gpu_type, sizeof shape->gpu_type, "%s", type);
}

/* sbatch would look for nodes with this total. A phase needs the number of nodes. */
static void check_total(const struct sbatch_script *script, const char *name, uint32_t total)
{
    if (!sbatch_given(script, "nodes")->value && total > SHAPE_GPUS_KNOWN &&
        !sbatch_given(script, "ntasks-per-node")->value &&
        !sbatch_given(script, "gpus-per-node")->value && !gpus_on_node(script))
        sbatch_refuse(script, name, "%u GPUs on how many nodes? Use --nodes, such as --nodes=%u",
                      total, divided(total, SHAPE_GPUS_KNOWN));
}

/* Reads the GPUs. The nodes and tasks must be known. */
static void read_gpus(struct sbatch_shape *shape, const struct sbatch_script *script)
{
    struct gpus gpus = {0};
    gres_read(script, &shape->gres, &gpus);
    take_gpus(shape, script, "gres", gpus.count, gpus.type);
    gpus = gpus_of(script, "gpus-per-node");
    take_gpus(shape, script, "gpus-per-node", gpus.count, gpus.type);
    gpus = gpus_of(script, "gpus");
    check_total(script, "gpus", gpus.count);
    if (gpus.count % shape->nodes)
        sbatch_refuse(script, "gpus",
                      "%u GPU%s cannot be the same number on each of %u nodes: use --gpus-per-node",
                      gpus.count, gpus.count == 1 ? "" : "s", shape->nodes);
    take_gpus(shape, script, "gpus", divided(gpus.count, shape->nodes), gpus.type);
    gpus = gpus_of(script, "gpus-per-task");
    if (gpus.count && !shape->tasks_per_node)
        sbatch_refuse(script, "gpus-per-task", "give the number of tasks: --ntasks-per-node");
    check_total(script, "gpus-per-task", gpus.count * shape->tasks_per_node);
    take_gpus(shape, script, "gpus-per-task", gpus.count * shape->tasks_per_node, gpus.type);
    shape->cpus_per_gpu = shape->gpus ? number_of(script, "cpus-per-gpu") : 0;
}

/* --- Nodes, tasks and CPUs -------------------------------------------------------------------- */

/* Returns how many nodes follow from the totals and the numbers per node; 0: the options do not say
 * it. */
static uint32_t nodes_by_parts(const struct sbatch_script *script, uint32_t tasks)
{
    uint32_t tasks_per_node = number_of(script, "ntasks-per-node");
    uint32_t gpus_per_node = gpus_on_node(script);
    uint32_t tasks_per_gpu = number_of(script, "ntasks-per-gpu");
    uint32_t gpus = gpus_of(script, "gpus").count;
    if (!gpus)
        gpus = gpus_of(script, "gpus-per-task").count * tasks;
    if (!gpus && tasks_per_gpu)
        gpus = divided(tasks, tasks_per_gpu);
    if (tasks && tasks_per_node)
        return divided(tasks, tasks_per_node);
    if (gpus && gpus_per_node)
        return divided(gpus, gpus_per_node);
    /* Slurm takes enough nodes for the total of GPUs. */
    return gpus > SHAPE_GPUS_KNOWN && tasks_per_node ? divided(gpus, SHAPE_GPUS_KNOWN) : 0;
}

static void read_tasks(struct sbatch_shape *shape, const struct sbatch_script *script)
{
    uint32_t nodes = nodes_of(script), tasks = number_of(script, "ntasks");
    uint32_t per_node = number_of(script, "ntasks-per-node");
    if (!nodes)
        nodes = nodes_by_parts(script, tasks);
    shape->nodes = nodes ? nodes : 1;
    /* For --nodes with --threads-per-core, sbatch takes these threads of a node as its tasks. */
    const char *value = sbatch_given(script, "nodes")->value;
    if (!tasks && !per_node && value && !strchr(value, '-'))
        tasks = shape->nodes * number_of(script, "threads-per-core");
    if (!nodes && tasks > 1)
        sbatch_warn(script, "ntasks", "all %u tasks run on one node: use --nodes for more nodes",
                    tasks);
    shape->tasks = tasks ? tasks : per_node * shape->nodes;
    shape->tasks_per_node = per_node ? per_node : divided(tasks, shape->nodes);
    shape->cpus_per_task = number_of(script, "cpus-per-task");
}

/* Derives the number of tasks from the GPUs. */
static void read_tasks_per_gpu(struct sbatch_shape *shape, const struct sbatch_script *script)
{
    uint32_t per_gpu = number_of(script, "ntasks-per-gpu");
    if (!per_gpu)
        return;
    if (!shape->gpus)
        sbatch_refuse(script, "ntasks-per-gpu", "there are no GPUs");
    shape->tasks_per_node = per_gpu * shape->gpus;
    shape->tasks = shape->tasks_per_node * shape->nodes;
}

void sbatch_shape_read(const struct sbatch_script *script, struct sbatch_shape *ret_shape)
{
    struct sbatch_shape *shape = ret_shape;
    *shape = (struct sbatch_shape){0};
    read_tasks(shape, script);
    read_gpus(shape, script);
    read_tasks_per_gpu(shape, script);
    uint32_t least = number_of(script, "mincpus");
    if (shape->cpus_per_gpu)
        return; /* the GPUs say how many CPUs */
    if (shape->tasks_per_node || shape->cpus_per_task) {
        uint32_t each = shape->cpus_per_task ? shape->cpus_per_task : 1;
        shape->cpus = each * (shape->tasks_per_node ? shape->tasks_per_node : 1);
    }
    if (least > shape->cpus)
        shape->cpus = least;
}

void sbatch_shape_fini(struct sbatch_shape *shape)
{
    text_fini(&shape->gres);
}
