/* What every verb of phasectl gets: where the home is, how to print, and how to ask the daemon.
 *
 * A verb is a function that reads its words, does its work and returns the exit code of the
 * program. It prints its own results; errors go through cli_fail(), one line each. */
#ifndef PHASED_CLI_CLI_H
#define PHASED_CLI_CLI_H

#include "cli/terminal.h"
#include "lib/home.h"

#include <stdbool.h>
#include <stdint.h>

struct address;
struct error;
struct http_client;
struct text;

enum cli_exit_code { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

struct cli;

struct verb {
    const char *name;
    int (*function)(struct cli *cli, char **words); /* `words` are those after the name */
    const char *synopsis;                           /* its words: "FILE [options]" */
    const char *help;                               /* one line */
    const char *details;                            /* paragraphs for `--help`; may be NULL */
};

struct cli {
    const struct verb *verb;
    struct home home;
    struct terminal out;        /* standard output */
    struct http_client *client; /* NULL until the daemon is first asked */
    bool is_remote;             /* the client speaks TCP: the daemon may run on another host */
    unsigned limit_ms;          /* for an answer of the daemon; 0: as lib/http.h says */
    bool as_json;               /* the words have --json */
    bool has_several;           /* the words have several addresses */
    bool reads_files; /* no daemon answers: the files of runs were read, and a line said so */
    bool is_silent;   /* the daemon did not answer the reader's last ping */
    int64_t ping_ms;  /* of clock_steady_ms(): when the reader pings again */
};

/* Prints "phasectl: MESSAGE" to standard error and returns CLI_FAILED. */
int cli_fail(const struct error *err);

/* Prints what is wrong with the words, and a hint at the help of the verb. Returns CLI_USAGE. */
int cli_usage(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says on standard error that the newest run has no `what` yet, and that the `what` of `run`
 * follows. Says nothing if the runs are the same. */
void cli_note_earlier(const struct address *newest, const struct address *run, const char *what);

/* Prints `text` to standard output and empties it. main() reports failures of standard output. */
void cli_print(struct text *text);

/* Whether a write to standard output has failed, or its reader is gone. While nothing is written,
 * no failed write can show that the reader is gone. */
bool cli_is_unread(void);

/* From now on the signal does not end the program: it ends a wait, and cli_is_interrupted() returns
 * true. Only for SIGINT, SIGTERM and SIGHUP. */
void cli_catch(int signal_number);
bool cli_is_interrupted(void);

/* Sleeps; returns early when a signal was caught. */
void cli_wait(unsigned milliseconds);

#endif
