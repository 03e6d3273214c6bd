/* What the live view knows, and where a person is in it. Knows no terminal, no clock and no daemon:
 * keys change it (keys.h), replies change it, and draw.h draws it. */
#ifndef PHASED_CLI_TOP_MODEL_H
#define PHASED_CLI_TOP_MODEL_H

#include "cli/terminal.h"
#include "cli/top/log.h"
#include "cli/top/request.h"
#include "cli/top/scroll.h"
#include "lib/address.h"
#include "lib/text.h"

#include <jansson.h>
#include <stdbool.h>

enum place { PLACE_WORKFLOWS, PLACE_WORKFLOW, PLACE_RUN, PLACE_COUNT };

enum pane {
    PANE_WORKFLOWS,
    PANE_PHASES,
    PANE_PHASE,
    PANE_GATE,
    PANE_GPUS,
    PANE_RUNS,
    PANE_METRICS,
    PANE_LOG,
    PANE_HELP,
    PANE_COUNT,
};

/* What the last line asks for. */
enum prompt { PROMPT_NONE, PROMPT_SEARCH, PROMPT_CANCEL, PROMPT_PROMOTE };

enum {
    MODEL_SEEN_MAX = 128, /* more phases than a screen has rows for */
    MODEL_ANSWERS_MAX = 192,
};

/* The newest answer to a path of the API. */
struct answer {
    char *path;
    json_t *json;   /* NULL: no answer has come yet */
    char *message;  /* why the newest request failed, or NULL */
    double asked_s; /* when it was asked for, in steady time */
    double took_s;  /* the last answer that came */
};

struct model {
    struct terminal terminal; /* how text is made; its width is set for each pane */
    double now;               /* seconds since 1970 */

    enum place place;
    enum pane focus[PLACE_COUNT];
    struct address workflow, run;     /* the workflow and the run that are shown */
    char unfolded[ADDRESS_TEXT_SIZE]; /* the matrix whose members are shown */
    struct scroll scrolls[PANE_COUNT];
    /* The phases that were in view in the last picture. */
    char seen[MODEL_SEEN_MAX][ADDRESS_TEXT_SIZE];
    size_t seen_count;
    bool has_help, is_over;

    enum prompt prompt;
    char typed[SCROLL_SEARCH_SIZE];
    bool shows_search;     /* in the pane that keys moved in when the last picture was drawn */
    struct address target; /* what is to be cancelled or promoted after a yes */
    struct text notice;    /* what came of the last decision; the next key takes it away */
    bool is_bad_notice;
    char stopping[ADDRESS_TEXT_SIZE]; /* the phase of which `notice` says that it stops, or empty */

    struct answer answers[MODEL_ANSWERS_MAX];
    size_t answer_count;
    struct log log;
    bool has_decision; /* `decision` waits to be sent */
    struct request decision;
    struct request asked;    /* the newest request that was sent */
    double asked_s;          /* when it was sent */
    bool is_asking, is_away; /* a request is under way; the last one found no daemon */
};

void model_init(struct model *model, const struct terminal *terminal);
void model_fini(struct model *model);

/* The answer to a path, or NULL. The JSON is borrowed until the next reply. */
const json_t *model_json(const struct model *model, const char *path);
/* Why a path has no answer. NULL: the path has an answer, or nobody has asked yet. */
const char *model_trouble(const struct model *model, const char *path);
const struct answer *model_answer(const struct model *model, const char *path);

/* The request is sent now. */
void model_ask(struct model *model, const struct request *request, double clock_s);
/* Its reply has come. Takes what is in it. */
void model_take(struct model *model, struct reply *reply, double clock_s);

/* Whether a decision waits to be sent, or waits for its answer. */
bool model_is_deciding(const struct model *model);

/* Whether the daemon does not answer. */
bool model_is_away(const struct model *model, double clock_s);

/* The workflow, phase or run that is selected, as panes show it. False: nothing is selected. */
bool model_selected(const struct model *model, enum pane pane, struct address *ret_address);
/* The workflow or phase that the keys for decisions act on: the selected workflow or phase, or the
 * phase of the run that is shown. False: nothing is selected. */
bool model_target(const struct model *model, struct address *ret_address);

/* The answer to the search in the list of workflows: it has all workflows with these words, also
 * those that the list leaves out. NULL: nothing is sought, or there was no answer yet. */
const struct answer *model_search(const struct model *model);
/* The newest known phases of a workflow. NULL: the phases are not known. */
const json_t *model_phases(const struct model *model, uint64_t workflow);
/* The workflow that is shown. Until the daemon has answered about this workflow, returns its entry
 * in the list of workflows. NULL: the workflow is not known. */
const json_t *model_workflow(const struct model *model);
/* The phase with this name in the workflow that is shown. NULL: the phase is not known. */
const json_t *model_phase(const struct model *model, const char *name);

void model_notice(struct model *model, bool is_bad, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
