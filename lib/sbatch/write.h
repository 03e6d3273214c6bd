/* The YAML of an imported script: scalars, comments, and the text under `run:`. */
#ifndef PHASED_LIB_SBATCH_WRITE_H
#define PHASED_LIB_SBATCH_WRITE_H

#include <stdbool.h>

struct sbatch_arguments;
struct sbatch_script;
struct sbatch_shape;
struct text;

/* A value: plain where YAML takes it for nothing else, else quoted. */
void write_scalar(struct text *text, const char *value);

/* Words of a comment: control characters are left out. */
void write_comment(struct text *text, const char *words);

/* A text of several lines, under a key of a phase. */
void write_block(struct text *text, const struct text *lines);

/* What `run` is: the script, started as sbatch starts it, with these arguments (NULL: none). Where
 * the script's lines keep their places, all that stands before it is in the first line. */
void write_run(struct text *run, const struct sbatch_script *script,
               const struct sbatch_shape *shape, const struct sbatch_arguments *arguments);

/* Whether `run` goes to the folder of --chdir by itself: a relative one, or where the script asks
 * for the folder of before. */
bool write_changes_folder(const struct sbatch_script *script);

#endif
