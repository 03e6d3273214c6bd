/* Queues a file for `rehearse`. */
#ifndef PHASED_CLI_SUBMIT_H
#define PHASED_CLI_SUBMIT_H

struct address;
struct cli;
struct option_arguments;
struct source_words;

/* Queues a rehearsal of `steps` steps (lib/spec/rehearsal.h) as `submit` queues a workflow. Prints
 * errors. Prints the number of the workflow, unless --json is given. Returns the exit code. On
 * CLI_OK, `ret_address` is the workflow. */
int submit_rehearsal(struct cli *cli, const struct option_arguments *file,
                     const struct source_words *given, unsigned steps, struct address *ret_address);

#endif
