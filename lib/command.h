/* Runs another program and keeps what it prints. */
#ifndef PHASED_LIB_COMMAND_H
#define PHASED_LIB_COMMAND_H

#include "lib/text.h"

#include <stdbool.h>
#include <sys/types.h>

struct error;

enum { COMMAND_FILES = 3 };

struct command_result {
    int exit_code; /* -1: a signal ended the program */
    struct text out, err;
};

/* Starts `words`, which end with NULL. SIGPIPE ends the program, and no signal is blocked. `files`
 * become its standard input, output and error; -1: the file of this program. A program in a process
 * group of its own can be killed with its children; programs in one group get Ctrl-C together.
 * Returns -ENOENT if there is no such program. */
int command_start(const char *const *words, const int files[COMMAND_FILES], bool has_own_group,
                  pid_t *ret_pid, struct error *err);

/* Runs `words`, which end with NULL, with `input` (NULL: nothing) as standard input. Returns
 * -ENOENT if there is no such program. Kills the program and returns -ETIMEDOUT if it does not end
 * within `seconds`, or -EFBIG if it has printed more than 64 MiB. The caller calls command_fini()
 * after success. */
int command_run(const char *const *words, const char *input, unsigned seconds,
                struct command_result *ret_result, struct error *err);

/* The same for a program that is asked something: it gets no input, and a failure of the program is
 * an error, too. -EIO: its exit code is not 0, and `err` has its complaint. */
int command_ask(const char *const *words, unsigned seconds, struct command_result *ret_result,
                struct error *err);

void command_fini(struct command_result *result);

/* The first line of what the program wrote to standard error, without the line end. The caller
 * frees it. */
char *command_complaint(const struct command_result *result);

#endif
