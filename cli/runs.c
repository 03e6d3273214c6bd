/* phasectl runs: one line for each run of all workflows, a workflow or a phase. */
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

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

/* Returns the runs that the address means, as a new array. */
static json_t *runs_select(const json_t *runs, const struct address *address)
{
    json_t *selected = json_array(), *run;
    size_t i;
    json_array_foreach((json_t *)runs, i, run)
    {
        if ((!address->phase[0] || members_has_run(address->phase, run)) &&
            (!address->attempt || field_integer(run, "attempt") == address->attempt))
            (void)json_array_append(selected, run); /* fails only without memory */
    }
    return selected;
}

/* Prints the runs of an address, or of all workflows (workflow 0). */
static int runs_one(struct cli *cli, const struct address *address, const void *context)
{
    struct error err;
    struct text text = {0};
    json_t *json;
    (void)context;
    if (address->workflow && client_check_address(cli, address, &err) < 0)
        return cli_fail(&err);
    int status = address->workflow
                     ? client_get(cli, &json, &err, "/v1/runs?workflow=%" PRIu64, address->workflow)
                     : client_get(cli, &json, &err, "/v1/runs");
    if (status < 0)
        return cli_fail(&err);
    json_t *all = json_object_get(json, "runs"), *runs = runs_select(all, address);
    if (json_is_true(json_object_get(json, "more")))
        (void)fprintf(stderr, "phasectl: only the newest %zu runs were looked at\n",
                      json_array_size(all));
    json_decref(json);
    if (!cli->as_json && json_array_size(runs) == 0)
        text_add(&text, "no runs yet\n");
    else if (!cli->as_json)
        view_runs(&cli->out, runs, (double)time(NULL), &text);
    return client_take_answer(cli, runs, &text);
}

int runs_verb(struct cli *cli, char **words)
{
    return options_addresses(cli, words, NULL, 0, runs_one, NULL);
}
