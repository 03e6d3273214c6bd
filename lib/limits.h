/* The resource limits of the process, in the form in which Slurm carries them to a job. So a job of
 * the daemon has the limits of the shell in which its workflow was submitted. */
#ifndef PHASED_LIB_LIMITS_H
#define PHASED_LIB_LIMITS_H

/* Returns the soft limits, such as "NOFILE=1024"; NULL-terminated. limits_free() frees them. */
char **limits_capture(void);
void limits_free(char **captured);

#endif
