/* phasectl gate: the value and the bounds of each check, of a phase or of all phases. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/options.h"
#include "cli/phrases.h"
#include "cli/verbs.h"
#include "cli/view.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/text.h"

#include <time.h>

static int gate_of_phase(struct cli *cli, const struct address *phase)
{
    struct error err;
    struct text text = {0};
    json_t *json;
    if (client_get_part(cli, phase, "/gate?so_far=1", &json, &err) < 0)
        return cli_fail(&err);
    if (!cli->as_json)
        view_judgement(&cli->out, json, (double)time(NULL), &text);
    return client_take_answer(cli, json, &text);
}

/* The gates of all phases. The gate of a matrix stands for the gates of its members. */
static int gate_of_workflow(struct cli *cli, const struct address *workflow)
{
    struct address address;
    struct error err;
    json_t *json, *phase;
    size_t i;
    int exit_code = CLI_OK;
    if (client_get_address(cli, workflow, &json, &err) < 0)
        return cli_fail(&err);
    json_array_foreach(json_object_get(json, "phases"), i, phase)
    {
        if (exit_code != CLI_OK || members_has(phase))
            continue;
        exit_code = address_parse(field_text(phase, "address"), &address, &err) < 0
                        ? cli_fail(&err)
                        : gate_of_phase(cli, &address);
    }
    json_decref(json);
    return exit_code;
}

static int gate_one(struct cli *cli, const struct address *asked, const void *context)
{
    struct address phase = *asked;
    struct error err;
    (void)context;
    if (address_kind(asked) == ADDRESS_WORKFLOW)
        return gate_of_workflow(cli, asked);
    if (client_check_address(cli, asked, &err) < 0)
        return cli_fail(&err);
    phase.attempt = 0; /* a gate judges a phase, not a run */
    return gate_of_phase(cli, &phase);
}

int gate_verb(struct cli *cli, char **words)
{
    return options_addresses(cli, words, NULL, 1, gate_one, NULL);
}
