/* phasectl --host LOGIN open. */
#ifndef PHASED_CLI_REMOTE_PAGE_H
#define PHASED_CLI_REMOTE_PAGE_H

struct cli;
struct connection;

/* `script` asks the daemon of the host for its page, and prints the answer as JSON. Forwards a port
 * of this machine to the page, shows the address here, and goes on until Ctrl-C. Makes the
 * connection anew when it is lost. Returns the exit code. */
int page_keep_open(struct cli *cli, struct connection *connection, const char *script);

#endif
