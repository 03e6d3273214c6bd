/* The options of phase-preflight, and what it takes from the environment. */
#ifndef PHASED_WORKER_PREFLIGHT_OPTIONS_H
#define PHASED_WORKER_PREFLIGHT_OPTIONS_H

#include "worker/preflight/rows.h"

#include <stdbool.h>

enum { OPTIONS_EXIT_USAGE = 2 };

struct options {
    struct row_wish wish;
    const char *scratch, *kernel_log;
    const char *thresholds; /* NULL: the installed file */
    unsigned deadline_ms;
    bool is_json, is_observed, is_gres;
    bool is_full;
    /* Only for the full level. */
    const char *parallel, *groups; /* at most one; NULL: all GPUs are one group */
    unsigned nodes, node;
    const char *rendezvous, *record, *baseline; /* NULL: not given */
};

/* Fills `options`. Returns -1 if the program can go on. Otherwise it has printed the help, the
 * version or an error; returns the exit code. */
int options_read(struct options *options, char **words);

#endif
