/* Asking a witness. */
#include "worker/health/testimony.h"

#include "lib/memory.h"
#include "lib/text.h"
#include "worker/process/child.h"

#include <stdio.h>
#include <stdlib.h>

enum { TESTIMONY_SIZE_MAX = 128 * 1024, TESTIMONY_PID_SIZE = 16 };

struct testimony {
    struct testimony_options options;
    struct child *child;
};

static void testimony_ended(void *context, const struct child_end *end)
{
    struct testimony *testimony = context;
    const struct text *text = child_text(testimony->child);
    json_t *report = json_loadb(text_string(text), text->size, 0, NULL);
    (void)end; /* of a witness that is late, what it has printed is not whole */
    if (!json_is_object(report)) {
        json_decref(report);
        report = NULL;
    }
    testimony->options.done(testimony->options.context, report);
    testimony_cancel(testimony);
}

struct testimony *testimony_ask(const struct testimony_options *options, const pid_t *pids,
                                size_t count)
{
    static char program[] = "phase-worker", verb[] = "witness";
    char numbers[TESTIMONY_PIDS_MAX][TESTIMONY_PID_SIZE];
    char *argv[TESTIMONY_PIDS_MAX + 3] = {program, verb};
    struct testimony *testimony = xcalloc(1, sizeof *testimony);
    count = count < TESTIMONY_PIDS_MAX ? count : TESTIMONY_PIDS_MAX;
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(numbers[i], sizeof numbers[i], "%d", (int)pids[i]); /* fits */
        argv[2 + i] = numbers[i];
    }
    /* Nothing else goes to the agent's own outputs: srun waits for whoever holds its pipes. */
    const struct child_options child = {
        .loop = options->loop,
        .kind = CHILD_OF_NOBODY,
        .program = options->program,
        .arguments = argv,
        .environment = options->environment,
        .out = {.output = CHILD_TEXT, .size_max = TESTIMONY_SIZE_MAX},
        .deadline_ms = TESTIMONY_DEADLINE_MS,
        .ended = testimony_ended,
        .context = testimony,
    };
    testimony->options = *options;
    testimony->child = child_try(&child);
    return testimony;
}

void testimony_cancel(struct testimony *testimony)
{
    if (!testimony)
        return;
    child_close(testimony->child);
    free(testimony);
}
