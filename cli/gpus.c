/* phasectl gpus: what the GPUs of a run do, or did last, for each node or for each GPU. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/gpu_view.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/text.h"

#include <stdio.h>
#include <time.h>

static void gpus_print(const struct cli *cli, const json_t *reply, bool is_each)
{
    struct text text = {0};
    if (cli->as_json)
        client_print_json(reply);
    else if (is_each)
        gpu_view_each(&cli->out, reply, &text);
    else
        gpu_view_nodes(&cli->out, reply, (double)time(NULL), &text);
    cli_print(&text);
}

/* Returns the GPUs of the members that run, each with the address of its `run`. An empty list: no
 * member runs, or the phase is not a matrix. Returns NULL on failure. */
static json_t *gpus_of_members(struct cli *cli, const struct address *phase, struct error *err)
{
    json_t *json, *list = json_array(), *member;
    int status = client_get_address(cli, phase, &json, err);
    size_t i;
    if (status < 0)
        json = NULL;
    json_array_foreach(json_object_get(json, "members"), i, member)
    {
        const json_t *run = json_object_get(member, "run");
        json_t *reply;
        if (!json_is_object(run) || !json_is_null(json_object_get(run, "ended")))
            continue;
        if ((status = client_get_part_of(cli, run, "/gpus", &reply, err)) < 0)
            break;
        (void)json_object_set(reply, "run", json_object_get(run, "address"));
        (void)json_array_append_new(list, reply); /* both fail only without memory */
    }
    json_decref(json);
    if (status < 0) {
        json_decref(list);
        return NULL;
    }
    return list;
}

static void gpus_print_members(const struct cli *cli, const json_t *list, bool is_each)
{
    const json_t *reply;
    size_t i;
    if (cli->as_json) {
        client_print_json(list);
        return;
    }
    json_array_foreach(list, i, reply)
    {
        printf("%s%s\n", i ? "\n" : "", field_text(reply, "run"));
        gpus_print(cli, reply, is_each);
    }
}

/* `context` is a bool: one line for each GPU. */
static int gpus_one(struct cli *cli, const struct address *asked, const void *context)
{
    bool is_each = *(const bool *)context;
    bool is_phase = address_kind(asked) == ADDRESS_PHASE;
    struct address address = *asked;
    struct error err;
    json_t *reply, *list = is_phase ? gpus_of_members(cli, asked, &err) : NULL;
    if (is_phase && !list)
        return cli_fail(&err);
    if (json_array_size(list)) {
        gpus_print_members(cli, list, is_each);
        json_decref(list);
        return CLI_OK;
    }
    json_decref(list);
    if (client_find_run(cli, &address, &err) < 0 ||
        client_get_part(cli, &address, "/gpus", &reply, &err) < 0)
        return cli_fail(&err);
    gpus_print(cli, reply, is_each);
    json_decref(reply);
    return CLI_OK;
}

int gpus_verb(struct cli *cli, char **words)
{
    bool is_each = false;
    const struct option_rule rules[] = {
        {"each", 0, NULL, "print one line for each GPU", .flag = &is_each},
        {"json", 0, NULL, "print the daemon's answer", .flag = &cli->as_json},
        {0},
    };
    return options_addresses(cli, words, rules, 1, gpus_one, &is_each);
}
