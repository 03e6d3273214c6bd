/* One sbatch script: what its #SBATCH lines say, as sbatch reads them, and the rest of it.
 *
 * sbatch takes the lines before the first command that begin with `#SBATCH`; words are parted by
 * blanks, may be quoted, and end at a `#`. What is said twice is said by the last. Variables are
 * not expanded there. */
#ifndef PHASED_LIB_SBATCH_SCRIPT_H
#define PHASED_LIB_SBATCH_SCRIPT_H

#include "lib/sbatch/option.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stddef.h>

struct spec_problems;

struct sbatch_given {
    char *value; /* NULL: not given; empty: given without one */
    unsigned line, column;
    const char *variable; /* of the environment that said so; NULL: a line did */
};

struct sbatch_script {
    const char *file;  /* borrowed */
    char *interpreter; /* the first line after `#!` */
    bool keeps_lines;  /* set before: the lines of `body` have their places in the file */
    struct text body;  /* the other lines but #SBATCH ones (empty where they keep their place), each
                        * ended by one '\n' */
    unsigned lines_left_out; /* of the file, before the first command of `body` */
    struct sbatch_given given[SBATCH_OPTIONS_MAX]; /* in the order of sbatch_options */
    struct spec_problems *problems;                /* borrowed */
};

/* Whether a file is meant as a script and not as a workflow: it begins with `#!`, be it after a
 * mark of byte order, or has #SBATCH lines, and no `phases:`. It may be a bad one. */
bool sbatch_is_script(const char *data, size_t size);

/* Reads the script, which is zero-initialised but for `keeps_lines`; what is wrong with it goes to
 * `problems`. */
void sbatch_script_read(struct sbatch_script *script, const char *file, const char *data,
                        size_t size, struct spec_problems *problems);
/* Replaces what was said of the option; takes over the value. */
void sbatch_give(struct sbatch_script *script, const struct sbatch_option *option,
                 const struct sbatch_given *given);
void sbatch_script_fini(struct sbatch_script *script);

/* What was given for the option of this name, which is in the table; its value is NULL if nothing
 * was. */
const struct sbatch_given *sbatch_given(const struct sbatch_script *script, const char *name);

/* Adds a problem at the place where the option was given, or of the variable that gave it. */
void sbatch_refuse(const struct sbatch_script *script, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void sbatch_warn(const struct sbatch_script *script, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
