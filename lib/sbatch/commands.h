/* Finds the commands that a shell script runs, by its text. */
#ifndef PHASED_LIB_SBATCH_COMMANDS_H
#define PHASED_LIB_SBATCH_COMMANDS_H

/* Returns where the script first runs `command`, a program with or without a first argument
 * ("sbatch", "scontrol requeue"). Comments, quotes, elements of arrays, arithmetic and arguments of
 * other commands do not count. Nor does an sbatch with an option by which it submits nothing, such
 * as --test-only, or a function of the script with the same name. Commands that are started by
 * other commands count: `timeout 5 sbatch x`, `bash -c "sbatch x"`, `ssh login sbatch x`. Here
 * documents count if a shell gets them. The values of variables are unknown. NULL: the script does
 * not run the command. */
const char *commands_find(const char *script, const char *command);

#endif
