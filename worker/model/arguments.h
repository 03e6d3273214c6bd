/* Options of a command by a table. A row has the name, bounds, default and help of an option. The
 * reader and --help use the same table, so they cannot differ. */
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
    ARGUMENT_WORDS,  /* struct argument_words: all words that are no options; without a default */
};

struct argument_words {
    char **words; /* borrowed; the words of the command are moved there */
    size_t count;
};

/* One option. The last row has no name. A row of ARGUMENT_WORDS is named as its value. The bounds
 * are for numbers. */
struct argument {
    const char *name, *value_name;
    enum argument_kind kind;
    size_t offset; /* where the value goes in the struct of the command */
    double lowest, highest;
    const char *initial; /* the default; NULL: the struct is not changed */
    const char *help;
};

enum arguments_wish { ARGUMENTS_HELP = 1 };

/* Sets the defaults of the table, and then the values of the words. Returns ARGUMENTS_HELP if the
 * words ask for help, -EINVAL if the form is wrong (an unknown option, a missing value), -ERANGE if
 * a value is wrong. */
int arguments_read(const struct argument *table, void *values, int count, char **words,
                   struct error *err);

/* Prints one line for each option. */
void arguments_print(const struct argument *table, FILE *stream);

#endif
