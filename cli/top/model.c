/* Taking replies, and what is selected. */
#include "cli/top/model.h"

#include "cli/client.h"
#include "cli/decide.h"
#include "cli/field.h"
#include "cli/phrases.h"
#include "cli/top/paths.h"
#include "cli/view.h"
#include "lib/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODEL_SILENT_S = 5 }; /* a daemon that needs longer for an answer does not answer */

void model_init(struct model *model, const struct terminal *terminal)
{
    *model = (struct model){
        .terminal = *terminal,
        .focus = {PANE_WORKFLOWS, PANE_PHASES, PANE_LOG},
    };
    model->terminal.live = false; /* each pane sets its width */
    model->terminal.colours = true;
}

static void answer_fini(struct answer *answer)
{
    free(answer->path);
    json_decref(answer->json);
    free(answer->message);
    *answer = (struct answer){0};
}

void model_fini(struct model *model)
{
    for (size_t i = 0; i < model->answer_count; i++)
        answer_fini(&model->answers[i]);
    log_close(&model->log);
    text_fini(&model->notice);
}

void model_notice(struct model *model, bool is_bad, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_clear(&model->notice);
    text_addv(&model->notice, format, args);
    va_end(args);
    model->is_bad_notice = is_bad;
    model->stopping[0] = '\0';
}

/* --- Answers ---------------------------------------------------------------------------------- */

/* Returns `answer_count` if no answer has this path. */
static size_t model_find(const struct model *model, const char *path)
{
    size_t at = 0;
    while (at < model->answer_count && !text_equal(model->answers[at].path, path))
        at++;
    return at;
}

const struct answer *model_answer(const struct model *model, const char *path)
{
    size_t at = model_find(model, path);
    return at < model->answer_count ? &model->answers[at] : NULL;
}

const json_t *model_json(const struct model *model, const char *path)
{
    const struct answer *answer = model_answer(model, path);
    return answer ? answer->json : NULL;
}

const char *model_trouble(const struct model *model, const char *path)
{
    const struct answer *answer = model_answer(model, path);
    return answer ? answer->message : NULL;
}

/* Returns the answer to a path. A new path gets an empty answer. If there are MODEL_ANSWERS_MAX
 * answers, the empty answer replaces the answer whose path was requested least recently. */
static struct answer *model_make_answer(struct model *model, const char *path)
{
    size_t at = model_find(model, path);
    if (at < model->answer_count)
        return &model->answers[at];
    if (at < MODEL_ANSWERS_MAX) {
        model->answer_count++;
    } else {
        at = 0;
        for (size_t i = 1; i < model->answer_count; i++)
            at = model->answers[i].asked_s < model->answers[at].asked_s ? i : at;
        answer_fini(&model->answers[at]);
    }
    model->answers[at] = (struct answer){.path = xstrdup(path)};
    return &model->answers[at];
}

void model_ask(struct model *model, const struct request *request, double clock_s)
{
    if (request->kind == REQUEST_GET)
        model_make_answer(model, request->path)->asked_s = clock_s;
    else if (request->kind == REQUEST_DECIDE)
        model->has_decision = false;
    model->is_asking = true;
    model->asked = *request;
    model->asked_s = clock_s;
}

bool model_is_deciding(const struct model *model)
{
    return model->has_decision || (model->is_asking && model->asked.kind == REQUEST_DECIDE);
}

bool model_is_away(const struct model *model, double clock_s)
{
    return model->is_away || (model->is_asking && clock_s - model->asked_s > MODEL_SILENT_S);
}

/* Keeps the last good answer if the daemon is only away. */
static void model_take_answer(struct model *model, struct reply *reply)
{
    struct answer *answer = model_make_answer(model, reply->request.path);
    int status = reply->error.code;
    if (status < 0 && client_may_retry(status))
        return;
    answer->took_s = reply->took_s;
    bool is_first = !answer->json;
    json_decref(answer->json);
    free(answer->message);
    answer->json = reply->json;
    answer->message = status < 0 ? xstrdup(reply->error.message) : NULL;
    reply->json = NULL;
    struct scroll *list = &model->scrolls[PANE_WORKFLOWS];
    if (is_first && answer == model_search(model) && list->has_lost)
        list->seek = SCROLL_SEEK_HERE; /* now its rows are known */
}

/* Takes away the notice that a phase stops, when the phase has stopped. Ignores matrices, because
 * their members stop one by one. */
static void model_end_notice(struct model *model)
{
    const json_t *phase;
    struct address address;
    size_t i;
    if (address_parse(model->stopping, &address, NULL) < 0)
        return;
    json_array_foreach(model_phases(model, address.workflow), i, phase)
    {
        if (text_equal(field_text(phase, "phase"), address.phase) && !members_is_matrix(phase) &&
            view_phase_state(phase) != VIEW_STOPPING)
            text_clear(&model->notice);
    }
}

/* Notices are one line: of many phases the first is named. */
static void model_take_decision(struct model *model, struct reply *reply)
{
    struct text said = {0};
    size_t count = json_array_size(json_object_get(reply->json, "phases"));
    if (reply->error.code < 0) {
        model_notice(model, true, "%s", reply->error.message);
        return;
    }
    decide_write(reply->request.command, reply->json, &said);
    const char *first = text_string(&said);
    model_notice(model, false, "%.*s", (int)strcspn(first, "\n"), first);
    if (count > 1)
        text_addf(&model->notice, ", and %zu more", count - 1);
    text_fini(&said);
    const char *phase =
        json_string_value(json_array_get(json_object_get(reply->json, "phases"), 0));
    if (field_has_text(json_object_get(reply->json, "stopping"), phase))
        (void)snprintf(model->stopping, sizeof model->stopping, "%s", phase);
    for (size_t i = 0; i < model->answer_count; i++) /* everything may have changed */
        model->answers[i].asked_s = 0;
}

static void model_take_bytes(struct model *model, struct reply *reply, double clock_s)
{
    struct log *log = &model->log;
    struct scroll *scroll = &model->scrolls[PANE_LOG];
    if (!log->path || !text_equal(log->path, reply->request.path))
        return; /* another log is shown by now */
    log->read_s = clock_s;
    log->is_read = reply->bytes.size < REQUEST_READ_MAX;
    if (reply->error.code < 0)
        return; /* it may not be there yet */
    size_t gone = log_add(log, reply->offset, text_string(&reply->bytes), reply->bytes.size);
    scroll->at -= scroll->at < gone ? scroll->at : gone;
    scroll->found -= scroll->found < gone ? scroll->found : gone;
}

/* Opens the log of the rank that failed, or else of the first rank, when both are known. */
static void model_open_log(struct model *model)
{
    char path[PATHS_SIZE];
    const json_t *run = model_json(model, paths_of(&model->run, "", path)), *log;
    const json_t *logs =
        json_object_get(model_json(model, paths_of(&model->run, PATHS_LOGS, path)), "logs");
    double failed = field_number(json_object_get(run, "failure"), "rank");
    size_t i;
    if (model->place != PLACE_RUN || model->log.path || !run)
        return;
    json_array_foreach(logs, i, log)
    {
        if (!model->log.path || field_number(log, "rank") == failed)
            log_open(&model->log, field_text(log, "path"), field_integer(log, "rank"));
    }
}

void model_take(struct model *model, struct reply *reply, double clock_s)
{
    model->is_asking = false;
    if (reply->request.kind == REQUEST_READ) {
        model_take_bytes(model, reply, clock_s);
    } else {
        model->is_away = reply->error.code < 0 && client_may_retry(reply->error.code);
        if (reply->request.kind == REQUEST_GET) {
            model_take_answer(model, reply);
            model_end_notice(model);
        } else {
            model_take_decision(model, reply);
        }
        model_open_log(model);
    }
    json_decref(reply->json);
    text_fini(&reply->bytes);
}

/* --- What is selected ------------------------------------------------------------------------- */

bool model_selected(const struct model *model, enum pane pane, struct address *ret_address)
{
    const char *key = model->scrolls[pane].key;
    return key[0] && address_parse(key, ret_address, NULL) == 0;
}

bool model_target(const struct model *model, struct address *ret_address)
{
    if (model->place == PLACE_WORKFLOWS)
        return model_selected(model, PANE_WORKFLOWS, ret_address);
    if (model->place == PLACE_WORKFLOW)
        return model_selected(model, PANE_PHASES, ret_address);
    *ret_address = model->run;
    ret_address->attempt = 0;
    return true;
}

const struct answer *model_search(const struct model *model)
{
    char path[PATHS_SIZE];
    const char *search = model->scrolls[PANE_WORKFLOWS].search;
    const struct answer *answer =
        search[0] ? model_answer(model, paths_search(search, path)) : NULL;
    return answer && (answer->json || answer->message) ? answer : NULL;
}

static const json_t *model_find_workflow(const json_t *answer, uint64_t workflow)
{
    const json_t *item;
    size_t i;
    json_array_foreach(json_object_get(answer, "workflows"), i, item)
    {
        if (field_integer(item, "workflow") == (long long)workflow)
            return item;
    }
    return NULL;
}

/* A workflow as the list has it; NULL: not known. */
static const json_t *model_listed(const struct model *model, uint64_t workflow)
{
    const json_t *listed = model_find_workflow(model_json(model, PATHS_WORKFLOWS), workflow);
    const struct answer *search = listed ? NULL : model_search(model);
    return search ? model_find_workflow(search->json, workflow) : listed;
}

const json_t *model_phases(const struct model *model, uint64_t workflow)
{
    bool is_shown = model->place != PLACE_WORKFLOWS && model->workflow.workflow == workflow;
    return json_object_get(is_shown ? model_workflow(model) : model_listed(model, workflow),
                           "phases");
}

const json_t *model_workflow(const struct model *model)
{
    char path[ADDRESS_PATH_SIZE];
    const struct answer *answer = model_answer(model, address_path(&model->workflow, path));
    bool is_known = answer && (answer->json || answer->message);
    return is_known ? answer->json : model_listed(model, model->workflow.workflow);
}

const json_t *model_phase(const struct model *model, const char *name)
{
    return field_find(json_object_get(model_workflow(model), "phases"), "phase", name);
}
