/* Translates --array of a script into the members of a matrix. */
#ifndef PHASED_LIB_SBATCH_ARRAY_H
#define PHASED_LIB_SBATCH_ARRAY_H

#include <stddef.h>
#include <stdint.h>

struct sbatch_script;
struct text;

struct sbatch_array {
    uint32_t *tasks; /* the indices in ascending order, each once; NULL: there is no array */
    size_t count;
    uint32_t lanes; /* how many tasks run at the same time; 0: no limit */
};

/* Reads the option: `0-15`, `1,3,5-7`, `0-30:10`, each also with `%4`. A value that sbatch does not
 * take, or more tasks than a matrix can have, becomes a problem of the option. */
void sbatch_array_read(const struct sbatch_script *script, struct sbatch_array *ret_array);
void sbatch_array_fini(struct sbatch_array *array);

/* Adds the keys of the phase. The index of a task is a param, because a name that begins with
 * SLURM_ is reserved. */
void sbatch_array_write_keys(const struct sbatch_array *array, struct text *spec);

/* Adds the lines of `run` that set the variables of a task. The first task that runs gives the
 * array the number of its job, and the other tasks of `phase` and later runs read this number. */
void sbatch_array_write_run(const struct sbatch_array *array, const char *phase, struct text *run);

#endif
