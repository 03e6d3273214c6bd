/* Options of a command line, read by a table of rules. `--help` prints the same table, so the two
 * cannot differ.
 *
 * The pointer in a rule says where the value goes, and its type is the type of the option. Options
 * may come anywhere among the arguments. `--` ends them. `--help` and `-h` always exist. All texts
 * are borrowed from the words. */
#ifndef PHASED_LIB_OPTION_H
#define PHASED_LIB_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum { OPTION_LIST_MAX = 256, OPTION_ARGUMENTS_MAX = 100 };

struct option_list {
    const char *items[OPTION_LIST_MAX];
    size_t count;
};

/* Exactly one of the seven pointers is set. A table ends with a rule that has no name. */
struct option_rule {
    const char *name;  /* without the dashes */
    char letter;       /* of the short form; 0: none */
    const char *value; /* what the help calls the value; NULL for flags */
    const char *help;
    bool *flag;
    const char **text;
    struct option_list *list; /* may be given several times */
    unsigned *number;         /* whole numbers, as the next two */
    uint64_t *large;
    int64_t *integer; /* may be negative, if `least` is */
    double *decimal;
    double least, most;  /* the smallest and the largest number; most 0: what `number` can hold */
    const char *initial; /* the default; NULL: what the pointer points to is not changed */
    bool is_required;    /* the text must not be empty */
};

struct option_arguments {
    size_t min, max; /* set by the caller: limits on the number of arguments */
    bool has_rest;   /* set by the caller: the words after `--` go to `rest` */
    bool last_wins;  /* set by the caller: an option may be given again; otherwise that is an
                      * error */
    char **rest;     /* ends with NULL; NULL: there was no `--` */
    char **items;    /* the first `count` words: the arguments are moved there */
    size_t count;
};

enum { OPTION_HELP = 1 };

/* Sets the defaults, and then reads `words`, which end with NULL. Returns 0; OPTION_HELP if the
 * words ask for help; -EINVAL if a word is wrong; -ENODATA if there are too few arguments. */
int option_read(char **words, const struct option_rule *rules, struct option_arguments *arguments,
                struct error *err);

/* Prints a line for each option to standard output. */
void option_print(const struct option_rule *rules);

/* Prints the error to standard error, after the `name` of the program. Returns the exit code 2.
 */
int option_refuse(const char *name, const struct error *err);

/* Reads the words of a program. The last value of an option wins, so that a script can override its
 * own options. If the words ask for help, prints `usage` and the options. If a word is wrong,
 * refuses it. `arguments` may be NULL: the program takes options only. Returns -1 if the program
 * can go on, otherwise the exit code: 0 or 2. */
int option_main(const char *name, const char *usage, char **words, const struct option_rule *rules,
                struct option_arguments *arguments);

#endif
