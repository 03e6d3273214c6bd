/* Shortens reports to one line. */
#include "worker/protocol/report.h"

#include "lib/protocol/words.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

enum { REPORT_STRING_MAX = 120 }; /* bytes in the line, so with the backslashes of JSON */

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

static char *report_dump(const json_t *report)
{
    char *dump = json_dumps(report, JSON_COMPACT | JSON_REAL_PRECISION(16));
    if (!dump)
        abort();
    return dump;
}

int report_kind(const json_t *report)
{
    return agent_report_parse(json_string_value(json_object_get(report, "report")));
}

char *report_to_line(json_t *report)
{
    char *dump = report_dump(report);
    if (strlen(dump) >= REPORT_SIZE_MAX) {
        json_t *copy = json_deep_copy(report);
        free(dump);
        report_shorten(copy);
        dump = report_dump(copy);
        json_decref(copy);
    }
    char *line = text_format("%s\n", dump);
    free(dump);
    json_decref(report);
    return line;
}
