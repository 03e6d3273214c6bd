/* The options of sbatch (22.05, and the letters of before), and what becomes of each in a
 * workflow. The only list of them. */
#ifndef PHASED_LIB_SBATCH_OPTION_H
#define PHASED_LIB_SBATCH_OPTION_H

#include <stddef.h>

enum sbatch_value {
    SBATCH_NONE,     /* --hold */
    SBATCH_NEEDED,   /* --nodes=2, --nodes 2, -N2, -N 2 */
    SBATCH_OPTIONAL, /* --exclusive, --exclusive=user; after a letter only if joined to it */
};

enum sbatch_fate {
    SBATCH_SHAPE,   /* nodes, tasks, CPUs and GPUs: sbatch_shape_read() */
    SBATCH_OWN,     /* a key of the phase: import.c has one place for each */
    SBATCH_SLURM,   /* stays an option of Slurm, under `slurm:` */
    SBATCH_STEP,    /* for srun inside the script: the variable `detail` */
    SBATCH_DROPPED, /* phased does so anyway, or it means nothing here */
    SBATCH_WARNED,  /* left out; `detail` says why */
    SBATCH_REFUSED, /* `detail` says why */
};

struct sbatch_option {
    const char *name;
    char letter; /* 0: none */
    enum sbatch_value value;
    enum sbatch_fate fate;
    const char *detail;
};

enum { SBATCH_OPTIONS_MAX = 128 };

extern const struct sbatch_option sbatch_options[];
extern const size_t sbatch_option_count;

/* The option called `name`, or the only one whose name begins so; NULL when there is none, with
 * the nearest name (or NULL) in `ret_nearest`. */
const struct sbatch_option *sbatch_option_find(const char *name, const char **ret_nearest);
const struct sbatch_option *sbatch_option_of_letter(char letter);

#endif
