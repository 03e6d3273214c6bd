/* The YAML of an imported script: scalars, comments, and the text under `run:`. */
#ifndef PHASED_LIB_SBATCH_WRITE_H
#define PHASED_LIB_SBATCH_WRITE_H

#include <stdbool.h>

struct sbatch_arguments;
struct sbatch_array;
struct sbatch_script;
struct sbatch_shape;
struct sbatch_signal;
struct text;

/* Writes a value: plain if YAML reads the value as that text, otherwise quoted. Each $ is doubled,
 * because workflow files expand references and sbatch does not. */
void write_unexpanded(struct text *text, const char *value);

/* Writes the words of a comment, without control characters. */
void write_comment(struct text *text, const char *words);

/* Writes several lines as a block under a key of a phase. */
void write_block(struct text *text, const struct text *lines);

/* What becomes `run` of a phase. All members are borrowed. */
struct write_parts {
    const struct sbatch_script *script;
    const struct sbatch_shape *shape;
    const struct sbatch_array *array;
    const struct sbatch_signal *signal;
    const struct sbatch_arguments *arguments; /* NULL: no arguments */
    const char *phase;                        /* its name */
};

/* Writes the text of `run`: the script, started as sbatch starts it. If the lines of the script
 * keep their numbers, everything before the script is in the first line. */
void write_run(struct text *run, const struct write_parts *parts);

/* Whether `run` itself changes to the folder of --chdir. It does so for a relative folder, and if
 * the script asks for the folder in which it was submitted. */
bool write_changes_folder(const struct sbatch_script *script);

#endif
