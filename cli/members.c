/* Members of matrices. */
#include "cli/members.h"

#include "cli/field.h"
#include "cli/format.h"
#include "cli/table.h"
#include "cli/view.h"
#include "cli/wait.h"
#include "lib/memory.h"
#include "lib/spec/phase.h"
#include "lib/text.h"

#include <math.h>
#include <stdlib.h>
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
        text_addf(&line, "%zu out, %s%s: %s", counts[at], counts[at] > 1 ? "as " : "", first[at],
                  reasons[at]);
        text_add(text, at ? "" : "\n");
        terminal_add_cut(text, text_string(&line), SIZE_MAX);
        text_add(text, "\n");
        text_fini(&line);
    }
    if (others > 0)
        text_addf(text, "%zu out for other reasons\n", others);
}

/* --- The table -------------------------------------------------------------------------------- */

/* Those that may still be chosen before those that cannot. */
static int members_rank(const json_t *member)
{
    static const char *const standings[] = {"best", "left", "", "cut", "out"};
    const char *standing = field_text(member, "standing");
    for (int i = 0; i < (int)(sizeof standings / sizeof standings[0]); i++)
        if (strcmp(standings[i], standing) == 0)
            return i;
    return 0;
}

static bool members_come_later(const json_t *member, const json_t *other, double best)
{
    double value = field_number(member, "value"), others = field_number(other, "value");
    if (members_rank(member) != members_rank(other))
        return members_rank(member) > members_rank(other);
    if (isnan(value) || isnan(others))
        return isnan(value) && !isnan(others);
    return fabs(value - best) > fabs(others - best); /* the best is at one end */
}

/* By insertion: they are few, and stay in the order of the file where nothing tells them apart. */
static json_t **members_sort(const json_t *members)
{
    size_t count = json_array_size(members);
    json_t **sorted = xcalloc(count + 1, sizeof(json_t *)), *member;
    double best = NAN;
    for (size_t i = 0; i < count; i++)
        if (members_rank(json_array_get(members, i)) == 0)
            best = field_number(json_array_get(members, i), "value");
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        member = json_array_get(members, i);
        for (; at > 0 && members_come_later(sorted[at - 1], member, best); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = member;
    }
    return sorted;
}

static void members_add(struct table *table, const json_t *member,
                        const struct table_column *columns, size_t params, double now)
{
    const char *state = view_state(member), *reason = field_text(member, "out_reason");
    char buffer[FORMAT_SIZE];
    struct text progress = {0};
    double value = field_number(member, "value");
    table_add(table, COLOUR_PLAIN, field_text(member, "phase"));
    for (size_t i = 0; i < params; i++) {
        const json_t *param = json_object_get(json_object_get(member, "case"), columns[i].title);
        struct text cell = {0};
        if (param)
            phase_value_text(param, &cell);
        table_add(table, COLOUR_PLAIN, text_string(&cell));
        text_fini(&cell);
    }
    table_add(table, view_colour(state), state);
    view_progress(member, &progress);
    table_add(table, COLOUR_PLAIN, text_string(&progress));
    text_fini(&progress);
    table_add(table, COLOUR_PLAIN, isnan(value) ? "" : format_number(value, buffer));
    table_add(table, members_rank(member) == 0 ? COLOUR_GREEN : COLOUR_PLAIN,
              field_text(member, "standing"));
    table_addf(table, COLOUR_PLAIN, "%lld", field_integer(member, "attempts"));
    table_add(table, COLOUR_PLAIN, format_duration(field_number(member, "gpu_seconds"), buffer));
    bool is_reused = field_text(member, "reused")[0] != '\0';
    if (!reason[0] && (is_reused || strcmp(state, "succeeded") != 0))
        reason = field_text(member, "reason");
    struct text note = {0};
    text_add(&note, reason);
    if (!reason[0])
        (void)wait_write(json_object_get(member, "run"), now, &note); /* whether it says anything */
    table_add(table, COLOUR_PLAIN, text_string(&note));
    text_fini(&note);
}

void members_write(const struct terminal *terminal, const json_t *matrix, double now,
                   struct text *text)
{
    static const struct table_column first = {"MEMBER", TABLE_LEFT, TABLE_WHOLE};
    static const struct table_column rest[] = {
        {"STATE", TABLE_LEFT, TABLE_WHOLE},  {"STEP", TABLE_RIGHT, TABLE_WHOLE},
        {"VALUE", TABLE_RIGHT, TABLE_WHOLE}, {"STANDING", TABLE_LEFT, TABLE_WHOLE},
        {"RUNS", TABLE_RIGHT, TABLE_WHOLE},  {"GPU TIME", TABLE_RIGHT, TABLE_WHOLE},
        {"NOTE", TABLE_LEFT, TABLE_REST},
    };
    enum { REST = sizeof rest / sizeof rest[0] };
    const json_t *members = json_object_get(matrix, "members");
    json_t *params = json_object_get(json_array_get(members, 0), "case"), *value;
    struct table_column columns[TABLE_COLUMNS_MAX] = {first};
    size_t count = 0;
    const char *name;
    struct table table;
    json_object_foreach(params, name, value)
    {
        if (count + 1 + REST < TABLE_COLUMNS_MAX)
            columns[++count] = (struct table_column){name, TABLE_RIGHT, TABLE_WHOLE};
    }
    memcpy(columns + 1 + count, rest, sizeof rest);
    table_init(&table, columns, 1 + count + REST);
    json_t **sorted = members_sort(members);
    for (size_t i = 0; i < json_array_size(members); i++)
        members_add(&table, sorted[i], columns + 1, count, now);
    free(sorted);
    table_write(&table, terminal, 0, text);
    table_fini(&table);
}
