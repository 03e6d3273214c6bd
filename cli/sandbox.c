/* phasectl sandbox start|stop|status: runs the script that knows how to make a private Slurm. */
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/verbs.h"
#include "lib/error.h"
#include "lib/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Replaces this program; returns only when that fails. */
static int sandbox_run(struct cli *cli, const char *action, unsigned nodes)
{
    struct error err;
    char *script, count[16];
    if (home_make(&cli->home, &err) < 0 || program_sandbox(&script, &err) < 0)
        return cli_fail(&err);
    (void)snprintf(count, sizeof count, "%u", nodes);
    const char *words[] = {script, action, cli->home.sandbox, nodes ? "--nodes" : NULL,
                           count,  NULL};
    (void)signal(SIGPIPE, SIG_DFL); /* as a shell would start it */
    (void)execv(script, (char **)words);
    (void)error_set(&err, -errno, "cannot run %s: %s", script, strerror(errno));
    free(script);
    return cli_fail(&err);
}

int sandbox_verb(struct cli *cli, char **words)
{
    unsigned nodes = 0;
    const struct option_rule rules[] = {
        {"nodes", 0, "N", "with start: how many nodes (4), of 8 pretend H100 each",
         .number = &nodes},
        {0},
    };
    struct option_arguments arguments = {.min = 1, .max = 1};
    int status;
    if (!options_parse(cli, words, rules, &arguments, &status))
        return status;
    const char *action = arguments.items[0];
    bool start = text_equal(action, "start");
    if (!start && !text_equal(action, "stop") && !text_equal(action, "status"))
        return cli_usage(cli, "what to do: start, stop or status, not '%s'", action);
    if (nodes && !start)
        return cli_usage(cli, "--nodes goes with start only");
    return sandbox_run(cli, action, nodes);
}
