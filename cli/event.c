/* Events as lines for people. */
#include "cli/event.h"

#include "cli/field.h"
#include "cli/format.h"
#include "cli/terminal.h"
#include "cli/view.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EVENT_PHASE_COLUMNS = 12 };

/* Whether the line would only repeat another one. A run without a message moves its phase too, and
 * the phase has an event. */
static bool event_is_dull(const json_t *event)
{
    return strcmp(field_text(event, "type"), "run") == 0 && !field_text(event, "message")[0];
}

/* A gate has no state. Its message begins with the decision. */
static enum colour event_colour(const char *type, const char *message)
{
    if (strcmp(type, "gate") != 0)
        return COLOUR_PLAIN;
    return text_starts(message, "gate passed") ? COLOUR_GREEN : COLOUR_RED;
}

/* Shortens `step 50: /long/path` to the step. `status` shows the path of the newest checkpoint. */
static void event_cut_path(struct text *message)
{
    char *path = message->data ? strstr(message->data, ": /") : NULL;
    if (path) {
        *path = '\0';
        message->size = (size_t)(path - message->data);
    }
}

/* Adds what happened: `queued -> active`, `run ended: failed oom`, `checkpoint: step 50`. */
static void event_write_change(const struct terminal *terminal, const json_t *event,
                               struct text *text)
{
    const char *type = field_text(event, "type"), *from = field_text(event, "from");
    const char *to = field_text(event, "to"), *message = field_text(event, "message");
    bool is_phase = strcmp(type, "phase") == 0;
    struct text safe = {0};
    terminal_add_plain(&safe, message);
    if (strcmp(type, "checkpoint") == 0)
        event_cut_path(&safe);
    if (strcmp(type, "promotion") == 0)
        text_add(text, "promoted ");
    else if (!is_phase && !text_starts(message, type))
        text_addf(text, "%s%s", type, to[0] ? " " : ": ");
    if (is_phase && from[0] && to[0])
        text_addf(text, "%s -> ", from);
    terminal_colour(terminal, text, view_colour(to), to);
    if (safe.size && to[0])
        text_add(text, ": ");
    terminal_colour(terminal, text, event_colour(type, message), text_string(&safe));
    text_fini(&safe);
}

/* Adds the phase, or the workflow, in a column of its own. */
static void event_write_phase(const json_t *event, bool names_workflow, struct text *text)
{
    const char *phase = field_text(event, "phase");
    char *name = names_workflow ? text_format("%lld%s%s", field_integer(event, "workflow"),
                                              phase[0] ? "/" : "", phase)
                                : text_format("%s", phase[0] ? phase : "workflow");
    text_addf(text, "%-*s  ", EVENT_PHASE_COLUMNS, name);
    free(name);
}

void event_write(const struct terminal *terminal, const json_t *event, bool names_workflow,
                 const char *note, struct text *text)
{
    char time_text[FORMAT_SIZE];
    if (event_is_dull(event) && !note[0])
        return;
    text_addf(text, "%s  ", format_time(field_number(event, "time"), time(NULL), time_text));
    event_write_phase(event, names_workflow, text);
    event_write_change(terminal, event, text);
    text_addf(text, "%s%s\n", note[0] ? "; " : "", note);
}
