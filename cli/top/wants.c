/* The wants of each place. */
#include "cli/top/wants.h"

#include "cli/field.h"
#include "cli/top/model.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <math.h>
#include <stdio.h>

/* A question may take 1/20 of the daemon's time, or more if WANTS_OLDEST_S ends the pause
 * earlier. */
enum { WANTS_COST = 20 };

/* How old answers may be, in seconds. */
#define WANTS_STATE_S  1.0
#define WANTS_DETAIL_S 2.0
#define WANTS_SLOW_S   5.0
#define WANTS_OVER_S   30.0 /* about a run that has ended */
#define WANTS_LOG_S    0.5
#define WANTS_AWAY_S   1.0  /* how often a daemon that is away is tried */
#define WANTS_OLDEST_S 30.0 /* the longest pause after a slow answer */

struct wants {
    struct want *items;
    size_t count;
};

static void wants_add(struct wants *wants, const char *path, double period_s)
{
    if (wants->count == WANTS_MAX)
        return;
    struct want *want = &wants->items[wants->count++];
    (void)snprintf(want->path, sizeof want->path, "%s", path);
    want->period_s = period_s;
}

static bool wants_has_ended(const json_t *run)
{
    return field_run_state(run) == RUN_ENDED;
}

static bool wants_sees(const struct model *model, const char *address)
{
    size_t i = 0;
    while (i < model->seen_count && !text_equal(model->seen[i], address))
        i++;
    return i < model->seen_count;
}

/* The curve of a phase. A part that another part follows does not change any more. */
static void wants_add_curve(const struct model *model, const json_t *phase, struct wants *wants)
{
    char path[PATHS_SIZE];
    bool has_ended = wants_has_ended(json_object_get(phase, "run"));
    long long from = 0;
    while (paths_curve(phase, from, path)) {
        from = paths_curve_next(model_json(model, path), from);
        wants_add(wants, path, has_ended || from ? WANTS_OVER_S : WANTS_DETAIL_S);
        if (!from)
            break;
    }
}

/* The curves of all phases that are in view. */
static void wants_add_curves(const struct model *model, struct wants *wants)
{
    const json_t *phase;
    size_t i;
    json_array_foreach(json_object_get(model_workflow(model), "phases"), i, phase)
    {
        if (wants_sees(model, field_text(phase, "address")))
            wants_add_curve(model, phase, wants);
    }
}

static void wants_add_phase(const struct model *model, struct wants *wants)
{
    struct address phase, run;
    char path[PATHS_SIZE];
    if (!model_selected(model, PANE_PHASES, &phase))
        return;
    const json_t *newest = json_object_get(model_phase(model, phase.phase), "run");
    wants_add(wants, paths_of(&phase, "", path), WANTS_DETAIL_S);
    wants_add(wants, paths_of(&phase, PATHS_GATE, path), WANTS_DETAIL_S);
    if (address_parse(field_text(newest, "address"), &run, NULL) == 0)
        wants_add(wants, paths_of(&run, PATHS_GPUS, path),
                  wants_has_ended(newest) ? WANTS_OVER_S : WANTS_SLOW_S);
}

static void wants_add_run(const struct model *model, struct wants *wants)
{
    char path[PATHS_SIZE];
    const struct address *run = &model->run;
    const json_t *json = model_json(model, paths_of(run, "", path));
    double period_s = wants_has_ended(json) ? WANTS_OVER_S : WANTS_DETAIL_S;
    wants_add(wants, path, WANTS_STATE_S);
    wants_add(wants, paths_of(&model->workflow, "", path), WANTS_STATE_S);
    wants_add(wants, paths_of(run, PATHS_LOGS, path), WANTS_DETAIL_S);
    wants_add(wants, paths_of(run, PATHS_METRICS, path), period_s);
}

size_t wants_list(const struct model *model, struct want wants[WANTS_MAX])
{
    struct wants list = {.items = wants};
    char path[PATHS_SIZE];
    if (model->place == PLACE_WORKFLOWS) {
        const char *search = model->scrolls[PANE_WORKFLOWS].search;
        wants_add(&list, PATHS_WORKFLOWS, WANTS_STATE_S);
        if (search[0])
            wants_add(&list, paths_search(search, path), WANTS_SLOW_S);
    } else if (model->place == PLACE_WORKFLOW) {
        wants_add(&list, paths_of(&model->workflow, "", path), WANTS_STATE_S);
        wants_add_phase(model, &list);
        wants_add_curves(model, &list);
    } else {
        wants_add_run(model, &list);
    }
    wants_add(&list, PATHS_PING, WANTS_SLOW_S);
    return list.count;
}

/* When the answer is too old. An answer that was never asked for comes before all others. */
static double wants_due(const struct model *model, const struct want *want)
{
    const struct answer *answer = model_answer(model, want->path);
    if (!answer)
        return 0;
    double cost_s = fmin(WANTS_COST * answer->took_s, answer->took_s + WANTS_OLDEST_S);
    return answer->asked_s + fmax(want->period_s, cost_s);
}

/* No path of a file is longer than fits. */
static void wants_set_path(struct request *request, const char *path)
{
    (void)snprintf(request->path, sizeof request->path, "%.*s", (int)sizeof request->path - 1,
                   path);
}

/* Returns when the next request is due. */
static double wants_first(const struct model *model, struct request *ret_request)
{
    struct want wants[WANTS_MAX];
    size_t count = wants_list(model, wants), first = 0;
    double due_s = wants_due(model, &wants[0]);
    for (size_t i = 1; i < count; i++) {
        double other_s = wants_due(model, &wants[i]);
        first = other_s < due_s ? i : first;
        due_s = fmin(other_s, due_s);
    }
    *ret_request = (struct request){.kind = REQUEST_GET};
    wants_set_path(ret_request, wants[first].path);
    const struct log *log = &model->log;
    double log_s = log->is_read ? log->read_s + WANTS_LOG_S : 0;
    if (model->place == PLACE_RUN && log->path && log_s < due_s) {
        *ret_request = (struct request){.kind = REQUEST_READ, .offset = log_offset(log)};
        wants_set_path(ret_request, log->path);
        due_s = log_s;
    }
    return due_s;
}

bool wants_next(const struct model *model, double clock_s, struct request *ret_request,
                double *ret_wait_s)
{
    struct request request;
    double due_s = 0;
    if (model->has_decision)
        request = model->decision;
    else
        due_s = wants_first(model, &request);
    if (model->is_away)
        due_s = fmax(due_s, model->asked_s + WANTS_AWAY_S);
    if (due_s > clock_s) {
        *ret_wait_s = due_s - clock_s;
        return false;
    }
    *ret_request = request;
    return true;
}
