/* Asking the machine. */
#include "lib/spec/probe.h"

#include "lib/spec/node.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Where line `number` of the text has its first character that is no space. */
static size_t probe_line_offset(const char *text, unsigned number)
{
    const char *at = text;
    for (unsigned line = 1; line < number; line++) {
        const char *end = strchr(at, '\n');
        if (!end || !end[1])
            break; /* bash counts the end as a line */
        at = end + 1;
    }
    return (size_t)(at - text) + strspn(at, " \t");
}

static void probe_script(const struct spec_probe *probe, struct spec_problems *problems,
                         const struct node *node)
{
    unsigned line = 1;
    if (!node || node->kind != NODE_SCALAR || node->is_cut)
        return;
    char *message = probe->script(probe->context, node->text, &line);
    if (message && (node->is_block || node->is_exact))
        node_problem_at(problems, node, probe_line_offset(node->text, line), "bash: %.300s",
                        message);
    else if (message)
        node_problem(problems, node, "bash, in line %u of it: %.300s", line, message);
    free(message);
}

static void probe_path(const struct spec_probe *probe, struct spec_problems *problems,
                       const struct node *node, const json_t *json, bool is_folder)
{
    const char *path = json_string_value(json);
    const char *reason =
        node && path && path[0] == '/' ? probe->path(probe->context, path, is_folder) : NULL;
    if (reason && !strchr(path, '$'))
        node_warning_at(problems, node, 0, "%s: %s on this machine", path, reason);
}

void probe_phase(const struct spec_probe *probe, struct spec_problems *problems,
                 const struct node *phase, const json_t *json)
{
    if (!probe)
        return;
    probe_script(probe, problems, node_get(phase, "run"));
    probe_script(probe, problems, node_get(phase, "join"));
    probe_path(probe, problems, node_get(phase, "workdir"), json_object_get(json, "workdir"), true);
    probe_path(probe, problems, node_get(node_get(phase, "shard"), "input"),
               json_object_get(json_object_get(json, "shard"), "input"), false);
}
