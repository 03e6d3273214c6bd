/* phasectl sandbox start|stop|status: runs the script that makes a private Slurm. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "lib/command.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/place.h"
#include "lib/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SANDBOX_STOPPED = 3, /* exit code of the script if a part does not run */
    SANDBOX_STATUS_S = 10,
    SANDBOX_NODES = 4,       /* the number of pretend nodes without --nodes */
    SANDBOX_NODES_MAX = 512, /* the limit of the script */
    SANDBOX_KIND_MAX = 64,
};

/* Asks whether the home has a sandbox, and all parts of the sandbox run. If the script does not
 * answer, the sandbox does not count as running. */
static int sandbox_ask(const struct cli *cli, bool *ret_is_running, struct error *err)
{
    *ret_is_running = false;
    if (access(cli->home.slurm_conf, R_OK) < 0)
        return 0;
    char *script = place_helper("sandbox");
    const char *const words[] = {script, "status", cli->home.sandbox, NULL};
    struct command_result result;
    int status = command_run(words, NULL, SANDBOX_STATUS_S, &result, NULL);
    free(script);
    if (status < 0)
        return 0;
    *ret_is_running = result.exit_code == CLI_OK;
    if (result.exit_code == CLI_FAILED) { /* the script cannot know */
        char *complaint = command_complaint(&result);
        status = error_set(err, -EIO, "%s", complaint);
        free(complaint);
    }
    command_fini(&result);
    return status;
}

/* Replaces this program; returns only when that fails. `nodes` is the number of pretend nodes; 0:
 * the script asks phase-preflight which GPUs there are. */
static int sandbox_run(struct cli *cli, const char *action, unsigned nodes)
{
    struct error err;
    char count[16];
    if (home_make(&cli->home, &err) < 0)
        return cli_fail(&err);
    (void)snprintf(count, sizeof count, "%u", nodes);
    char *script = place_helper("sandbox"), *preflight = place_program("phase-preflight");
    const char *words[] = {script, action, cli->home.sandbox, NULL, NULL, NULL};
    if (text_equal(action, "start")) {
        words[3] = nodes ? "--nodes" : "--real";
        words[4] = nodes ? count : preflight;
    }
    (void)signal(SIGPIPE, SIG_DFL); /* as a shell would start it */
    (void)execv(script, (char **)words);
    (void)error_set(&err, -errno, "cannot run %s: %s", script, strerror(errno));
    free(preflight);
    free(script);
    return cli_fail(&err);
}

/* Whether the nodes are pretend nodes. Only a sandbox with real GPUs has a file that says so. */
static bool sandbox_pretends(const struct cli *cli)
{
    char *path = text_format("%s/kind", cli->home.sandbox), *kind = NULL;
    bool is_real =
        file_read(path, SANDBOX_KIND_MAX, &kind, NULL, NULL) == 0 && text_starts(kind, "real");
    free(kind);
    free(path);
    return !is_real;
}

/* Returns the exit code of `status` of the script. */
static int sandbox_print_json(const struct cli *cli)
{
    struct error err;
    bool is_running;
    if (sandbox_ask(cli, &is_running, &err) < 0)
        return cli_fail(&err);
    json_t *json = json_pack("{s:b, s:b, s:s}", "running", is_running, "pretend",
                             sandbox_pretends(cli), "slurm_conf", cli->home.slurm_conf);
    client_print_json(json);
    json_decref(json);
    return is_running ? CLI_OK : SANDBOX_STOPPED;
}

int sandbox_verb(struct cli *cli, char **words)
{
    unsigned nodes = 0;
    bool pretend = false;
    const struct option_rule rules[] = {
        {"pretend", 0, NULL, "with start: pretend nodes, even if this machine has GPUs",
         .flag = &pretend},
        {"nodes", 0, "N", "with start: how many pretend nodes (4), of 8 H100 each",
         .number = &nodes, .least = 1, .most = SANDBOX_NODES_MAX},
        {"json", 0, NULL, "with status: print whether it runs, and its configuration",
         .flag = &cli->as_json},
        {0},
    };
    struct option_arguments arguments = {.min = 1, .max = 1};
    int exit_code;
    if (!options_parse(cli, words, rules, &arguments, &exit_code))
        return exit_code;
    const char *action = arguments.items[0];
    bool start = text_equal(action, "start");
    if (!start && !text_equal(action, "stop") && !text_equal(action, "status"))
        return cli_usage(cli, "unknown word '%s'; say start, stop or status", action);
    if ((nodes || pretend) && !start)
        return cli_usage(cli, "--%s is only for start", nodes ? "nodes" : "pretend");
    if (cli->as_json && !text_equal(action, "status"))
        return cli_usage(cli, "--json is only for status");
    if (cli->as_json)
        return sandbox_print_json(cli);
    if (nodes && !pretend && !sandbox_pretends(cli)) {
        struct error err;
        (void)error_set(&err, -EEXIST,
                        "jobs may wait for the real GPUs of %s: --nodes needs --pretend there",
                        cli->home.sandbox);
        return cli_fail(&err);
    }
    return sandbox_run(cli, action, nodes || !pretend ? nodes : SANDBOX_NODES);
}
