/* phasectl gpus: what the GPUs of a run do, or did last, for each node or for each GPU. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/gpu_view.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/text.h"

enum gpus_form { GPUS_BY_NODE, GPUS_EACH, GPUS_JSON };

static void gpus_print(const struct cli *cli, const json_t *reply, enum gpus_form form)
{
    struct text text = {0};
    if (form == GPUS_JSON)
        client_print_json(reply);
    else if (json_array_size(json_object_get(reply, "gpus")) == 0 &&
             (form == GPUS_EACH || json_array_size(json_object_get(reply, "paces")) == 0))
        text_add(&text, "nothing is known about the GPUs of this run\n");
    else if (form == GPUS_EACH)
        gpu_view_each(&cli->out, reply, &text);
    else
        gpu_view_nodes(&cli->out, reply, &text);
    cli_print(&text);
}

static int gpus_one(struct cli *cli, const struct address *asked, const void *context)
{
    struct address address = *asked;
    struct error err;
    json_t *reply;
    if (client_find_run(cli, &address, &err) < 0 ||
        client_get_gpus(cli, &address, &reply, &err) < 0)
        return cli_fail(&err);
    gpus_print(cli, reply, *(const enum gpus_form *)context);
    json_decref(reply);
    return CLI_OK;
}

int gpus_verb(struct cli *cli, char **words)
{
    bool as_json = false, is_each = false;
    const struct option_rule rules[] = {
        {"each", 0, NULL, "print one line for each GPU", .flag = &is_each},
        {"json", 0, NULL, "print the daemon's answer", .flag = &as_json},
        {0},
    };
    struct option_arguments arguments = {.min = 1, .max = OPTION_ARGUMENTS_MAX};
    int status;
    if (!options_parse(cli, words, rules, &arguments, &status))
        return status;
    const enum gpus_form form = as_json ? GPUS_JSON : is_each ? GPUS_EACH : GPUS_BY_NODE;
    return options_each_address(cli, &arguments, gpus_one, &form);
}
