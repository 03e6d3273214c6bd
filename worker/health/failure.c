/* Finds the cause of an outcome in printed lines, and keeps the first fault of a GPU. */
#include "worker/health/failure.h"

#include "lib/failures/recognizer.h"
#include "lib/json.h"
#include "lib/protocol/outcome.h"
#include "lib/protocol/report.h"
#include "lib/text.h"
#include "worker/protocol/assignment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const json_t *failure_catalogue(const struct assignment *assignment)
{
    return assignment->file.failures;
}

/* Returns the entry of the catalogue. NULL: the catalogue has no entry of this name. */
static const json_t *failure_entry(const struct assignment *assignment, const json_t *failure)
{
    const char *name = found_failure_read(failure).name;
    const json_t *entry;
    size_t i;
    json_array_foreach(failure_catalogue(assignment), i, entry)
    {
        if (name && text_equal(json_member_text(entry, "name"), name))
            return entry;
    }
    return NULL;
}

static json_t *failure_from(const struct finding *finding, int rank)
{
    const struct found_failure found = {.name = json_member_text(finding->entry, "name"),
                                        .line = finding->line,
                                        .rank = finding->rank >= 0 ? finding->rank : rank,
                                        .time = finding->time};
    return found_failure_to_json(&found);
}

json_t *failure_look(const struct assignment *assignment, const struct failure_lines *ranks,
                     size_t count)
{
    json_t *best = NULL;
    const json_t *catalogue = failure_catalogue(assignment);
    if (json_array_size(catalogue) == 0)
        return NULL;
    struct recognizer *recognizer = recognizer_new(catalogue);
    for (size_t i = 0; i < count; i++) {
        struct finding finding;
        if (!recognizer_look(recognizer, ranks[i].lines, ranks[i].size, &finding))
            continue;
        json_t *found = failure_from(&finding, ranks[i].rank);
        if (failure_is_better(assignment, found, best)) {
            json_decref(best);
            best = json_incref(found);
        }
        json_decref(found);
    }
    recognizer_free(recognizer);
    return best;
}

json_t *failure_look_at(const struct assignment *assignment, const char *line)
{
    struct recognizer *recognizer = recognizer_new(failure_catalogue(assignment));
    struct finding finding;
    json_t *failure = NULL;
    if (recognizer_look(recognizer, line, strlen(line), &finding) && finding.tells == FINDING_CAUSE)
        failure = failure_from(&finding, -1);
    recognizer_free(recognizer);
    return failure;
}

bool failure_is_better(const struct assignment *assignment, const json_t *one, const json_t *other)
{
    if (!other || !one)
        return one != NULL;
    enum finding_tells this = finding_tells_of(failure_entry(assignment, one));
    enum finding_tells that = finding_tells_of(failure_entry(assignment, other));
    const char *time = found_failure_read(one).time, *others = found_failure_read(other).time;
    /* All times have the same form, so their alphabetical order is their order in time. */
    return this != that ? this < that : strcmp(time ? time : "", others ? others : "") < 0;
}

bool failure_is_cause(const struct assignment *assignment, const json_t *failure)
{
    const json_t *entry = failure ? failure_entry(assignment, failure) : NULL;
    return entry && finding_tells_of(entry) == FINDING_CAUSE;
}

/* The line as a message shows it: without the indentation of source code, and without the folder of
 * the run's script, which is long and says nothing. */
static const char *failure_shown_line(const char *line)
{
    static const char script[] = "/run.sh: ";
    line += strspn(line, " \t");
    const char *at = line[0] == '/' ? strstr(line, script) : NULL;
    bool is_path = at && strcspn(line, " ") > (size_t)(at - line);
    return is_path ? at + 1 : line;
}

void failure_apply(const struct assignment *assignment, const json_t *failure, const char *node,
                   struct outcome *outcome)
{
    const json_t *entry = failure_entry(assignment, failure);
    if (!entry)
        return;
    const struct found_failure found = found_failure_read(failure);
    const char *title = json_member_text(entry, "title");
    int blame = failure_blame_parse(json_member_text(entry, "blame"));
    const struct told_failure told = {.name = json_member_text(entry, "name"),
                                      .line = found.line ? found.line : "",
                                      .rank = found.rank,
                                      .node = *node ? node : NULL,
                                      .advice = json_member_text(entry, "advice"),
                                      .blame = blame < 0 ? BLAME_NONE : (enum failure_blame)blame};
    int cause = run_cause_parse(json_member_text(entry, "cause"));
    if (cause > CAUSE_NONE)
        outcome->cause = (enum run_cause)cause;
    if (told.rank >= 0)
        outcome_set_message(outcome, "%s on rank %" PRId64 " (%s): %s", title, told.rank, node,
                            failure_shown_line(told.line));
    else
        outcome_set_message(outcome, "%s%s%s: %s", title, *node ? " on " : "", node,
                            failure_shown_line(told.line));
    (void)snprintf(outcome->node, sizeof outcome->node, "%s", told.blame == BLAME_NODE ? node : "");
    json_decref(outcome->failure);
    outcome->failure = told_failure_to_json(&told);
}

/* --- Faults of GPUs --------------------------------------------------------------------------- */

void gpu_fault_fini(struct gpu_fault *fault)
{
    json_decref(fault->failure);
    *fault = (struct gpu_fault){0};
}

void gpu_fault_hear(struct gpu_fault *fault, const struct assignment *assignment, const char *line,
                    int64_t now_ms)
{
    if (!fault->failure)
        fault->failure = failure_look_at(assignment, line);
    else if (!text_equal(found_failure_read(fault->failure).line, line))
        return;
    fault->heard_ms = now_ms; /* if the fault is reported again, the last time counts */
    fault->seconds = 0;
}

void gpu_fault_look(struct gpu_fault *fault, uint64_t printed, int64_t now_ms)
{
    bool has_printed = printed != fault->printed;
    fault->printed = printed;
    bool is_on = fault->failure && has_printed && now_ms - fault->heard_ms > 1000 * FINDING_ON_S &&
                 now_ms / 1000 != fault->second;
    if (!is_on)
        return;
    fault->second = now_ms / 1000;
    if (++fault->seconds >= FINDING_ON_SECONDS)
        gpu_fault_fini(fault);
}

json_t *gpu_fault_or(const struct gpu_fault *fault, const struct assignment *assignment,
                     json_t *failure)
{
    return failure_is_better(assignment, fault->failure, failure) ? fault->failure : failure;
}
