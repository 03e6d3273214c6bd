/* Looks at phased itself: its programs, the daemon, the record, and the files of the user. */
#ifndef PHASED_CLI_DOCTOR_PHASED_H
#define PHASED_CLI_DOCTOR_PHASED_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct cli;

/* The home, the daemon, the record, limits.yaml and failures.yaml. */
void phased_look_at_home(struct cli *cli, json_t *findings);

/* phased and its module, phase-worker and what notices need. Fills `ret_built` with the release of
 * Slurm that the module is for; empty: there is no module. */
void phased_look_at_programs(bool is_sandbox, char *ret_built, size_t size, json_t *findings);

/* Whether phased can use Slurm's configuration. */
void phased_look_at_configuration(json_t *findings);

#endif
