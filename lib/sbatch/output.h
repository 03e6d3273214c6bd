/* The files of --output and --error, which a script writes beside phased's own logs. */
#ifndef PHASED_LIB_SBATCH_OUTPUT_H
#define PHASED_LIB_SBATCH_OUTPUT_H

#include <stdbool.h>

struct sbatch_script;
struct text;

/* Adds the lines of `run` that copy what the script prints into these files.
 *
 * The first run of a phase makes the file. Later runs append to the same file, also if their job
 * has another number: the name of such a run becomes a link to the file. If a file cannot be made,
 * a warning says so, and the run goes on without the file. */
void sbatch_output_write_run(const struct sbatch_script *script, bool is_array, struct text *run);

/* Adds the name of a file as a word of bash, with what sbatch puts in place of %j and so on. */
void sbatch_output_add_name(struct text *word, const char *pattern, bool is_array);

#endif
