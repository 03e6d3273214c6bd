/* Keys: moves, places, searches and decisions. */
#include "cli/top/keys.h"

#include "cli/field.h"
#include "cli/phrases.h"
#include "cli/top/model.h"
#include "cli/top/paths.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

enum { KEYS_WHEEL_LINES = 3 };

const struct keys_help keys_help[] = {
    {"j, Down", "one row down"},
    {"k, Up", "one row up"},
    {"Page Down, Page Up", "one page down or up"},
    {"g, Home", "to the beginning"},
    {"G, End", "to the end"},
    {"Enter", "open the workflow, the run of the phase, or the members of the matrix"},
    {"Esc, Backspace", "end the search that is shown; otherwise back"},
    {"Tab, Shift-Tab", "the next pane, the pane before"},
    {"/", "search the pane; in the list, also find workflows that the list does not show"},
    {"n, N", "the next place that the search finds, the place before"},
    {"f", "in a log: follow new lines, or stop following"},
    {"Left, Right", "in a log: the rank before, the next rank"},
    {"p", "promote: start the next phases, whatever the gate says, after y"},
    {"h", "hold: stop with a checkpoint; release what you hold, if nothing runs or is queued"},
    {"c", "cancel: end for good, after y"},
    {"r", "retry: run again what has failed, was cancelled, or is held by its gate or a failure"},
    {"R", "resume: go on from the last checkpoint, where retry would begin at the start"},
    {"mouse", "select, open what is selected, scroll"},
    {"?", "this help"},
    {"q, Ctrl-C", "quit; everything goes on without this view"},
    {0},
};

/* --- Places ----------------------------------------------------------------------------------- */

static const enum pane keys_panes[PLACE_COUNT][PANE_COUNT] = {
    [PLACE_WORKFLOWS] = {PANE_WORKFLOWS, PANE_COUNT},
    [PLACE_WORKFLOW] = {PANE_PHASES, PANE_PHASE, PANE_GATE, PANE_GPUS, PANE_RUNS, PANE_COUNT},
    [PLACE_RUN] = {PANE_METRICS, PANE_LOG, PANE_COUNT},
};

static struct scroll *keys_scroll(struct model *model)
{
    return &model->scrolls[model->has_help ? PANE_HELP : model->focus[model->place]];
}

static void keys_next_pane(struct model *model, bool is_back)
{
    const enum pane *panes = keys_panes[model->place];
    size_t count = 0, at = 0;
    while (panes[count] != PANE_COUNT) {
        if (panes[count] == model->focus[model->place])
            at = count;
        count++;
    }
    model->focus[model->place] = panes[(at + (is_back ? count - 1 : 1)) % count];
}

static void keys_open_workflow(struct model *model)
{
    struct address address;
    if (!model_selected(model, PANE_WORKFLOWS, &address))
        return;
    if (address.workflow != model->workflow.workflow) {
        for (enum pane pane = PANE_PHASES; pane <= PANE_RUNS; pane++)
            model->scrolls[pane] = (struct scroll){0};
        model->unfolded[0] = '\0';
    }
    model->workflow = address;
    model->focus[PLACE_WORKFLOW] = PANE_PHASES;
    model->place = PLACE_WORKFLOW;
}

static void keys_open_run(struct model *model, const struct address *run)
{
    model->run = *run;
    log_close(&model->log);
    model->scrolls[PANE_METRICS] = (struct scroll){0};
    model->scrolls[PANE_LOG] = (struct scroll){.follows = true};
    model->focus[PLACE_RUN] = PANE_LOG;
    model->place = PLACE_RUN;
}

/* Opens the newest run of the selected phase, or the members of the selected matrix. */
static void keys_open_phase(struct model *model)
{
    struct address phase, run;
    char name[ADDRESS_TEXT_SIZE];
    if (!model_selected(model, PANE_PHASES, &phase))
        return;
    const json_t *json = model_phase(model, phase.phase), *newest = json_object_get(json, "run");
    if (members_is_matrix(json)) {
        bool is_unfolded = text_equal(model->unfolded, phase.phase);
        (void)snprintf(model->unfolded, sizeof model->unfolded, "%s",
                       is_unfolded ? "" : phase.phase);
    } else if (address_parse(field_text(newest, "address"), &run, NULL) == 0) {
        keys_open_run(model, &run);
    } else {
        model_notice(model, false, "%s has no run yet", address_text(&phase, name));
    }
}

static void keys_enter(struct model *model)
{
    struct address run;
    enum pane focus = model->focus[model->place];
    if (focus == PANE_WORKFLOWS)
        keys_open_workflow(model);
    else if (focus == PANE_RUNS && model_selected(model, PANE_RUNS, &run))
        keys_open_run(model, &run);
    else if (model->place == PLACE_WORKFLOW)
        keys_open_phase(model);
}

static void keys_back(struct model *model)
{
    struct scroll *scroll = keys_scroll(model);
    bool is_first = model->place == PLACE_WORKFLOWS;
    if (is_first || model->shows_search) {
        scroll->search[0] = '\0';
        return;
    }
    if (model->place == PLACE_RUN)
        log_close(&model->log);
    model->place--;
}

/* --- Decisions -------------------------------------------------------------------------------- */

/* One decision waits at most. A daemon that hangs must not find a list of old decisions later. */
static void keys_decide(struct model *model, enum phase_command command,
                        const struct address *address)
{
    char name[ADDRESS_TEXT_SIZE], waiting[ADDRESS_TEXT_SIZE];
    const struct request *before = &model->decision;
    const char *verb = phase_command_name(command);
    (void)address_text(address, name);
    (void)address_text(&before->address, waiting);
    if (model->has_decision && !(before->command == command && text_equal(waiting, name))) {
        model_notice(model, true, "cannot %s %s yet: %s %s is not sent; press again", verb, name,
                     phase_command_name(before->command), waiting);
        return;
    }
    model->decision =
        (struct request){.kind = REQUEST_DECIDE, .command = command, .address = *address};
    model->has_decision = true;
    model_notice(model, false, "%s %s ...", verb, name);
}

static bool keys_can_be_released(const json_t *phase)
{
    return field_can(phase, COMMAND_RELEASE);
}

static bool keys_is_under_way(const json_t *phase)
{
    int state = field_phase_state(phase);
    return state == PHASE_ACTIVE || state == PHASE_QUEUED;
}

static bool keys_can_be_cancelled(const json_t *phase)
{
    return field_can(phase, COMMAND_CANCEL);
}

/* Whether `is_so` is true for the phase of the address or, if that is a matrix, for a member. If
 * the address names a workflow: whether `is_so` is true for any phase of the workflow. */
static bool keys_has(const struct model *model, const struct address *address,
                     bool (*is_so)(const json_t *phase))
{
    const json_t *phase;
    size_t i;
    json_array_foreach(model_phases(model, address->workflow), i, phase)
    {
        bool is_meant = !address->phase[0] ||
                        text_equal(field_text(phase, "phase"), address->phase) ||
                        text_equal(field_text(phase, "matrix"), address->phase);
        if (is_meant && is_so(phase))
            return true;
    }
    return false;
}

/* In a workflow, some phases may run while a person holds others. A person who presses the key
 * there wants the workflow to stop. */
static enum phase_command keys_hold_command(const struct model *model,
                                            const struct address *address)
{
    bool is_release = keys_has(model, address, keys_can_be_released) &&
                      !keys_has(model, address, keys_is_under_way);
    return is_release ? COMMAND_RELEASE : COMMAND_HOLD;
}

/* Asks, unless nothing is left to cancel. */
static void keys_cancel(struct model *model, const struct address *address)
{
    char name[ADDRESS_TEXT_SIZE];
    if (keys_has(model, address, keys_can_be_cancelled)) {
        model->target = *address;
        model->prompt = PROMPT_CANCEL;
    } else {
        model_notice(model, true, "cannot cancel %s: it has ended, or is being cancelled",
                     address_text(address, name));
    }
}

/* One key alone must not overrule a gate that has failed. The view may not know yet that the gate
 * has failed, so each promotion asks. */
static void keys_promote(struct model *model, const struct address *address)
{
    model->target = *address;
    model->prompt = PROMPT_PROMOTE;
}

static void keys_decision(struct model *model, int key)
{
    struct address address;
    if (!model_target(model, &address))
        return;
    switch (key) {
    case 'p':
        keys_promote(model, &address);
        break;
    case 'h':
        keys_decide(model, keys_hold_command(model, &address), &address);
        break;
    case 'r':
        keys_decide(model, COMMAND_RETRY, &address);
        break;
    case 'R':
        keys_decide(model, COMMAND_RESUME, &address);
        break;
    default:
        keys_cancel(model, &address);
    }
}

/* --- Searches and logs ------------------------------------------------------------------------ */

static void keys_type(struct model *model, int key)
{
    size_t size = strlen(model->typed);
    char letter[MB_LEN_MAX];
    mbstate_t state = {0};
    if (key == TOP_KEY_ESCAPE || (key == TOP_KEY_BACKSPACE && size == 0)) {
        model->prompt = PROMPT_NONE;
    } else if (key == TOP_KEY_ENTER) {
        memcpy(keys_scroll(model)->search, model->typed, sizeof model->typed);
        keys_scroll(model)->seek = SCROLL_SEEK_HERE;
        model->prompt = PROMPT_NONE;
    } else if (key == TOP_KEY_BACKSPACE) {
        while (size > 0 && (model->typed[--size] & 0xc0) == 0x80)
            ; /* the further bytes of a letter */
        model->typed[size] = '\0';
    } else if (key >= ' ' && key < TOP_KEY_BEGIN) {
        size_t bytes = wcrtomb(letter, (wchar_t)key, &state);
        if (bytes != (size_t)-1 && size + bytes < sizeof model->typed) {
            memcpy(model->typed + size, letter, bytes);
            model->typed[size + bytes] = '\0';
        }
    }
}

/* Shows the log of the rank before or of the next rank. */
static void keys_change_rank(struct model *model, int step)
{
    char path[PATHS_SIZE];
    const json_t *logs =
        json_object_get(model_json(model, paths_of(&model->run, PATHS_LOGS, path)), "logs");
    size_t i, count = json_array_size(logs);
    const json_t *log;
    json_array_foreach(logs, i, log)
    {
        if (field_integer(log, "rank") != model->log.rank)
            continue;
        log = json_array_get(logs, (i + count + (size_t)step) % count);
        log_open(&model->log, field_text(log, "path"), field_integer(log, "rank"));
        scroll_restart(&model->scrolls[PANE_LOG]);
        return;
    }
}

static void keys_in_log(struct model *model, int key)
{
    struct scroll *scroll = &model->scrolls[PANE_LOG];
    if (key == 'f')
        scroll->follows = !scroll->follows;
    else
        keys_change_rank(model, key == TOP_KEY_LEFT ? -1 : 1);
}

/* --- Keys ------------------------------------------------------------------------------------- */

/* Returns whether the key is a move. */
static bool keys_move(struct model *model, int key)
{
    struct scroll *scroll = keys_scroll(model);
    switch (key) {
    case 'j':
    case TOP_KEY_DOWN:
        scroll->lines++;
        return true;
    case TOP_KEY_PAGE_DOWN:
        scroll->pages++;
        return true;
    case 'G':
    case TOP_KEY_END:
        scroll->to_end = true;
        return true;
    case 'k':
    case TOP_KEY_UP:
        scroll->lines--;
        break;
    case TOP_KEY_PAGE_UP:
        scroll->pages--;
        break;
    case 'g':
    case TOP_KEY_HOME:
        scroll->to_begin = true;
        break;
    case 'n':
        scroll->seek = SCROLL_SEEK_NEXT;
        break;
    case 'N':
        scroll->seek = SCROLL_SEEK_BEFORE;
        break;
    default:
        return false;
    }
    scroll->follows = false; /* does not disturb a person who reads earlier lines */
    return true;
}

static void keys_command(struct model *model, int key)
{
    bool is_log = model->place == PLACE_RUN && model->focus[PLACE_RUN] == PANE_LOG;
    switch (key) {
    case 'q':
        model->is_over = true;
        break;
    case '?':
        model->has_help = true;
        break;
    case '/':
        model->prompt = PROMPT_SEARCH;
        model->typed[0] = '\0';
        break;
    case TOP_KEY_ENTER:
        keys_enter(model);
        break;
    case TOP_KEY_ESCAPE:
    case TOP_KEY_BACKSPACE:
        keys_back(model);
        break;
    case TOP_KEY_TAB:
    case TOP_KEY_BACK_TAB:
        keys_next_pane(model, key == TOP_KEY_BACK_TAB);
        break;
    case 'p':
    case 'h':
    case 'r':
    case 'R':
    case 'c':
        keys_decision(model, key);
        break;
    case 'f':
    case TOP_KEY_LEFT:
    case TOP_KEY_RIGHT:
        if (is_log)
            keys_in_log(model, key);
        break;
    default:
        break;
    }
}

void keys_press(struct model *model, int key)
{
    text_clear(&model->notice);
    if (model->prompt == PROMPT_SEARCH) {
        keys_type(model, key);
    } else if (model->prompt != PROMPT_NONE) {
        enum phase_command command =
            model->prompt == PROMPT_CANCEL ? COMMAND_CANCEL : COMMAND_PROMOTE;
        model->prompt = PROMPT_NONE;
        if (key == 'y')
            keys_decide(model, command, &model->target);
    } else if (keys_move(model, key)) {
        return;
    } else if (model->has_help) {
        model->has_help = key == '/'; /* any other key closes it */
        if (key == '/')
            keys_command(model, key);
    } else {
        keys_command(model, key);
    }
}

/* --- The mouse -------------------------------------------------------------------------------- */

static bool keys_is_in(const struct area *area, int row, int column)
{
    return row >= area->row && row < area->row + area->rows && column >= area->column &&
           column < area->column + area->columns;
}

void keys_click(struct model *model, enum keys_mouse event, int row, int column)
{
    const enum pane *panes = keys_panes[model->place];
    for (size_t i = 0; panes[i] != PANE_COUNT; i++) {
        struct scroll *scroll = &model->scrolls[panes[i]];
        if (!keys_is_in(&scroll->area, row, column))
            continue;
        size_t line = scroll->first + (size_t)(row - scroll->area.row);
        bool was_selected =
            model->focus[model->place] == panes[i] && scroll->count && line == scroll->at;
        model->focus[model->place] = panes[i];
        if (event == KEYS_WHEEL_UP)
            scroll->follows = false;
        if (event != KEYS_CLICK)
            scroll->lines += event == KEYS_WHEEL_UP ? -KEYS_WHEEL_LINES : KEYS_WHEEL_LINES;
        else if (was_selected)
            keys_enter(model);
        else if (line < scroll->count)
            scroll->lines += (long)line - (long)scroll->at;
        return;
    }
}
