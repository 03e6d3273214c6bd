/* phasectl: finds the verb and runs it. */
#include "cli/cli.h"
#include "cli/filter.h"
#include "cli/remote/remote.h"
#include "cli/verbs.h"
#include "lib/error.h"
#include "lib/http.h"
#include "lib/text.h"

#include "config.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void main_help(void)
{
    printf("usage: phasectl [--host LOGIN] VERB ...\n\n"
           "Runs staged GPU training on Slurm: a phase starts when the gate of the phase before "
           "passes.\n\n");
    for (size_t i = 0; i < verb_count; i++)
        printf("  %-9s %s\n", verbs[i].name, verbs[i].help);
    printf("\n'phasectl help VERB', or 'phasectl VERB --help', explains a verb. 'phasectl help' "
           "prints this\ntext. An ADDRESS is 7 (a workflow), 7/validate (a phase) or 7/validate#2 "
           "(a run). All state is\nin $PHASED_HOME, or ~/.phased. With --host, or $PHASED_HOST, a "
           "verb runs on a login node, over\nssh.\n");
}

/* Takes `--host LOGIN` off the words. Returns the host; NULL or "": this machine. */
static const char *main_host(char ***words)
{
    static const char option[] = "--host";
    const char *word = **words;
    if (!word || !text_starts(word, option))
        return getenv("PHASED_HOST");
    if (word[strlen(option)] == '=') {
        (*words)++;
        return word + strlen(option) + 1;
    }
    if (word[strlen(option)] || !(*words)[1])
        return NULL; /* the word is refused as a verb */
    *words += 2;
    return (*words)[-1];
}

static int main_unknown(const struct cli *cli, const char *name)
{
    char *meant = verb_suggest(name);
    int exit_code = meant ? cli_usage(cli, "unknown verb '%s'; did you mean %s?", name, meant)
                          : cli_usage(cli, "unknown verb '%s'", name);
    free(meant);
    return exit_code;
}

/* `help VERB` is `VERB --help`. */
static int main_help_of(struct cli *cli, const char *name)
{
    char option[] = "--help", *words[] = {option, NULL};
    cli->verb = verb_find(name);
    return cli->verb ? cli->verb->function(cli, words) : main_unknown(cli, name);
}

static int main_run(struct cli *cli, char **words)
{
    const char *host = main_host(&words), *name = words[0];
    if (!name) {
        main_help();
        return CLI_USAGE;
    }
    if (text_equal(name, "help") && words[1] && words[1][0] != '-')
        return main_help_of(cli, words[1]);
    if (text_equal(name, "--help") || text_equal(name, "-h") || text_equal(name, "help")) {
        main_help();
        return CLI_OK;
    }
    if (text_equal(name, "--version")) {
        printf("phasectl %s\n", PACKAGE_VERSION);
        return CLI_OK;
    }
    cli->verb = verb_find(name);
    if (!cli->verb)
        return main_unknown(cli, name);
    return host && *host ? remote_verb(cli, host, words) : cli->verb->function(cli, words + 1);
}

int main(int argc, char **argv)
{
    (void)argc;
    (void)setlocale(LC_CTYPE, "");  /* if it fails: plain ASCII */
    (void)signal(SIGPIPE, SIG_IGN); /* the failed write shows that the pipe is closed */
    /* If the parent ignores SIGCHLD, phasectl would not learn how its programs end. */
    (void)signal(SIGCHLD, SIG_DFL);
    struct cli cli = {0};
    struct error err;
    filter_streams();
    terminal_init(&cli.out, STDOUT_FILENO);
    if (home_init(&cli.home, NULL, &err) < 0)
        return cli_fail(&err);
    int exit_code = main_run(&cli, argv + 1);
    http_client_free(cli.client);
    home_fini(&cli.home);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        if (errno != EPIPE)
            (void)fprintf(stderr, "phasectl: could not write to standard output: %s\n",
                          strerror(errno));
        return exit_code ? exit_code : CLI_FAILED;
    }
    return exit_code;
}
