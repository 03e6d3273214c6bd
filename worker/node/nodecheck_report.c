/* Reads the report of phase-preflight. */
#include "worker/node/nodecheck_report.h"

#include "lib/json.h"
#include "lib/protocol/entry.h"
#include "lib/text.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <sys/wait.h>

static int nodecheck_outcome(const json_t *object)
{
    return preflight_outcome_parse(json_member_text(object, "outcome"));
}

static json_t *nodecheck_cut(const char *reason)
{
    json_t *string = json_stringn(reason, text_fit(reason, NODECHECK_REASON_MAX));
    return string ? string : json_string("a reason that is not UTF-8");
}

/* Joins the texts of all rows that failed, or takes only the first essential row that could not
 * tell. Later essential rows follow from the first one. A row that is not essential decides
 * nothing. */
static json_t *nodecheck_reason(const json_t *rows, int outcome)
{
    struct text text = {0};
    const json_t *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        bool is_needless = json_is_false(json_object_get(row, "essential")) || text.size;
        if (nodecheck_outcome(row) != outcome || (outcome != PREFLIGHT_FAILED && is_needless))
            continue;
        text_addf(&text, "%s%s: %s", text.size ? "; " : "", json_member_text(row, "name"),
                  json_member_text(row, "text"));
    }
    json_t *reason = nodecheck_cut(text_string(&text));
    text_fini(&text);
    return reason;
}

/* Says why there is no report. */
static json_t *nodecheck_silence(const struct nodecheck_end *end)
{
    struct text text = {0};
    if (end->failed)
        text_add(&text, end->failed);
    else if (end->is_late)
        text_addf(&text, "phase-preflight gave no answer within %.0f s", end->limit_s);
    else if (WIFSIGNALED(end->status))
        text_addf(&text, "phase-preflight was killed by signal %d", WTERMSIG(end->status));
    else
        text_addf(&text, "phase-preflight ended with exit code %d and without a report",
                  WEXITSTATUS(end->status));
    json_t *reason = nodecheck_cut(text_string(&text));
    text_fini(&text);
    return reason;
}

json_t *nodecheck_report(const char *level, const struct nodecheck_end *end)
{
    bool has_ended = !end->failed && !end->is_late;
    json_t *said = has_ended ? json_loadb(end->output, end->size, 0, NULL) : NULL, *reason;
    const json_t *rows = json_object_get(said, "rows");
    int outcome = nodecheck_outcome(said);
    bool is_good = json_is_array(rows) && outcome >= 0;
    if (!is_good) {
        outcome = PREFLIGHT_UNKNOWN;
        reason = nodecheck_silence(end);
    } else if (outcome == PREFLIGHT_PASSED) {
        reason = json_string("");
    } else {
        reason = nodecheck_reason(rows, outcome);
    }
    json_t *list = is_good ? json_incref((json_t *)rows) : json_array();
    json_t *report = entry_to_json(
        &(struct entry){.type = ENTRY_PREFLIGHT,
                        .level = level,
                        .outcome = preflight_outcome_name((enum preflight_outcome)outcome),
                        .reason = json_string_value(reason),
                        .rows = list});
    assert(report); /* all of it is UTF-8 */
    json_decref(list);
    json_decref(reason);
    json_decref(said);
    return report;
}

bool nodecheck_may_pass_later(const json_t *report)
{
    const json_t *row;
    size_t i;
    if (nodecheck_outcome(report) != PREFLIGHT_FAILED)
        return false;
    json_array_foreach(json_object_get(report, "rows"), i, row)
    {
        const char *name = json_member_text(row, "name");
        bool passes = text_equal(name, "memory") || text_equal(name, "processes");
        if (nodecheck_outcome(row) == PREFLIGHT_FAILED && !passes)
            return false;
    }
    return true;
}

bool nodecheck_model(const char *gpu_type, char ret_model[NODECHECK_MODEL_SIZE])
{
    size_t letters = 0, size = strlen(gpu_type);
    while (isalpha((unsigned char)gpu_type[letters]))
        letters++;
    size_t digits = letters;
    while (isdigit((unsigned char)gpu_type[digits]))
        digits++;
    /* The name must be like h100, l40s or gh200. Other names do not match: NVIDIA writes rtx6000 as
     * "RTX 6000", and hopper is not a model. */
    bool has_suffix = gpu_type[digits] == 's' || gpu_type[digits] == 'S';
    if (letters < 1 || letters > 2 || digits - letters < 2 || digits - letters > 3 ||
        size != digits + has_suffix)
        return false;
    for (size_t i = 0; i <= size; i++)
        ret_model[i] = (char)toupper((unsigned char)gpu_type[i]);
    return true;
}
