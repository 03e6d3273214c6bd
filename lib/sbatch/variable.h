/* The environment variables that sbatch reads as options. They override the script. */
#ifndef PHASED_LIB_SBATCH_VARIABLE_H
#define PHASED_LIB_SBATCH_VARIABLE_H

struct sbatch_script;

/* Applies the variables in `environment` (`NAME=value`, ended by NULL) to the options of the
 * script. */
void sbatch_variables_read(struct sbatch_script *script, char *const *environment);

#endif
