/* The live view of all workflows. */
#ifndef PHASED_CLI_TOP_TOP_H
#define PHASED_CLI_TOP_TOP_H

struct cli;
struct error;

/* Shows the view on the terminal until a person quits. Then waits for the answers to decisions, 10
 * seconds at most. Returns an exit code. CLI_FAILED: a decision failed after the view closed, or
 * may be lost, and a message says so. -ENOTSUP: phasectl was built without the view. */
int top_run(const struct cli *cli, struct error *err);

#endif
