/* Putting panes together: the first line, the panes of a place, messages and the last line. */
#include "cli/top/draw.h"

#include "cli/current.h"
#include "cli/field.h"
#include "cli/format.h"
#include "cli/table.h"
#include "cli/top/content.h"
#include "cli/top/keys.h"
#include "cli/top/model.h"
#include "cli/top/panes.h"
#include "cli/top/paths.h"
#include "cli/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DRAW_SIDE_BY_SIDE = 140, /* columns from which panes stand side by side */
    DRAW_GAP = 2,
    DRAW_CLOCK = 8,
    DRAW_PANES_MAX = 5,
    DRAW_LEAST = 3, /* rows of a pane: its title, its headings and a row */
};

/* A pane with what stands in it. */
struct box {
    enum pane pane;
    void (*make)(const struct model *model, const struct terminal *terminal,
                 struct content *content);
    struct content content;
    struct area area;
};

static struct terminal draw_terminal(const struct model *model, int columns)
{
    struct terminal terminal = model->terminal;
    terminal.columns = columns > 0 ? columns : 1;
    terminal.one_line = true;
    return terminal;
}

/* --- Panes ------------------------------------------------------------------------------------ */

static int draw_smaller(int first, int second)
{
    return first < second ? first : second;
}

void draw_share(const int *wanted, int count, int focus, int rows, int *ret_rows)
{
    int others = 0, left = rows > 0 ? rows : 0, least = 0;
    for (int i = 0; i < count; i++)
        least += draw_smaller(wanted[i], DRAW_LEAST);
    least = least <= rows ? DRAW_LEAST : 1;
    for (int i = 0; i < count; i++) {
        ret_rows[i] = draw_smaller(draw_smaller(wanted[i], least), left);
        left -= ret_rows[i];
        others += i == focus ? 0 : wanted[i];
    }
    for (int turn = -1; turn <= count; turn++) {
        bool is_first = turn < 0, is_own = turn < 0 || turn == count;
        int pane = is_own ? focus : turn;
        if (pane < 0 || (!is_own && pane == focus))
            continue;
        int most = is_first ? rows - (others < rows / 2 ? others : rows / 2) : rows;
        int more = (wanted[pane] < most ? wanted[pane] : most) - ret_rows[pane];
        more = more < 0 ? 0 : more < left ? more : left;
        ret_rows[pane] += more;
        left -= more;
    }
    ret_rows[count - 1] += left;
}

static void draw_title(const struct model *model, const struct box *box, bool is_focused,
                       struct grid *grid)
{
    struct text line = {0}, rule = {0};
    const char *sign = model->terminal.unicode ? "─" : "-";
    text_addf(&rule, "%s%s %s ", sign, sign, text_string(&box->content.title));
    for (int used = (int)terminal_columns(text_string(&rule)); used < box->area.columns; used++)
        text_add(&rule, sign);
    terminal_colour(&model->terminal, &line, is_focused ? COLOUR_BOLD : COLOUR_DIM,
                    text_string(&rule));
    grid_put(grid, &box->area, text_string(&line));
    text_fini(&rule);
    text_fini(&line);
}

/* The pane that keys move in. */
static enum pane draw_pane(const struct model *model)
{
    return model->has_help ? PANE_HELP : model->focus[model->place];
}

static void draw_log_get(const void *context, size_t line, struct text *text)
{
    log_shown_line(context, line, text);
}

static void draw_log(struct model *model, const struct area *area, struct grid *grid)
{
    const struct log *log = &model->log;
    struct scroll *scroll = &model->scrolls[PANE_LOG];
    struct scroll_lines lines = {.count = log->count, .get = draw_log_get, .context = log};
    scroll_draw(&lines, grid, area, scroll);
    if (log->count == 0)
        grid_put(grid, area, log->path ? "nothing was printed yet" : "no log yet");
}

/* Notes which phases are in view: their curves are asked for. */
static void draw_see(struct model *model, const struct content *content)
{
    const struct scroll *scroll = &model->scrolls[PANE_PHASES];
    model->seen_count = 0;
    for (int i = 0; i < scroll->area.rows && i < MODEL_SEEN_MAX; i++) {
        size_t row = scroll->first + (size_t)i;
        if (row < content->key_count)
            memcpy(model->seen[model->seen_count++], content->keys[row], ADDRESS_TEXT_SIZE);
    }
}

/* A pane that has nothing to show has no title. */
static bool draw_is_shown(const struct box *box)
{
    return box->pane == PANE_WORKFLOWS || box->content.title.size > 0;
}

/* Draws the box with its title into its area. */
static void draw_box(struct model *model, struct box *box, struct grid *grid)
{
    struct area below = box->area;
    bool is_focused = box->pane == draw_pane(model);
    if (box->area.rows <= 0 || !draw_is_shown(box))
        return;
    if (box->pane != PANE_WORKFLOWS) {
        draw_title(model, box, is_focused, grid);
        below.row++;
        below.rows--;
    }
    if (box->pane == PANE_LOG)
        draw_log(model, &below, grid);
    else
        content_draw(&box->content, grid, &below, is_focused || box->pane == PANE_PHASES,
                     &model->scrolls[box->pane]);
    if (box->pane == PANE_PHASES)
        draw_see(model, &box->content);
}

static void draw_make(const struct model *model, struct box *box, int columns)
{
    struct terminal terminal = draw_terminal(model, columns);
    box->make(model, &terminal, &box->content);
    box->area.columns = columns;
}

/* Draws the boxes one below the other. The last box also gets the rows that no box needs. */
static void draw_stack(struct model *model, struct box *boxes, int count, const struct area *area,
                       struct grid *grid)
{
    int wanted[DRAW_PANES_MAX], rows[DRAW_PANES_MAX], focus = -1, row = area->row;
    for (int i = 0; i < count; i++) {
        bool is_log = boxes[i].pane == PANE_LOG;
        draw_make(model, &boxes[i], area->columns);
        wanted[i] = is_log ? area->rows
                    : !draw_is_shown(&boxes[i])
                        ? 0
                        : 1 + content_rows(&boxes[i].content, area->columns);
        if (boxes[i].pane == draw_pane(model))
            focus = i;
    }
    draw_share(wanted, count, focus, area->rows, rows);
    for (int i = 0; i < count; i++) {
        boxes[i].area = (struct area){row, area->column, rows[i], area->columns};
        draw_box(model, &boxes[i], grid);
        row += rows[i];
        content_fini(&boxes[i].content);
    }
}

/* --- Places ----------------------------------------------------------------------------------- */

static void draw_log_title(const struct model *model, const struct terminal *terminal,
                           struct content *content)
{
    char path[PATHS_SIZE];
    const struct log *log = &model->log;
    const json_t *answer = model_json(model, paths_of(&model->run, PATHS_LOGS, path));
    size_t count = json_array_size(json_object_get(answer, "logs"));
    (void)terminal;
    text_add(&content->title, "log");
    if (log->path)
        text_addf(&content->title, " of rank %lld", log->rank);
    if (count > 1)
        text_addf(&content->title, ", one of %zu", count);
    if (log->begin > 0)
        text_addf(&content->title, ", without its first %.0f MiB", (double)log->begin / 1048576);
    if (model->scrolls[PANE_LOG].follows)
        text_add(&content->title, ", following");
}

static void draw_workflows(struct model *model, const struct area *area, struct grid *grid)
{
    struct box box = {.pane = PANE_WORKFLOWS, .make = workflows_content};
    draw_make(model, &box, area->columns);
    box.area = *area;
    draw_box(model, &box, grid);
    content_fini(&box.content);
}

/* The current phase is selected at first. */
static void draw_select_phase(struct model *model)
{
    char *key = model->scrolls[PANE_PHASES].key;
    const json_t *phase = current_phase(model_workflow(model));
    if (!key[0])
        (void)snprintf(key, ADDRESS_TEXT_SIZE, "%s", field_text(phase, "address"));
}

static void draw_workflow(struct model *model, const struct area *area, struct grid *grid)
{
    struct box boxes[DRAW_PANES_MAX] = {
        {.pane = PANE_PHASES, .make = phases_content},
        {.pane = PANE_PHASE, .make = phase_content},
        {.pane = PANE_GATE, .make = phase_gate_content},
        {.pane = PANE_GPUS, .make = phase_gpus_content},
        {.pane = PANE_RUNS, .make = phase_runs_content},
    };
    draw_select_phase(model);
    if (area->columns < DRAW_SIDE_BY_SIDE) {
        draw_stack(model, boxes, DRAW_PANES_MAX, area, grid);
        return;
    }
    struct content phases = {0};
    struct terminal terminal = draw_terminal(model, area->columns);
    phases_content(model, &terminal, &phases);
    int wanted = 1 + content_rows(&phases, area->columns), half = area->rows / 2;
    content_fini(&phases);
    struct area top = *area, left = *area, right = *area;
    top.rows = wanted < half ? wanted : half;
    left.row = right.row = area->row + top.rows;
    left.rows = right.rows = area->rows - top.rows;
    left.columns = (area->columns - DRAW_GAP) / 2;
    right.columns = area->columns - DRAW_GAP - left.columns;
    right.column = left.column + left.columns + DRAW_GAP;
    struct box lefts[] = {boxes[1], boxes[4]}, rights[] = {boxes[2], boxes[3]};
    draw_stack(model, boxes, 1, &top, grid);
    draw_stack(model, lefts, 2, &left, grid);
    draw_stack(model, rights, 2, &right, grid);
}

static void draw_run(struct model *model, const struct area *area, struct grid *grid)
{
    struct box boxes[] = {{.pane = PANE_METRICS, .make = run_metrics_content},
                          {.pane = PANE_LOG, .make = draw_log_title}};
    draw_stack(model, boxes, 2, area, grid);
}

static void draw_help_content(const struct model *model, const struct terminal *terminal,
                              struct content *content)
{
    const struct terminal folding = {.fd = -1, .colours = true, .columns = terminal->columns};
    struct table table;
    (void)model;
    table_init(&table, table_names, TABLE_NAMES_COLUMNS);
    for (const struct keys_help *row = keys_help; row->keys; row++) {
        table_add_in(&table, COLOUR_BOLD, row->keys);
        table_add(&table, row->words);
    }
    table_write(&table, &folding, 0, &content->text);
    text_add(&content->title, "keys; any other key closes this help");
}

static void draw_help(struct model *model, const struct area *area, struct grid *grid)
{
    struct box box = {.pane = PANE_HELP, .make = draw_help_content};
    draw_stack(model, &box, 1, area, grid);
}

/* --- The first line --------------------------------------------------------------------------- */

static void draw_workflow_header(const struct model *model, struct text *text)
{
    const json_t *workflow = model_workflow(model);
    const char *state = current_state(workflow);
    char buffer[FORMAT_SIZE];
    char *name = text_format("%llu %s", (unsigned long long)model->workflow.workflow,
                             field_text(workflow, "name"));
    terminal_colour(&model->terminal, text, COLOUR_BOLD, name);
    free(name);
    text_add(text, "  ");
    terminal_colour(&model->terminal, text, view_colour(state), state);
    if (!workflow)
        return;
    text_addf(text, "  submitted %s",
              format_time(field_number(workflow, "submitted"), (time_t)model->now, buffer));
    double ended = field_number(workflow, "ended"), usd = field_number(workflow, "cost_usd");
    if (!isnan(ended))
        text_addf(text, "  took %s",
                  format_duration(ended - field_number(workflow, "submitted"), buffer));
    if (!isnan(usd))
        text_addf(text, "  %s", format_cost(usd, buffer));
    text_addf(text, "  %s", field_text(workflow, "file"));
}

static void draw_header(const struct model *model, struct grid *grid)
{
    struct text text = {0};
    char clock[FORMAT_SIZE];
    struct area left = {0, 0, 1, grid->columns - DRAW_CLOCK - DRAW_GAP};
    struct area right = {0, grid->columns - DRAW_CLOCK, 1, DRAW_CLOCK};
    if (model->place == PLACE_WORKFLOWS) {
        const json_t *cluster = json_object_get(model_json(model, PATHS_PING), "cluster");
        terminal_colour(&model->terminal, &text, COLOUR_BOLD, "phased");
        text_addf(&text, "  %s", field_text(cluster, "name"));
        workflows_count(model, &text);
    } else if (model->place == PLACE_WORKFLOW) {
        draw_workflow_header(model, &text);
    } else {
        run_header(model, &text);
    }
    grid_put(grid, &left, text_string(&text));
    if (right.column > 0)
        grid_put(grid, &right, format_time(model->now, (time_t)model->now, clock));
    text_fini(&text);
}

/* --- Messages and the last line --------------------------------------------------------------- */

static void draw_messages(const struct model *model, double clock_s, struct text *text)
{
    if (model_is_away(model, clock_s)) {
        terminal_colour(&model->terminal, text, COLOUR_RED,
                        "phased does not answer; trying again (training goes on)");
        text_add(text, "\n");
    } else {
        view_trouble(&model->terminal, model_json(model, PATHS_PING), text);
    }
    if (model->notice.size) {
        terminal_colour(&model->terminal, text, model->is_bad_notice ? COLOUR_RED : COLOUR_BOLD,
                        text_string(&model->notice));
        text_add(text, "\n");
    }
}

static bool draw_has_lost(const struct model *model, enum pane pane)
{
    return model->scrolls[pane].search[0] && model->scrolls[pane].has_lost;
}

/* The daemon searches all workflows, also those that the list leaves out. */
static void draw_lost(const struct model *model, enum pane pane, struct text *text)
{
    const char *search = model->scrolls[pane].search;
    const struct answer *answer = pane == PANE_WORKFLOWS ? model_search(model) : NULL;
    if (pane == PANE_WORKFLOWS && !answer)
        text_addf(text, "looking for '%s' among all workflows ...", search);
    else if (answer && answer->json)
        text_addf(text, "no workflow has '%s'", search);
    else
        text_addf(text, "'%s' is not in this pane", search);
}

static void draw_footer(const struct model *model, struct grid *grid)
{
    static const char *const keys[PLACE_COUNT] = {
        "Enter open  / search  p promote  h hold  c cancel  r retry  ? help  q quit",
        "Enter run  Tab pane  Esc back  p promote  h hold  c cancel  r retry  ? help",
        "Tab pane  / search  n N next  g G ends  f follow  Esc back  ? help  q quit",
    };
    struct area area = {grid->rows - 1, 0, 1, grid->columns};
    enum pane pane = draw_pane(model);
    char name[ADDRESS_TEXT_SIZE];
    struct text text = {0}, words = {0};
    enum colour colour = COLOUR_BOLD;
    if (model->prompt == PROMPT_SEARCH) {
        text_addf(&words, "/%s_", model->typed);
    } else if (model->prompt == PROMPT_CANCEL) {
        text_addf(&words, "cancel %s for good? Its runs stop with a checkpoint. y/n",
                  address_text(&model->target, name));
    } else if (model->prompt == PROMPT_PROMOTE) {
        text_addf(&words, "promote %s, whatever the gate says? y/n",
                  address_text(&model->target, name));
    } else if (draw_has_lost(model, pane)) {
        draw_lost(model, pane, &words);
    } else {
        text_add(&words, keys[model->place]);
        colour = COLOUR_DIM;
    }
    terminal_colour(&model->terminal, &text, colour, text_string(&words));
    grid_put(grid, &area, text_string(&text));
    text_fini(&words);
    text_fini(&text);
}

void draw(struct model *model, double clock_s, struct grid *grid)
{
    static void (*const places[PLACE_COUNT])(struct model *, const struct area *, struct grid *) = {
        draw_workflows, draw_workflow, draw_run};
    struct content messages = {0};
    grid->unicode = model->terminal.unicode;
    draw_messages(model, clock_s, &messages.text);
    int lines = content_rows(&messages, grid->columns);
    struct area area = {1, 0, grid->rows - 2 - lines, grid->columns};
    struct area below = {grid->rows - 1 - lines, 0, lines, grid->columns};
    struct scroll nowhere = {0};
    for (int pane = 0; pane < PANE_COUNT; pane++)
        model->scrolls[pane].area = (struct area){0};
    draw_header(model, grid);
    (model->has_help ? draw_help : places[model->place])(model, &area, grid);
    content_draw(&messages, grid, &below, false, &nowhere);
    draw_footer(model, grid);
    enum pane pane = draw_pane(model);
    model->shows_search =
        draw_has_lost(model, pane) || grid_has_mark(grid, &model->scrolls[pane].area, GRID_FOUND);
    content_fini(&messages);
}
