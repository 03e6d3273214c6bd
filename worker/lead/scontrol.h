/* Runs scontrol once, in the background and with a deadline, because Slurm itself may be down. */
#ifndef PHASED_WORKER_LEAD_SCONTROL_H
#define PHASED_WORKER_LEAD_SCONTROL_H

#include <stddef.h>
#include <uv.h>

enum { SCONTROL_ARGUMENTS_MAX = 6 };

struct scontrol_call {
    const char *arguments[SCONTROL_ARGUMENTS_MAX]; /* after the program's name, ended by NULL */
    int captured_fd;                               /* STDOUT_FILENO or STDERR_FILENO */
    int timeout_ms;
};

/* `code` is the exit code. It is -1 if scontrol could not be started, did not end in time or was
 * killed. `output` is the output, borrowed. */
typedef void scontrol_done(void *context, int code, const char *output);

/* `done` is always called, later. `call` may be dropped when this returns. */
void scontrol_start(uv_loop_t *loop, const struct scontrol_call *call, scontrol_done *done,
                    void *context);

/* Copies the word after "Name=" in "Name=word", or after "Name " in "Name    = word". A word that
 * is too long is cut. Without the name, the word is empty. */
void scontrol_word(const char *output, const char *name, char *word, size_t size);

#endif
