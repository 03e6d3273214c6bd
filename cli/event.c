/* Events for people. */
#include "cli/event.h"

#include "cli/field.h"
#include "cli/format.h"
#include "cli/terminal.h"
#include "cli/view.h"
#include "lib/text.h"

#include <stdint.h>
#include <string.h>
#include <time.h>

enum { EVENT_PHASE_COLUMNS = 12 };

/* What happened: `run pending -> running: on n1`. */
static void event_write_change(const struct terminal *terminal, const json_t *event,
                               struct text *text)
{
    const char *type = field_text(event, "type"), *from = field_text(event, "from");
    const char *to = field_text(event, "to"), *message = field_text(event, "message");
    struct text safe = {0};
    terminal_add_cut(&safe, message, SIZE_MAX);
    if (strcmp(type, "phase") != 0)
        text_addf(text, "%s%s", type, to[0] ? " " : "");
    if (from[0] && to[0])
        text_addf(text, "%s -> ", from);
    terminal_colour(terminal, text, view_colour(to), to);
    if (safe.size)
        text_addf(text, ": %s", text_string(&safe));
    text_fini(&safe);
}

void event_write(const struct terminal *terminal, const json_t *event, struct text *text)
{
    char time_text[FORMAT_SIZE];
    const char *phase = field_text(event, "phase");
    text_addf(text, "%s  %-*s  ", format_time(field_number(event, "time"), time(NULL), time_text),
              EVENT_PHASE_COLUMNS, phase[0] ? phase : "workflow");
    event_write_change(terminal, event, text);
    text_add(text, "\n");
}
