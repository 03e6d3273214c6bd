/* phasectl gate: the value and the bounds of each check. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "cli/view.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/text.h"

#include <errno.h>
#include <time.h>

/* Replaces the address of a workflow by the address of its only phase. */
static int gate_find_phase(struct cli *cli, struct address *address, struct error *err)
{
    json_t *json;
    int code = client_get_address(cli, address, &json, err);
    if (code < 0)
        return code;
    const json_t *phases = json_object_get(json, "phases");
    const char *first = field_text(json_array_get(phases, 0), "address");
    if (json_array_size(phases) == 1)
        code = address_parse(first, address, err);
    else
        code = error_set(err, -EINVAL, "a gate belongs to a phase: name one, such as %s", first);
    json_decref(json);
    return code;
}

static int gate_one(struct cli *cli, const struct address *asked, const void *context)
{
    struct address address = *asked;
    struct error err;
    struct text text = {0};
    json_t *json;
    (void)context;
    if (address_kind(&address) == ADDRESS_WORKFLOW && gate_find_phase(cli, &address, &err) < 0)
        return cli_fail(&err);
    address.attempt = 0; /* a gate judges a phase, not a run */
    if (client_get_part(cli, &address, "/gate?so_far=1", &json, &err) < 0)
        return cli_fail(&err);
    if (cli->as_json)
        client_print_json(json);
    else
        view_judgement(&cli->out, json, (double)time(NULL), &text);
    cli_print(&text);
    json_decref(json);
    return CLI_OK;
}

int gate_verb(struct cli *cli, char **words)
{
    const struct option_rule rules[] = {
        {"json", 0, NULL, "print the daemon's answer", .flag = &cli->as_json},
        {0},
    };
    return options_addresses(cli, words, rules, 1, gate_one, NULL);
}
