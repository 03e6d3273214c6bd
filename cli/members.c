/* Sums over the members of a matrix, and why members are out. */
#include "cli/members.h"

#include "cli/field.h"
#include "cli/terminal.h"
#include "cli/wait.h"
#include "lib/text.h"

#include <string.h>

bool members_has(const json_t *phase)
{
    return field_text(phase, "matrix")[0] != '\0';
}

bool members_is_matrix(const json_t *phase)
{
    return json_is_object(json_object_get(phase, "of_members"));
}

const json_t *members_total(const json_t *phase)
{
    return members_is_matrix(phase) ? json_object_get(phase, "of_members") : phase;
}

long long members_in_state(const json_t *matrix, const char *state)
{
    return field_integer(json_object_get(members_total(matrix), "states"), state);
}

void members_note(const json_t *matrix, struct text *text)
{
    static const struct {
        const char *state, *word;
    } rows[] = {
        {"succeeded", "succeeded"}, {"failed", "out"},    {"cancelled", "cancelled"},
        {"skipped", "skipped"},     {"held", "held"},     {"active", "active"},
        {"deciding", "deciding"},   {"queued", "queued"}, {"blocked", "waiting"},
    };
    const char *comma = "";
    if (field_integer(matrix, "rungs") > 1)
        text_addf(text, "rung %lld of %lld: ", field_integer(matrix, "rung"),
                  field_integer(matrix, "rungs"));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        long long count = members_in_state(matrix, rows[i].state);
        if (count > 0)
            text_addf(text, "%s%lld %s", comma, count, rows[i].word);
        comma = count > 0 ? ", " : comma;
    }
}

void members_wait(const json_t *phases, const json_t *matrix, double now, struct text *text)
{
    const json_t *phase;
    size_t i;
    json_array_foreach(phases, i, phase)
    {
        struct text wait = {0};
        bool is_queued = text_equal(field_text(phase, "matrix"), field_text(matrix, "phase")) &&
                         text_equal(field_text(phase, "state"), "queued");
        if (is_queued && wait_write(json_object_get(phase, "run"), now, &wait)) {
            text_addf(text, "; %s: %s", field_text(phase, "phase"), text_string(&wait));
            text_fini(&wait);
            return;
        }
        text_fini(&wait);
    }
}

static const char *members_reason(const json_t *member)
{
    const char *reason = field_text(member, "out_reason");
    bool is_out = strcmp(field_text(member, "state"), "failed") == 0;
    return reason[0] || !is_out ? reason : field_text(member, "reason");
}

void members_reasons(const json_t *matrix, struct text *text)
{
    enum { REASONS_MAX = 8 };
    const json_t *members = json_object_get(matrix, "members"), *member;
    const char *reasons[REASONS_MAX], *first[REASONS_MAX];
    size_t count = 0, i, others = 0, counts[REASONS_MAX] = {0};
    json_array_foreach(members, i, member)
    {
        const char *reason = members_reason(member);
        size_t at = 0;
        while (at < count && strcmp(reasons[at], reason) != 0)
            at++;
        if (!reason[0])
            continue;
        if (at == REASONS_MAX) {
            others++;
            continue;
        }
        if (at == count) {
            reasons[count] = reason;
            first[count++] = field_text(member, "address");
        }
        counts[at]++;
    }
    for (size_t at = 0; at < count; at++) {
        struct text line = {0};
        text_addf(&line, "%zu out, %s%s: %s", counts[at], counts[at] > 1 ? "such as " : "",
                  first[at], reasons[at]);
        terminal_add_line(text, at ? "" : "\n", &line);
    }
    if (others > 0)
        text_addf(text, "%zu out for other reasons\n", others);
}
