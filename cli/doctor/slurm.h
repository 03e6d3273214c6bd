/* Asks Slurm for its settings by scontrol, sinfo and sbatch, and judges the answers. */
#ifndef PHASED_CLI_DOCTOR_SLURM_H
#define PHASED_CLI_DOCTOR_SLURM_H

#include <jansson.h>

/* `built` is the release of Slurm that phased's module is for; empty: unknown. Slurm has 15 seconds
 * for each answer. After a question without an answer, no other question is asked. */
void slurm_look(const char *built, json_t *findings);

#endif
