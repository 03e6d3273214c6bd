/* The text of a command for the shell of a host. */
#ifndef PHASED_CLI_REMOTE_COMMAND_H
#define PHASED_CLI_REMOTE_COMMAND_H

/* Returns a command that runs `script` in a login shell of bash, with `words` (ends with NULL; may
 * be NULL) as its arguments. Words that are added to the command become further arguments. What the
 * profile of the user prints to standard output is dropped. The caller frees the result.
 *
 * sshd gives the command to the shell of the user, whatever shell that is. So the command has only
 * letters that every shell leaves unchanged: the script and its words are written as numbers. */
char *remote_command(const char *script, char *const *words);

#endif
