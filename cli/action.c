/* The verbs of phasectl that are commands for phases: the daemon acts and names the phases. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/decide.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/text.h"

/* `context` is the checkpoint to begin from. NULL: phased chooses the checkpoint. */
static int action_on(struct cli *cli, const struct address *address, const void *context)
{
    struct error err;
    struct text said = {0};
    json_t *reply;
    char text[ADDRESS_TEXT_SIZE];
    enum phase_command command = (enum phase_command)phase_command_parse(cli->verb->name);
    if (address_kind(address) == ADDRESS_RUN)
        return cli_usage(cli, "%s acts on a workflow or a phase, not on a run", cli->verb->name);
    if (decide_post(cli, address, command, context, &reply, &err) < 0)
        return cli_fail(&err);
    if (!cli->as_json)
        decide_write(command, reply, &said);
    if (!cli->as_json && command == COMMAND_HOLD)
        text_addf(&said, "to continue it: phasectl release %s\n", address_text(address, text));
    return client_take_answer(cli, reply, &said);
}

int action_verb(struct cli *cli, char **words)
{
    return options_addresses(cli, words, NULL, 1, action_on, NULL);
}

int retry_verb(struct cli *cli, char **words)
{
    const char *from = NULL;
    const struct option_rule rules[] = {
        {"from", 0, "STEP", "begin from this checkpoint: its step, its path, or `start`",
         .text = &from},
        {"json", 0, NULL, "print the daemon's answer", .flag = &cli->as_json},
        {0},
    };
    struct option_arguments arguments = {.min = 1, .max = OPTION_ARGUMENTS_MAX};
    int exit_code;
    if (!options_parse(cli, words, rules, &arguments, &exit_code))
        return exit_code;
    return options_each_address(cli, &arguments, action_on, from);
}
