/* Queueing a file for a verb that does more than `submit`. */
#ifndef PHASED_CLI_SUBMIT_H
#define PHASED_CLI_SUBMIT_H

struct address;
struct option_arguments;
struct cli;
struct option_list;

/* Queues a rehearsal of so many steps (lib/spec/rehearsal.h) of the one file, as `submit` queues
 * it; what is wrong is printed. Returns the status to exit with, and on CLI_OK the workflow. */
int submit_rehearsal(struct cli *cli, const struct option_arguments *file,
                     const struct option_list *sets, const struct option_list *variants,
                     unsigned steps, struct address *ret_address);

#endif
