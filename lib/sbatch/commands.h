/* Finds the commands that a shell script runs, by its text. */
#ifndef PHASED_LIB_SBATCH_COMMANDS_H
#define PHASED_LIB_SBATCH_COMMANDS_H

/* Returns where the script first runs `command`, a program with or without a first argument
 * ("sbatch", "scontrol requeue"). Comments, quotes, here documents, elements of arrays, arithmetic
 * and arguments of other commands do not count, nor does an sbatch with an option by which it
 * submits nothing, such as --test-only. A script in an argument counts: `bash -c "sbatch x"`, `ssh
 * login sbatch x`. The values of variables are unknown. NULL: the script does not run it. */
const char *commands_find(const char *script, const char *command);

#endif
