/* Options of a command line, read by a table of rules. What is read and what `--help` prints come
 * from the same table, so the two cannot differ.
 *
 * A rule points to where its value goes, and that pointer says what kind of option it is. Options
 * may stand anywhere among the arguments; `--` ends them. `--help` and `-h` are always there. All
 * texts are borrowed from the words. */
#ifndef PHASED_LIB_OPTION_H
#define PHASED_LIB_OPTION_H

#include <stdbool.h>
#include <stddef.h>

struct error;

enum { OPTION_LIST_MAX = 256, OPTION_ARGUMENTS_MAX = 100 };

struct option_list {
    const char *items[OPTION_LIST_MAX];
    size_t count;
};

/* Exactly one of the four pointers is set. A table ends with a rule that has no name. */
struct option_rule {
    const char *name;  /* without the dashes */
    char letter;       /* of the short form; 0: none */
    const char *value; /* what the help calls the value; NULL for flags */
    const char *help;
    bool *flag;
    const char **text;
    struct option_list *list; /* may be given several times */
    unsigned *number;
    bool takes_zero; /* the number may be 0 */
    unsigned most;   /* the largest number; 0: no limit */
};

struct option_arguments {
    size_t min, max; /* how many there may be: set by the caller */
    bool has_rest;   /* set by the caller: the words after `--` go to `rest` */
    bool last_wins;  /* set by the caller: a value may be given again; else that is wrong */
    char **rest;     /* ends with NULL; NULL: there was no `--` */
    const char *items[OPTION_ARGUMENTS_MAX];
    size_t count;
};

enum { OPTION_HELP = 1 };

/* Reads `words`, which end with NULL. Returns 0; OPTION_HELP when the words ask for help; -EINVAL
 * when a word is wrong; -ENODATA when there are too few arguments. */
int option_read(char **words, const struct option_rule *rules, struct option_arguments *arguments,
                struct error *err);

/* Prints a line for each option to standard output. */
void option_print(const struct option_rule *rules);

/* Reads the words of a program that takes options only; the last value of an option wins, so that a
 * script can override its own. Prints `usage` and the options when the
 * words ask for help; prints what is wrong to standard error, after the `name` of the program.
 * Returns -1 when the program can go on, otherwise the status to exit with: 0 or 2. */
int option_main(const char *name, const char *usage, char **words, const struct option_rule *rules);

#endif
