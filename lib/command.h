/* Runs another program and keeps what it prints. */
#ifndef PHASED_LIB_COMMAND_H
#define PHASED_LIB_COMMAND_H

#include "lib/text.h"

struct error;

struct command_result {
    int status; /* the exit code; -1: a signal ended it */
    struct text out, err;
};

/* Runs `words`, which end with NULL, with `input` (NULL: nothing) as standard input. Returns
 * -ENOENT if there is no such program. Kills the program and returns -ETIMEDOUT if it does not end
 * within `seconds`, or -EFBIG if it has printed more than 64 MiB. The caller calls command_fini()
 * after success. */
int command_run(const char *const *words, const char *input, unsigned seconds,
                struct command_result *ret_result, struct error *err);

void command_fini(struct command_result *result);

/* The first line of what the program wrote to standard error, without the line end; the caller's to
 * free(). */
char *command_complaint(const struct command_result *result);

#endif
