/* The words of a verb: its options and arguments, and what several verbs do with them. */
#ifndef PHASED_CLI_OPTIONS_H
#define PHASED_CLI_OPTIONS_H

#include "lib/option.h"

#include <stdbool.h>
#include <time.h>

struct address;
struct cli;
struct error;

/* Reads `words` of `cli->verb`. Returns true when the verb can go on. Otherwise prints the help or
 * what is wrong, and sets `ret_exit_code`. */
bool options_parse(const struct cli *cli, char **words, const struct option_rule *rules,
                   struct option_arguments *arguments, int *ret_exit_code);

typedef int options_one(struct cli *cli, const struct address *address, const void *context);

/* Calls `one` for each argument in order. The arguments are addresses; if one is not, `one` is
 * never called. If there are no arguments, calls `one` for workflow 0. Returns the first exit code
 * that is not CLI_OK. */
int options_each_address(struct cli *cli, const struct option_arguments *arguments,
                         options_one *one, const void *context);

/* Reads `words`, which are options and at least `min` addresses, and calls `one` in the same way.
 * `rules` may be NULL: the verb has no option but --json. Returns the exit code. */
int options_addresses(struct cli *cli, char **words, const struct option_rule *rules, size_t min,
                      options_one *one, const void *context);

/* Reads the text of `--since`: a duration until `now` (10m), or a time by the local clock (14:05,
 * 2026-11-01, 2026-11-01 14:05:30), or as logs write it (2026-11-01T12:00:00Z). A time of day
 * means the last such time before `now`. */
int options_read_since(const char *text, time_t now, time_t *ret_since, struct error *err);

#endif
