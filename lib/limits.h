/* The process's resource limits in the form in which Slurm carries them to a job, so that a job
 * submitted through the daemon gets those of the shell where its workflow was submitted. */
#ifndef PHASED_LIB_LIMITS_H
#define PHASED_LIB_LIMITS_H

/* The soft limits, "NOFILE=1024" and so on, NULL-terminated; limits_free() frees them. */
char **limits_capture(void);
void limits_free(char **captured);

#endif
