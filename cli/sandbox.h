/* The sandbox of the home: a private Slurm. */
#ifndef PHASED_CLI_SANDBOX_H
#define PHASED_CLI_SANDBOX_H

#include <stdbool.h>

struct cli;

/* Whether the home has a sandbox, and all parts of the sandbox run. */
bool sandbox_is_running(const struct cli *cli);

#endif
