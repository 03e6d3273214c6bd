/* The words of a verb: options by a table of rules, and arguments. Each rule's target says what
 * kind of option it is. Options may stand anywhere; `--` ends them. */
#ifndef PHASED_CLI_OPTIONS_H
#define PHASED_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct cli;

enum { OPTIONS_LIST_MAX = 256, OPTIONS_ARGUMENTS_MAX = 100 };

struct option_list {
    const char *items[OPTIONS_LIST_MAX];
    size_t count;
};

/* Exactly one target is set. A table of rules ends with one without a name. */
struct option_rule {
    const char *name;  /* without the dashes */
    char letter;       /* of the short form; 0: none */
    const char *value; /* what to call the value in the help; flags have none */
    const char *help;
    bool *flag;
    const char **text;
    unsigned *number; /* from 1 */
    struct option_list *list;
};

struct arguments {
    size_t min, max; /* how many there may be: set before */
    bool has_rest;   /* set before: the words behind `--` are no arguments but `rest` */
    char **rest;     /* ends with NULL; NULL: there was no `--` */
    const char *items[OPTIONS_ARGUMENTS_MAX];
    size_t count;
};

/* Reads `words` of `cli->verb`. Returns true when the verb can go on; otherwise help or an error
 * has been printed, and `ret_status` is the status to exit with. Values are borrowed from `words`.
 */
bool options_parse(const struct cli *cli, char **words, const struct option_rule *rules,
                   struct arguments *arguments, int *ret_status);

struct address;

/* Calls `one` for each argument, which is an address, in their order; when one of them is none, for
 * none of them. Returns the first status that is not CLI_OK. */
int options_each_address(struct cli *cli, const struct arguments *arguments,
                         int (*one)(struct cli *cli, const struct address *address,
                                    const void *context),
                         const void *context);

/* What changes a file that is read: its params, and its variants. Elements of a table of rules. */
struct option_rule options_set_rule(struct option_list *sets);
struct option_rule options_with_rule(struct option_list *variants);

/* The texts as a new array, the caller's. */
json_t *options_texts(const struct option_list *list);

/* `PARAM=VALUE` each, as a new object; the last one of a param wins. NULL: one is not of this form,
 * *ret_wrong. */
json_t *options_overrides(const struct option_list *list, const char **ret_wrong);

#endif
