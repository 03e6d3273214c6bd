/* The live view of all workflows. */
#ifndef PHASED_CLI_TOP_TOP_H
#define PHASED_CLI_TOP_TOP_H

struct cli;
struct error;

/* Shows the view on the terminal until a person quits. -ENOTSUP: phasectl was built without it. */
int top_run(const struct cli *cli, struct error *err);

#endif
