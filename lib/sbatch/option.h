/* The options of sbatch from 22.05 to 26.05, with the letters of earlier releases, and what becomes
 * of each option in a workflow. This is the only list of them. doc/sbatch.md shows it, and
 * tests/unit/test_sbatch_options.c compares the two. */
#ifndef PHASED_LIB_SBATCH_OPTION_H
#define PHASED_LIB_SBATCH_OPTION_H

#include <stddef.h>

enum sbatch_value {
    SBATCH_NONE,     /* has no value: --hold */
    SBATCH_NEEDED,   /* needs a value: --nodes=2, --nodes 2, -N2, -N 2 */
    SBATCH_OPTIONAL, /* may have a value: --exclusive, --exclusive=user; after a letter only without
                      * a blank */
};

enum sbatch_fate {
    SBATCH_SHAPE,   /* nodes, tasks, CPUs and GPUs: sbatch_shape_read() */
    SBATCH_OWN,     /* becomes a key of the phase; import.c has one place for each */
    SBATCH_SLURM,   /* stays an option of Slurm, under `slurm:` */
    SBATCH_STEP,    /* goes to srun inside the script by the variable `detail` */
    SBATCH_DROPPED, /* phased does so anyway, or the option means nothing here; `detail` */
    SBATCH_WARNED,  /* left out; `detail` says why */
    SBATCH_REFUSED, /* is an error; `detail` says why */
};

struct sbatch_option {
    const char *name;
    char letter; /* 0: none */
    enum sbatch_value value;
    enum sbatch_fate fate;
    const char *variable; /* the variable that sets the option and overrides the script; or NULL */
    const char *detail;
};

enum { SBATCH_OPTIONS_MAX = 128 };

extern const struct sbatch_option sbatch_options[];
extern const size_t sbatch_option_count;

/* Returns the option of this name, or the only option whose name begins with it. NULL: there is no
 * such option; `ret_nearest` is the nearest name or NULL. */
const struct sbatch_option *sbatch_option_find(const char *name, const char **ret_nearest);
const struct sbatch_option *sbatch_option_of_letter(char letter);

#endif
