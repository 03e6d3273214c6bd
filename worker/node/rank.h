/* Starting one rank: the phase's script under bash in a session of its own, its output in a pipe.
 */
#ifndef PHASED_WORKER_NODE_RANK_H
#define PHASED_WORKER_NODE_RANK_H

#include <stdbool.h>
#include <sys/types.h>

struct error;

struct rank_start {
    const char *script;  /* path of the file */
    const char *workdir; /* NULL: stay */
    char *const *environment;
    int umask;         /* -1: leave */
    bool ignores_term; /* Slurm's TERM to all processes must not end it: it is told otherwise */
};

/* Starts the process. `ret_output` is the reading end of its standard output and error, the
 * caller's to close. Fails, without a process, with the reason: no such folder, no bash. */
int rank_spawn(const struct rank_start *start, pid_t *ret_pid, int *ret_output, struct error *err);

#endif
