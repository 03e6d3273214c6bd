/* phasectl top: reads the command line, and checks that there is a terminal and a daemon. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/options.h"
#include "cli/top/top.h"
#include "cli/verbs.h"
#include "lib/error.h"

#include <errno.h>
#include <unistd.h>

int top_verb(struct cli *cli, char **words)
{
    const struct option_rule rules[] = {{0}};
    struct option_arguments arguments = {.max = 0};
    struct error err;
    json_t *ping;
    int exit_code;
    if (!options_parse(cli, words, rules, &arguments, &exit_code))
        return exit_code;
    if (!cli->out.live || !isatty(STDIN_FILENO)) {
        (void)error_set(&err, -ENOTTY, "%s needs a terminal; 'phasectl status' does not",
                        cli->verb->name);
        return cli_fail(&err);
    }
    if (client_ping(cli, &ping, &err) < 0)
        return cli_fail(&err);
    json_decref(ping);
    exit_code = top_run(cli, &err);
    return exit_code < 0 ? cli_fail(&err) : exit_code;
}
