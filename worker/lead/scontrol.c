/* Starts scontrol and collects its output. */
#include "worker/lead/scontrol.h"

#include "lib/memory.h"
#include "lib/text.h"
#include "worker/process/child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A configuration, or the nodes of a partition, may have some ten thousand bytes. Output beyond
 * this size is read and dropped, because scontrol would block otherwise. */
enum { SCONTROL_OUTPUT_MAX = 1024 * 1024 };

struct scontrol {
    struct child *child;
    scontrol_done *done;
    void *context;
};

static void scontrol_ended(void *context, const struct child_end *end)
{
    struct scontrol *scontrol = context;
    scontrol->done(scontrol->context, end->signal ? -1 : end->code,
                   text_string(child_text(scontrol->child)));
    child_close(scontrol->child);
    free(scontrol);
}

void scontrol_start(uv_loop_t *loop, const struct scontrol_call *call, scontrol_done *done,
                    void *context)
{
    const struct child_stream captured = {.output = CHILD_TEXT, .size_max = SCONTROL_OUTPUT_MAX};
    char *arguments[SCONTROL_ARGUMENTS_MAX + 2] = {"scontrol"};
    struct scontrol *scontrol = xcalloc(1, sizeof *scontrol);
    for (unsigned i = 0; i < SCONTROL_ARGUMENTS_MAX && call->arguments[i]; i++)
        arguments[i + 1] = (char *)call->arguments[i];
    struct child_options options = {
        .loop = loop,
        .kind = CHILD_OF_LOOP,
        .program = "scontrol",
        .arguments = arguments,
        .deadline_ms = call->timeout_ms,
        .ended = scontrol_ended,
        .context = scontrol,
    };
    *(call->captured_fd == STDOUT_FILENO ? &options.out : &options.err) = captured;
    scontrol->done = done;
    scontrol->context = context;
    scontrol->child = child_try(&options);
}

void scontrol_word(const char *output, const char *name, char *word, size_t size)
{
    const char *found = strstr(output, name);
    found = found ? found + strlen(name) : "";
    if (!text_ends(name, "="))
        found += strspn(found, " =");
    (void)snprintf(word, size, "%.*s", (int)strcspn(found, " \n"), found); /* may be cut */
}
