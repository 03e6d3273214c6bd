/* Options of a command by a table, which holds every option's name, bounds, default and help, so
 * that what is read and what --help prints cannot differ. */
#ifndef PHASED_WORKER_MODEL_ARGUMENTS_H
#define PHASED_WORKER_MODEL_ARGUMENTS_H

#include <stddef.h>
#include <stdio.h>

struct error;

enum { ARGUMENTS_MAX = 64 }; /* rows of a table */

enum argument_kind {
    ARGUMENT_TEXT,   /* const char *, borrowed from the words */
    ARGUMENT_WHOLE,  /* uint64_t */
    ARGUMENT_NUMBER, /* double */
};

/* One row; the last one's name is NULL. The bounds are those of numbers. */
struct argument {
    const char *name, *value_name;
    enum argument_kind kind;
    size_t offset; /* of the value in the command's struct */
    double lowest, highest;
    const char *initial; /* or NULL: the struct is left alone */
    const char *help;
};

enum arguments_wish { ARGUMENTS_HELP = 1 };

/* Sets the values that the table begins with, then those of the words. Returns ARGUMENTS_HELP where
 * help is wanted; -EINVAL where the form is wrong (an unknown option, a missing value), -ERANGE
 * where a value is. */
int arguments_read(const struct argument *table, void *values, int count, char **words,
                   struct error *err);

/* One line an option. */
void arguments_print(const struct argument *table, FILE *stream);

#endif
