/* One sbatch script: its #SBATCH lines, read as sbatch reads them, and the rest of the script.
 *
 * sbatch reads the lines that begin with `#SBATCH` before the first command. Words are separated by
 * blanks, may be quoted, and end at a `#`. If an option is given twice, the last one counts.
 * Variables are not expanded. */
#ifndef PHASED_LIB_SBATCH_SCRIPT_H
#define PHASED_LIB_SBATCH_SCRIPT_H

#include "lib/sbatch/option.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stddef.h>

struct sbatch_arguments;
struct spec_problems;

struct sbatch_given {
    char *value; /* NULL: the option was not given; empty: it has no value */
    unsigned line, column;
    char *variable; /* what gave the option if no line did: an environment variable, or a word such
                     * as `--nodes`; NULL: a line did */
};

struct sbatch_script {
    const char *file;  /* borrowed */
    char *interpreter; /* the first line after `#!` */
    bool keeps_lines;  /* set by the caller: lines of `body` keep their line numbers */
    struct text body;  /* all lines except #SBATCH lines, each ended by one '\n'; with `keeps_lines`
                        * a #SBATCH line becomes an empty line */
    unsigned lines_left_out; /* lines of the file that are missing before the first command of
                              * `body` */
    struct sbatch_given given[SBATCH_OPTIONS_MAX]; /* in the order of sbatch_options */
    struct spec_problems *problems;                /* borrowed */
};

/* Whether a file is a script and not a workflow: it begins with `#!`, with or without a byte order
 * mark, or it has #SBATCH lines and no `phases:`. The script may still have errors. */
bool sbatch_is_script(const char *data, size_t size);

/* Reads the script. `script` must be zero-initialised, except `keeps_lines`. Errors go to
 * `problems`. */
void sbatch_script_read(struct sbatch_script *script, const char *file, const char *data,
                        size_t size, struct spec_problems *problems);
/* Applies the variables in `environment` (`NAME=value`, ended by NULL), which override the options
 * of the script. */
void sbatch_variables_read(struct sbatch_script *script, char *const *environment);
/* Applies words such as `--nodes 2`, which override the lines and the variables. A word that is not
 * an option or its value is an error. */
void sbatch_words_read(struct sbatch_script *script, const struct sbatch_arguments *words);
void sbatch_script_fini(struct sbatch_script *script);

/* Returns what was given for the option of this name, which must be in the table. Its value is NULL
 * if the option was not given. */
const struct sbatch_given *sbatch_given(const struct sbatch_script *script, const char *name);

/* Adds a problem at the line that gave the option, or for the variable that gave it. */
void sbatch_refuse(const struct sbatch_script *script, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void sbatch_warn(const struct sbatch_script *script, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
