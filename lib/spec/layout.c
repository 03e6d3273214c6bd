/* Reading layouts, and the arithmetic of GPUs. */
#include "lib/spec/layout.h"

#include "lib/spec/gpus.h"
#include "lib/spec/keys.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"
#include "lib/spec/sections.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    LAYOUT_GROUPS_MAX = 10000, /* processes of `launch: group` */
    LAYOUT_OUTPUTS_MAX = 1000,
    LAYOUT_DIGITS_MAX = 9,
};

struct layout {
    int64_t tensor, pipeline;
    int64_t data; /* 0: not given, so it follows from the GPUs */
};

struct layout_nodes {
    int64_t nodes, gpus; /* GPUs of each node */
};

static int64_t layout_group(const struct layout *layout)
{
    return layout->tensor * layout->pipeline;
}

/* Reports to the problems of `scope`. */
static bool layout_parse(struct scope *scope, const struct yaml_node *map,
                         struct layout *ret_layout)
{
    struct layout layout = {.tensor = 1, .pipeline = 1};
    const struct {
        const char *key;
        int64_t *size;
    } rows[] = {{"tensor", &layout.tensor}, {"pipeline", &layout.pipeline}, {"data", &layout.data}};
    bool is_good = true;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool is_read = scalar_key_whole(scope, map, KEYS_PARALLEL, rows[i].key, rows[i].size);
        is_good = is_good && (is_read || !yaml_get(map, rows[i].key));
    }
    if (is_good)
        *ret_layout = layout;
    return is_good;
}

/* Whether the layout needs exactly these GPUs. Sets `data` if it was not given. */
static bool layout_fits(struct layout *layout, const struct layout_nodes *nodes)
{
    int64_t total = nodes->nodes * nodes->gpus, group = layout_group(layout);
    if (layout->data == 0 && total % group == 0)
        layout->data = total / group;
    return layout->data && group * layout->data == total;
}

/* Changes `nodes`, which fit `written`, so that they fit `layout`: a change of params has turned
 * `written` into `layout`. A group that was on one node stays on one node, so a node gets at least
 * as many GPUs as a group has. */
static bool layout_follow(const struct layout *written, struct layout *layout,
                          struct layout_nodes *nodes)
{
    int64_t group = layout_group(layout), gpus = nodes->gpus;
    int64_t data = layout->data ? layout->data : written->data, total = group * data;
    if (group > gpus && layout_group(written) <= gpus)
        gpus = group;
    if (total < gpus)
        gpus = total;
    if (total % gpus)
        return false;
    layout->data = data;
    *nodes = (struct layout_nodes){.nodes = total / gpus, .gpus = gpus};
    return true;
}

/* --- parallel --------------------------------------------------------------------------------- */

static void layout_report(const struct sections *sections, const struct yaml_node *map,
                          const struct layout *layout, const struct layout_nodes *nodes)
{
    char *have = text_format("%" PRId64 " node%s x %" PRId64 " gpus = %" PRId64, nodes->nodes,
                             nodes->nodes == 1 ? "" : "s", nodes->gpus, nodes->nodes * nodes->gpus);
    int64_t group = layout_group(layout);
    if (layout->data)
        yaml_problem(sections->scope->problems, map,
                     "tensor %" PRId64 " x pipeline %" PRId64 " x data %" PRId64 " = %" PRId64
                     " GPU%s, but %s",
                     layout->tensor, layout->pipeline, layout->data, group * layout->data,
                     group * layout->data == 1 ? "" : "s", have);
    else
        yaml_problem(sections->scope->problems, map,
                     "tensor %" PRId64 " x pipeline %" PRId64 " = %" PRId64
                     " GPUs a group, but %s, which is not a multiple of %" PRId64,
                     layout->tensor, layout->pipeline, group, have, group);
    free(have);
}

/* The layout without --set and remedies. Returns false when they do not change a param of the
 * phase, or when that layout does not fit the nodes. */
static bool layout_as_written(const struct sections *sections, const struct yaml_node *map,
                              const struct layout_nodes *nodes, struct layout *ret_written)
{
    struct layout written;
    if (!sections->written || !layout_parse(sections->written, map, &written) ||
        !layout_fits(&written, nodes))
        return false;
    *ret_written = written;
    return true;
}

/* Finds the layout of `map` and the nodes for it. */
static bool layout_settle(const struct sections *sections, const struct yaml_node *map,
                          struct layout *ret_layout, struct layout_nodes *nodes)
{
    struct layout layout, written;
    if (!layout_parse(sections->scope, map, &layout))
        return false;
    if (nodes->gpus == 0) {
        if (!sections->lacks_base)
            yaml_key_problem(sections->scope->problems, map, "there are no gpus to lay out");
        return false;
    }
    if (!layout_fits(&layout, nodes) && !(layout_as_written(sections, map, nodes, &written) &&
                                          layout_follow(&written, &layout, nodes))) {
        layout_report(sections, map, &layout, nodes);
        return false;
    }
    *ret_layout = layout;
    return true;
}

/* --- launch ----------------------------------------------------------------------------------- */

static struct layout_nodes layout_nodes_of(const json_t *phase)
{
    const json_t *resources = json_object_get(phase, "resources");
    return (struct layout_nodes){
        .nodes = json_integer_value(json_object_get(resources, "nodes")),
        .gpus = json_integer_value(json_object_get(resources, "gpus")),
    };
}

static bool layout_launches(const json_t *phase, const char *launch)
{
    return text_equal(json_string_value(json_object_get(phase, "launch")), launch);
}

void layout_read_launch(const struct sections *sections, const struct key *key, json_t *phase)
{
    const struct yaml_node *node = yaml_get(sections->phase, key->name);
    const char *word = scalar_key_choice(sections->scope, sections->phase, KEYS_PHASE, key->name);
    (void)json_object_set_new(phase, key->name, json_string(word ? word : key->type.words[0]));
    if (layout_launches(phase, "rank") && layout_nodes_of(phase).gpus == 0 && !sections->lacks_base)
        yaml_problem(sections->scope->problems, node,
                     "rank starts one process per GPU, and resources has no gpus");
}

/* A group is one process, and a process sees only the GPUs of its node. */
static void layout_check_group(const struct sections *sections, const struct yaml_node *launch,
                               const struct yaml_node *map, const struct layout *layout,
                               const struct layout_nodes *nodes)
{
    int64_t group = layout_group(layout);
    if (nodes->gpus % group)
        yaml_problem(sections->scope->problems, map,
                     "tensor %" PRId64 " x pipeline %" PRId64 " = %" PRId64
                     " GPUs a group, but a node has %" PRId64
                     ", which is not a multiple of %" PRId64
                     ": with launch: group a group stays on one node",
                     layout->tensor, layout->pipeline, group, nodes->gpus, group);
    else if (layout->data > LAYOUT_GROUPS_MAX)
        yaml_problem(sections->scope->problems, launch, "more than %d groups", LAYOUT_GROUPS_MAX);
}

static void layout_warn_of_crossing(const struct sections *sections, const struct yaml_node *map,
                                    const struct layout *layout, const struct layout_nodes *nodes)
{
    if (nodes->gpus % layout->tensor)
        yaml_key_warning(sections->scope->problems, map,
                         "tensor %" PRId64 " on nodes of %" PRId64
                         " gpus: some tensor groups cross nodes, where there is no NVLink",
                         layout->tensor, nodes->gpus);
}

static json_t *layout_resolve(const struct sections *sections, const struct yaml_node *map,
                              bool is_group, struct layout_nodes *nodes)
{
    const struct yaml_node *launch_node = yaml_get(sections->phase, "launch");
    struct layout layout;
    if (!map && is_group && !sections->lacks_base)
        yaml_problem(sections->scope->problems, launch_node,
                     "group starts one process per tensor x pipeline group, and there is no "
                     "parallel");
    if (!keys_read_map(sections->scope->problems, map, KEYS_PARALLEL,
                       "a map (such as {tensor: 4, data: 2})") ||
        !layout_settle(sections, map, &layout, nodes))
        return json_null();
    if (is_group)
        layout_check_group(sections, launch_node, map, &layout, nodes);
    else
        layout_warn_of_crossing(sections, map, &layout, nodes);
    return json_pack("{sIsIsI}", "tensor", (json_int_t)layout.tensor, "pipeline",
                     (json_int_t)layout.pipeline, "data", (json_int_t)layout.data);
}

/* --- torchrun --------------------------------------------------------------------------------- */

/* What one process of `run` has. */
struct layout_process {
    bool is_rank; /* one of several processes, each for one GPU */
    int64_t nodes, gpus;
};

/* The end of the command that begins at `at`. The command may continue on the next line. */
static const char *layout_command_end(const char *at)
{
    while (*at && !strchr(";&|", *at) && (*at != '\n' || at[-1] == '\\'))
        at++;
    return at;
}

static bool layout_is_comment(const char *script, const char *at)
{
    while (at > script && at[-1] != '\n')
        if (*--at == '#' && (at == script || isspace((unsigned char)at[-1])))
            return true;
    return false;
}

/* The next command torchrun at or after `at`; NULL: no such command follows. */
static const char *layout_find_torchrun(const char *script, const char *at)
{
    static const char word[] = "torchrun";
    for (; (at = strstr(at, word)); at++) {
        bool begins = at == script || strchr(" \t\n;&|(/", at[-1]);
        bool ends = isspace((unsigned char)at[sizeof word - 1]);
        if (begins && ends && !layout_is_comment(script, at))
            return at;
    }
    return NULL;
}

/* Returns the place after an option of a command. In the name of the option, - and _ are the
 * same. */
static const char *layout_torchrun_option(const char *at, const char *end, const char *name)
{
    size_t size = strlen(name);
    for (; at + size <= end; at++) {
        size_t i = 0;
        while (i < size && (at[i] == name[i] || (name[i] == '_' && at[i] == '-')))
            i++;
        if (i == size && isspace((unsigned char)at[-1]))
            return at + size;
    }
    return NULL;
}

/* The whole number after an option; -1 when something else stands there. */
static int64_t layout_option_number(const char *at)
{
    at += strspn(at, "= \t");
    size_t digits = text_digits_size(at);
    bool is_number = digits && digits <= LAYOUT_DIGITS_MAX && strchr(" \t\n\\", at[digits]);
    return is_number ? strtoll(at, NULL, 10) : -1;
}

/* Warns if the torchrun at `at` does not fit the process. Returns whether it has warned. */
static bool layout_judge_torchrun(struct spec_problems *problems, const struct yaml_node *run,
                                  const char *at, const struct layout_process *place)
{
    const char *end = layout_command_end(at);
    const char *count = layout_torchrun_option(at, end, "--nproc_per_node");
    int64_t processes = count ? layout_option_number(count) : -1;
    if (place->is_rank)
        yaml_key_warning(
            problems, run,
            "torchrun starts a process for each GPU, and launch: rank starts torchrun %" PRId64
            " times on a node: use launch: node",
            place->gpus);
    else if (place->nodes > 1 && layout_torchrun_option(at, end, "--standalone"))
        yaml_key_warning(problems, run,
                         "with --standalone each of the %" PRId64
                         " nodes trains for itself; without it torchrun spans all",
                         place->nodes);
    else if (processes >= 0 && processes != place->gpus)
        yaml_key_warning(problems, run,
                         "torchrun starts %" PRId64 " process%s, but there %s %" PRId64 " GPU%s",
                         processes, processes == 1 ? "" : "es", place->gpus == 1 ? "is" : "are",
                         place->gpus, place->gpus == 1 ? "" : "s");
    else
        return false;
    return true;
}

static void layout_check_torchrun(struct spec_problems *problems, const struct yaml_node *run,
                                  const struct layout_process *place)
{
    bool has_warned = false;
    if (place->gpus == 0)
        return;
    for (const char *at = layout_find_torchrun(run->text, run->text); at && !has_warned;
         at = layout_find_torchrun(run->text, at + 1))
        has_warned = layout_judge_torchrun(problems, run, at, place);
}

/* Compares the launchers in the script with what one process of the script has. */
static void layout_check_launchers(const struct sections *sections, const json_t *phase,
                                   const struct layout_nodes *nodes)
{
    const struct yaml_node *run = yaml_get(sections->phase, "run");
    const json_t *parallel = json_object_get(phase, "parallel");
    struct layout_process process = {
        .is_rank = layout_launches(phase, "rank"), .nodes = nodes->nodes, .gpus = nodes->gpus};
    if (layout_launches(phase, "group")) { /* each group is a separate world */
        process.nodes = 1;
        process.gpus = json_integer_value(json_object_get(parallel, "tensor")) *
                       json_integer_value(json_object_get(parallel, "pipeline"));
    }
    if (run && run->kind == YAML_SCALAR && !sections->lacks_base)
        layout_check_torchrun(sections->scope->problems, run, &process);
}

void layout_read_parallel(const struct sections *sections, const struct key *key, json_t *phase)
{
    json_t *resources = json_object_get(phase, "resources");
    struct layout_nodes nodes = layout_nodes_of(phase);
    const struct yaml_node *map = yaml_get(sections->phase, key->name);
    bool is_group = layout_launches(phase, "group");
    (void)json_object_set_new(phase, key->name, layout_resolve(sections, map, is_group, &nodes));
    (void)json_object_set_new(resources, "nodes", json_integer(nodes.nodes));
    (void)json_object_set_new(resources, "gpus", json_integer(nodes.gpus));
    gpus_follow(resources);
    layout_check_launchers(sections, phase, &nodes);
}

/* --- shard, join, outputs --------------------------------------------------------------------- */

/* The value of `key`, which needs launch: group; NULL: it is not given. */
static const struct yaml_node *layout_of_groups(const struct sections *sections,
                                                const struct key *key, const json_t *phase,
                                                const char *what)
{
    const struct yaml_node *node = yaml_get(sections->phase, key->name);
    if (node && !layout_launches(phase, "group") && !sections->lacks_base)
        yaml_key_problem(sections->scope->problems, node, "%s: it needs launch: group", what);
    return node;
}

static json_t *layout_shard(const struct sections *sections, const struct yaml_node *map)
{
    const struct yaml_node *input = yaml_get(map, "input");
    const char *way = scalar_key_choice(sections->scope, map, KEYS_SHARD, "by");
    if (!keys_read_map(sections->scope->problems, map, KEYS_SHARD,
                       "a map (such as {input: prompts.txt, by: lines})"))
        return json_null();
    if (!input && !sections->lacks_base && !keys_is_misspelt(map, KEYS_SHARD, "input"))
        yaml_missing(sections->scope->problems, map, "input", "missing: the file to be split");
    char *path = input ? scalar_string(sections->scope, input) : NULL;
    json_t *json =
        path ? json_pack("{ssss}", "input", path, "by", way ? way : "lines") : json_null();
    free(path);
    return json;
}

void layout_read_shard(const struct sections *sections, const struct key *key, json_t *phase)
{
    const struct yaml_node *map =
        layout_of_groups(sections, key, phase, "splits the input among groups");
    (void)json_object_set_new(phase, key->name, layout_shard(sections, map));
}

void layout_read_join(const struct sections *sections, const struct key *key, json_t *phase)
{
    const struct yaml_node *node =
        layout_of_groups(sections, key, phase, "runs once, after groups");
    (void)json_object_set_new(phase, key->name, node ? json_string(node->text) : json_null());
    if (node)
        scope_check_script(sections->scope, node);
}

/* Whether a path stays below the folder that it begins in. */
static bool layout_is_below(const char *path)
{
    if (path[0] == '/' || path[0] == '$')
        return false;
    for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL) {
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || !at[2]))
            return false;
    }
    return true;
}

static void layout_add_output(const struct sections *sections, const struct yaml_node *node,
                              json_t *outputs)
{
    char *name = scalar_string(sections->scope, node);
    if (name && !layout_is_below(name))
        yaml_problem(sections->scope->problems, node,
                     "must be a path below $PHASED_OUT (such as data.jsonl)");
    else if (name && strpbrk(name, "*?["))
        yaml_problem(sections->scope->problems, node,
                     "*, ? and [ have no special meaning here: name the file");
    else if (name)
        (void)json_array_append_new(outputs, json_string(name));
    free(name);
}

void layout_read_outputs(const struct sections *sections, const struct key *key, json_t *phase)
{
    const struct yaml_node *node = yaml_get(sections->phase, key->name);
    json_t *outputs = json_array();
    if (node && node->kind == YAML_MAP)
        yaml_problem(sections->scope->problems, node, "must be a list of paths below $PHASED_OUT");
    else if (node && node->kind == YAML_SCALAR)
        layout_add_output(sections, node, outputs);
    else if (node && node->count > LAYOUT_OUTPUTS_MAX)
        yaml_problem(sections->scope->problems, node, "more than %d", LAYOUT_OUTPUTS_MAX);
    for (size_t i = 0; node && node->kind == YAML_LIST && i < node->count; i++)
        layout_add_output(sections, node->items[i], outputs);
    (void)json_object_set_new(phase, key->name, outputs);
}
