/* Which commands a shell script runs, as far as its text tells. */
#ifndef PHASED_LIB_SBATCH_COMMANDS_H
#define PHASED_LIB_SBATCH_COMMANDS_H

/* Where the script first runs `command`, a program with or without a first argument ("sbatch",
 * "scontrol requeue"), in a place where bash would start it: not in a comment, in quotes, in a here
 * document or as the argument of another command. NULL: nowhere. What a variable holds is not
 * known. */
const char *commands_find(const char *script, const char *command);

#endif
