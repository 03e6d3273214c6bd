/* What has ended, as spans of OpenTelemetry: OTLP 1.0 in its JSON form, for POST /v1/traces. A
 * workflow is a trace. The workflow, its phases and their runs are spans below each other, and the
 * members of a matrix are below the matrix. A run has a link to the run before it.
 *
 * The ids follow from the home, the workflow and the time of its submission. If a span is sent
 * twice, it has the same ids twice. */
#ifndef PHASED_CLI_SPANS_H
#define PHASED_CLI_SPANS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct spans_source {
    const char *home;       /* its path */
    const json_t *workflow; /* WORKFLOW with its phases */
    const json_t *runs;     /* [RUN] of the workflow */
    const json_t *events;   /* [EVENT]: the whole history of the workflow, read before the others */
};

/* Whether the event may end a run, a phase or a workflow. */
bool spans_may_be_end(const json_t *event);

/* Adds to `spans` what ended by the events in `news`, a part of `source->events`. Leaves out a
 * phase or workflow that has gone on since: its last end counts. Returns how many runs are left out
 * because they are not in the source. */
size_t spans_add(const struct spans_source *source, const json_t *news, json_t *spans);

/* The body of a request with these spans. The caller frees it. */
char *spans_body(const char *service, const char *home, json_t *spans);

#endif
