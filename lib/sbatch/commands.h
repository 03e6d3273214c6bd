/* Guesses which commands a script runs, from how its lines look. */
#ifndef PHASED_LIB_SBATCH_COMMANDS_H
#define PHASED_LIB_SBATCH_COMMANDS_H

/* Returns where the script first seems to run a command; NULL: nowhere. `command` is a regular
 * expression for its name and first arguments. Comments and arguments of other commands do not
 * count, nor does an sbatch with an option by which it submits nothing, such as --test-only. Lines
 * of here documents count, and some words in quotes do. A command is missed after a redirection,
 * in a branch of `case` on one line, and after options of another command, as in `nice -n 5
 * sbatch`: nothing here knows the shell's grammar. */
const char *commands_find(const char *script, const char *command);

#endif
