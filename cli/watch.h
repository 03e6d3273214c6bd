/* Following a workflow on the screen until it ends. */
#ifndef PHASED_CLI_WATCH_H
#define PHASED_CLI_WATCH_H

struct address;
struct cli;

/* Prints the events of the workflow of `address` until it has ended or is held. Returns CLI_OK if
 * it has succeeded, otherwise CLI_FAILED. */
int watch_workflow(struct cli *cli, const struct address *address);

#endif
