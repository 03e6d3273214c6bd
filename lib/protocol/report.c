/* Reads and writes reports, and shortens them to one line. */
#include "lib/protocol/report.h"

#include "lib/json.h"
#include "lib/protocol/members.h"
#include "lib/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    REPORT_STRING_MAX = 120, /* bytes in the line, so with the backslashes of JSON */
    REPORT_FLAGS = JSON_COMPACT | JSON_REAL_PRECISION(16),
};

#define OF(kind) .kinds = 1u << REPORT_##kind

static const struct member report_members[] = {
    MEMBER_OF_WORDS(report, kind, "report", REQUIRED, agent_report_names, AGENT_REPORT_COUNT,
                    AGENT_REPORT_COUNT),
    MEMBER_ROW(report, time, "time", ALWAYS, OF(STARTED)),
    MEMBER_ROW(report, is_all, "all", OPTIONAL, OF(TERMINATED)),
    MEMBER_ROW(report, final, "final", ALWAYS, OF(ENDED)),
    MEMBER_ROW(report, ended, "ended", ALWAYS, OF(ENDED)),
    MEMBER_ROW(report, last_step, "last_step", OPTIONAL, .otherwise = -1, OF(ENDED)),
    MEMBER_ROW(report, checkpoint, "checkpoint", OPTIONAL, .otherwise = -1, OF(ENDED)),
    MEMBER(report, failed, OPTIONAL),
    MEMBER(report, failure, OPTIONAL),
    MEMBER_IS(report, idle, OPTIONAL),
    MEMBER(report, shards, OPTIONAL),
    MEMBER(report, shards_over, OPTIONAL),
    MEMBER(report, seconds, OPTIONAL),
    MEMBER(report, limit, OPTIONAL),
    MEMBER_ROW(report, has_steps, "steps", OPTIONAL, .otherwise = 0),
    MEMBER(report, summary, OPTIONAL),
    MEMBER(report, counts, OPTIONAL),
    MEMBER(report, ras, OPTIONAL),
    MEMBER(report, steps_per_s, OPTIONAL),
    MEMBER(report, outcome, OPTIONAL),
    MEMBER(report, reason, OPTIONAL),
    MEMBER_OF_WORDS(report, cause, "cause", OPTIONAL, stop_reason_names, STOP_REASON_COUNT,
                    STOP_REASON_COUNT, .kinds = 1u << REPORT_GUARD | 1u << REPORT_CANNOT_START),
    MEMBER(report, message, OPTIONAL),
    MEMBER(report, verdict, OPTIONAL),
    MEMBER(report, start_number, OPTIONAL),
    MEMBER(report, node, REQUIRED),
    MEMBER(report, index, REQUIRED),
    {0},
};

static const struct member rank_failure_members[] = {
    MEMBER(rank_failure, code, ALWAYS),
    MEMBER(rank_failure, signal, ALWAYS),
    MEMBER(rank_failure, line, OPTIONAL),
    MEMBER_OR(rank_failure, rank, OPTIONAL, -1),
    MEMBER_OR(rank_failure, group, OPTIONAL, -1),
    MEMBER_IS(rank_failure, join, OPTIONAL),
    {0},
};

static const struct member found_failure_members[] = {
    MEMBER(found_failure, name, ALWAYS),
    MEMBER(found_failure, line, ALWAYS),
    MEMBER_OR(found_failure, rank, OR_NULL, -1),
    MEMBER(found_failure, time, ALWAYS),
    {0},
};

/* How many bytes a byte of a string takes in the line. */
static size_t report_width(unsigned char byte)
{
    if (byte < ' ')
        return strlen("\\u001b");
    return byte == '"' || byte == '\\' ? 2 : 1;
}

static void report_shorten_string(json_t *string)
{
    const char *value = json_string_value(string);
    size_t length = json_string_length(string), size = 0, width = 0;
    while (size < length &&
           (width += report_width((unsigned char)value[size])) <= REPORT_STRING_MAX)
        size++;
    if (size == length)
        return;
    while (size && ((unsigned char)value[size] & 0xC0) == 0x80)
        size--; /* not inside a character */
    char *shorter = text_format("%.*s...", (int)size, value);
    json_string_set(string, shorter);
    free(shorter);
}

static void report_shorten(json_t *json)
{
    const char *key;
    json_t *value;
    json_object_foreach(json, key, value)
    {
        if (json_is_string(value))
            report_shorten_string(value);
        else if (json_is_object(value))
            report_shorten(value);
    }
}

bool report_read(const json_t *json, struct report *ret_report)
{
    struct report report;
    members_read(report_members, json, &report); /* to know the kind */
    if (report.kind == AGENT_REPORT_COUNT)
        return false;
    members_read_kind(report_members, report.kind, json, &report);
    *ret_report = report;
    return true;
}

char *report_to_line(const struct report *report)
{
    json_t *json = members_write_kind(report_members, report->kind, report, NULL);
    assert(json); /* all texts are UTF-8 */
    char *dump = json_text(json, REPORT_FLAGS);
    if (strlen(dump) >= REPORT_SIZE_MAX) {
        json_t *copy = json_deep_copy(json);
        free(dump);
        report_shorten(copy);
        dump = json_text(copy, REPORT_FLAGS);
        json_decref(copy);
    }
    char *line = text_format("%s\n", dump);
    free(dump);
    json_decref(json);
    return line;
}

MEMBERS_READ(rank_failure)
MEMBERS_TO_JSON(rank_failure)
MEMBERS_READ(found_failure)
MEMBERS_TO_JSON(found_failure)
