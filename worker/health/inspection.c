/* Starts `phase-worker inspect`, and reads its report. */
#include "worker/health/inspection.h"

#include "lib/memory.h"
#include "lib/text.h"
#include "worker/process/child.h"

#include <stdio.h>
#include <stdlib.h>

enum { INSPECTION_SIZE_MAX = 128 * 1024, INSPECTION_PID_SIZE = 16 };

struct inspection {
    struct inspection_options options;
    struct child *child;
};

static void inspection_ended(void *context, const struct child_end *end)
{
    struct inspection *inspection = context;
    const struct text *text = child_text(inspection->child);
    json_t *report = json_loadb(text_string(text), text->size, 0, NULL);
    (void)end; /* the output of a late program is not whole, so it is not JSON */
    if (!json_is_object(report)) {
        json_decref(report);
        report = NULL;
    }
    inspection->options.done(inspection->options.context, report);
    inspection_cancel(inspection);
}

struct inspection *inspection_start(const struct inspection_options *options, const pid_t *pids,
                                    size_t count)
{
    static char program[] = "phase-worker", verb[] = "inspect";
    char numbers[INSPECTION_PIDS_MAX][INSPECTION_PID_SIZE];
    char *argv[INSPECTION_PIDS_MAX + 3] = {program, verb};
    struct inspection *inspection = xcalloc(1, sizeof *inspection);
    count = count < INSPECTION_PIDS_MAX ? count : INSPECTION_PIDS_MAX;
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(numbers[i], sizeof numbers[i], "%d", (int)pids[i]); /* fits */
        argv[2 + i] = numbers[i];
    }
    /* The program gets no output of the agent, because srun waits for all holders of its pipes. */
    const struct child_options child = {
        .loop = options->loop,
        .kind = CHILD_OF_NOBODY,
        .program = options->program,
        .arguments = argv,
        .environment = options->environment,
        .out = {.output = CHILD_TEXT, .size_max = INSPECTION_SIZE_MAX},
        .deadline_ms = INSPECTION_DEADLINE_MS,
        .ended = inspection_ended,
        .context = inspection,
    };
    inspection->options = *options;
    inspection->child = child_try(&child);
    return inspection;
}

void inspection_cancel(struct inspection *inspection)
{
    if (!inspection)
        return;
    child_close(inspection->child);
    free(inspection);
}
