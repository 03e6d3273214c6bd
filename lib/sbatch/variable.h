/* The variables that sbatch reads as options: what they say counts more than what a script says. */
#ifndef PHASED_LIB_SBATCH_VARIABLE_H
#define PHASED_LIB_SBATCH_VARIABLE_H

struct sbatch_script;

/* Lays what `environment` says (`NAME=value`, ended by NULL) over the options of the script. */
void sbatch_variables_read(struct sbatch_script *script, char *const *environment);

#endif
