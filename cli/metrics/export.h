/* The metrics of runs as files of other programs. */
#ifndef PHASED_CLI_METRICS_EXPORT_H
#define PHASED_CLI_METRICS_EXPORT_H

#include <stdbool.h>

struct cli;
struct option_arguments;
struct option_list;

struct export_options {
    const struct option_list *names; /* none: all metrics */
    const char *tensorboard;         /* a folder; NULL: not wanted */
    const char *trackio;             /* a file; NULL: not wanted */
    bool follows;                    /* until the addresses are over */
};

/* Writes the curves of the addresses. Returns the exit code. */
int export_write(struct cli *cli, const struct option_arguments *addresses,
                 const struct export_options *options);

#endif
