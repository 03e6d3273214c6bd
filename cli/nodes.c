/* phasectl nodes: lists, adds and clears the nodes that new jobs leave out. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "cli/view.h"
#include "lib/error.h"
#include "lib/text.h"
#include "lib/units.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

static int nodes_list(struct cli *cli)
{
    struct text text = {0};
    struct error err;
    json_t *json;
    if (client_get(cli, &json, &err, "/v1/nodes") < 0)
        return cli_fail(&err);
    json_t *nodes = json_incref(json_object_get(json, "nodes"));
    json_decref(json);
    if (!cli->as_json && json_array_size(nodes) == 0)
        text_add(&text, "no node is left out\n");
    else if (!cli->as_json)
        view_nodes(&cli->out, nodes, (double)time(NULL), &text);
    return client_take_answer(cli, nodes, &text);
}

/* Names are Slurm's. Other characters would make another path. */
static bool nodes_is_name(const char *word)
{
    for (const char *c = word; *c; c++)
        if (*c <= ' ' || *c == '/' || *c == '?' || *c == '%' || *c == '#' || *c > '~')
            return false;
    return *word;
}

static int nodes_add(struct cli *cli, const char *node, const char *duration, const char *because)
{
    uint32_t seconds = 0;
    struct text text = {0};
    struct error err;
    json_t *reply;
    if (duration && units_parse_duration(duration, &seconds, &err) < 0)
        return cli_usage(cli, "--for: %s", err.message);
    if (duration && seconds == 0)
        return cli_usage(cli, "--for wants at least a second");
    char *path = text_format("/v1/nodes/%s", node);
    json_t *body = json_pack("{s:s?, s:o}", "message", because, "seconds",
                             duration ? json_integer(seconds) : json_null());
    int status = body ? client_post(cli, path, body, &reply, NULL, &err)
                      : error_set(&err, -EINVAL, "--because is not UTF-8");
    json_decref(body);
    free(path);
    if (status < 0)
        return cli_fail(&err);
    if (!cli->as_json && duration)
        text_addf(&text, "%s is left out for %s\n", node, duration);
    else if (!cli->as_json)
        text_addf(&text, "%s is left out until 'phasectl nodes clear %s'\n", node, node);
    return client_take_answer(cli, reply, &text);
}

static int nodes_clear(struct cli *cli, const char *node)
{
    struct text text = {0};
    struct error err;
    json_t *reply;
    char *path = text_format("/v1/nodes/%s", node);
    int status = client_delete(cli, path, &reply, &err);
    free(path);
    if (status < 0)
        return cli_fail(&err);
    if (!cli->as_json)
        text_addf(&text, "jobs may use %s again\n", node);
    return client_take_answer(cli, reply, &text);
}

int nodes_verb(struct cli *cli, char **words)
{
    const char *duration = NULL, *because = NULL;
    const struct option_rule rules[] = {
        {"for", 0, "TIME", "with add: for this long, such as 2h (until `clear`)",
         .text = &duration},
        {"because", 0, "TEXT", "with add: the reason", .text = &because},
        {"json", 0, NULL, "print the daemon's answer", .flag = &cli->as_json},
        {0},
    };
    struct option_arguments arguments = {.max = 2};
    int exit_code;
    if (!options_parse(cli, words, rules, &arguments, &exit_code))
        return exit_code;
    const char *action = arguments.count ? arguments.items[0] : NULL;
    bool adds = action && text_equal(action, "add");
    if (action && !adds && !text_equal(action, "clear"))
        return cli_usage(cli, "unknown word '%s'; say add or clear", action);
    if ((duration || because) && !adds)
        return cli_usage(cli, "--for and --because are only for add");
    if (!action)
        return nodes_list(cli);
    if (arguments.count < 2 || !nodes_is_name(arguments.items[1]))
        return cli_usage(cli, "%s wants the name of a node", action);
    return adds ? nodes_add(cli, arguments.items[1], duration, because)
                : nodes_clear(cli, arguments.items[1]);
}
