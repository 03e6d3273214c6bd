/* The signal of --signal, which a script gets some time before its time limit. */
#ifndef PHASED_LIB_SBATCH_SIGNAL_H
#define PHASED_LIB_SBATCH_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

struct sbatch_script;
struct text;

struct sbatch_signal {
    const char *name; /* without SIG; NULL: no signal */
    uint32_t seconds; /* before the limit */
    bool to_shell;    /* B: the batch shell gets it; otherwise the job steps of the script */
};

/* Reads the option. A value that sbatch does not take becomes a problem of the option. */
void sbatch_signal_read(const struct sbatch_script *script, struct sbatch_signal *ret_signal);

/* Adds the lines of `run` that start a process beside the script. The process asks Slurm for the
 * limit, which somebody may change, and sends the signal. */
void sbatch_signal_write_run(const struct sbatch_signal *signal, struct text *run);

#endif
