/* Where the other programs are, found from this one: the layout of an installation and of a build
 * folder are the same. */
#ifndef PHASED_CLI_PROGRAM_H
#define PHASED_CLI_PROGRAM_H

#include "cli/cli.h"

#include <stdbool.h>

/* The program `name` beside this one; the caller's to free(). -ENOENT when it is not there. */
int program_beside(const char *name, char **ret_path, struct error *err);

/* The script that makes sandboxes. */
int program_sandbox(char **ret_path, struct error *err);

/* Whether a sandbox runs in the home. */
bool program_sandbox_is_running(const struct cli *cli);

#endif
