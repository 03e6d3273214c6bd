/* A script that runs on a host, over the shared connection. */
#ifndef PHASED_CLI_REMOTE_SESSION_H
#define PHASED_CLI_REMOTE_SESSION_H

struct connection;
struct error;

enum session_input {
    SESSION_TERMINAL, /* the script has a terminal, with the keys and the size of our terminal */
    SESSION_STDIN,    /* the script reads our standard input */
    SESSION_NOTHING, /* the script reads nothing, and gets SIGINT when we do, or when we are gone */
};

/* Runs `script` with `words` as its arguments, and waits for its end. Returns its exit code; 130
 * if Ctrl-C has ended it; -EPIPE if the connection was lost; another negative errno if ssh cannot
 * be started. */
int session_run(const struct connection *connection, const char *script, char *const *words,
                enum session_input input, struct error *err);

/* Like session_run(), with a descriptor as the input. Ctrl-C ends it like any program. */
int session_send(const struct connection *connection, const char *script, char *const *words,
                 int input, struct error *err);

#endif
