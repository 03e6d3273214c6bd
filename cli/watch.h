/* Following a workflow on the screen until it ends. */
#ifndef PHASED_CLI_WATCH_H
#define PHASED_CLI_WATCH_H

struct address;
struct cli;

/* Prints what happens to the workflow of `address` until it has ended or is held. Returns CLI_OK
 * when it succeeded, CLI_FAILED otherwise. */
int watch_workflow(struct cli *cli, const struct address *address);

#endif
