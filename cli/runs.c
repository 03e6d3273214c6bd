/* phasectl runs: one line a run, of all workflows, one of them, or a phase. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "cli/view.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The runs of one phase, or all when `phase` is empty; the caller's. */
static json_t *runs_select(const json_t *runs, const char *phase)
{
    json_t *selected = json_array(), *run;
    size_t i;
    json_array_foreach((json_t *)runs, i, run)
    {
        if (!phase[0] || strcmp(field_text(run, "phase"), phase) == 0)
            (void)json_array_append(selected, run); /* fails only without memory */
    }
    return selected;
}

int runs_verb(struct cli *cli, char **words)
{
    bool as_json = false;
    const struct option_rule rules[] = {
        {.name = "json", .flag = &as_json, .help = "print the daemon's answer"},
        {0},
    };
    struct arguments arguments = {.max = 1};
    struct address address = {0};
    struct error err;
    struct text text = {0};
    json_t *json;
    int status;
    if (!options_parse(cli, words, rules, &arguments, &status))
        return status;
    if (arguments.count && address_parse(arguments.items[0], &address, &err) < 0)
        return cli_usage(cli, "%s", err.message);
    char *path = arguments.count
                     ? text_format("/v1/runs?workflow=%llu", (unsigned long long)address.workflow)
                     : text_format("/v1/runs");
    int code = client_get(cli, path, &json, &err);
    free(path);
    if (code < 0)
        return cli_fail(&err);
    json_t *runs = runs_select(json_object_get(json, "runs"), address.phase);
    if (as_json)
        client_print_json(runs);
    else if (json_array_size(runs) == 0)
        text_add(&text, "no runs yet\n");
    else
        view_runs(&cli->out, runs, (double)time(NULL), &text);
    (void)fputs(text_string(&text), stdout); /* main() looks at standard output's errors */
    text_fini(&text);
    json_decref(runs);
    json_decref(json);
    return CLI_OK;
}
