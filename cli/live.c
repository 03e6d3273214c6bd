/* The bars of live phases. */
#include "cli/live.h"

#include "cli/field.h"
#include "cli/format.h"
#include "cli/members.h"
#include "cli/terminal.h"
#include "cli/view.h"
#include "cli/wait.h"
#include "lib/text.h"

#include <math.h>
#include <string.h>

enum { LIVE_PHASES_MAX = 10, LIVE_NAME_COLUMNS = 12, LIVE_STATE_COLUMNS = 9 };

/* Adds the line without colours. The caller cuts it to the width of the terminal. */
static void live_phase(const struct terminal *terminal, const json_t *phase, bool names_workflow,
                       double now, struct text *text)
{
    const json_t *run = json_object_get(phase, "run");
    double step = field_number(phase, "step"), total = field_number(phase, "total");
    double eta_s = field_number(phase, "eta_s");
    if (members_is_matrix(phase)) { /* the bar counts members */
        step = field_number(members_total(phase), "ended");
        total = field_number(phase, "members");
    }
    char bar[FORMAT_BAR_SIZE], eta[FORMAT_SIZE];
    text_addf(text, "%-*s  %-*s", LIVE_NAME_COLUMNS,
              field_text(phase, names_workflow ? "address" : "phase"), LIVE_STATE_COLUMNS,
              view_state(phase));
    if (!isnan(step) && !isnan(total))
        text_addf(text, "  %s",
                  format_bar(step, total, FORMAT_BAR_COLUMNS, terminal->unicode, bar));
    if (!isnan(step)) {
        text_add(text, "  ");
        view_progress(phase, text);
        text_add(text, "  ");
        view_metric(phase, text);
    }
    if (!isnan(eta_s))
        text_addf(text, "  %s left", format_duration(eta_s, eta));
    struct text wait = {0};
    if (wait_write(run, now, &wait))
        text_addf(text, "  %s", text_string(&wait));
    text_fini(&wait);
}

void live_write(const struct terminal *terminal, const json_t *workflows, double now,
                struct text *text)
{
    bool names_workflow = json_array_size(workflows) > 1;
    size_t shown = 0, hidden = 0, i, j;
    const json_t *workflow, *phase;
    json_array_foreach(workflows, i, workflow)
    {
        json_array_foreach(json_object_get(workflow, "phases"), j, phase)
        {
            const char *state = field_text(phase, "state");
            if (view_is_final(state) || members_has(phase))
                continue;
            if (shown == LIVE_PHASES_MAX) {
                hidden++;
                continue;
            }
            struct text plain = {0}, cut = {0};
            live_phase(terminal, phase, names_workflow, now, &plain);
            terminal_add_cut(&cut, text_string(&plain), (size_t)terminal_width(terminal) - 1);
            terminal_colour(terminal, text, view_colour(view_state(phase)), text_string(&cut));
            text_add(text, "\n");
            text_fini(&cut);
            text_fini(&plain);
            shown++;
        }
    }
    if (hidden)
        text_addf(text, "%zu more phases\n", hidden);
}
