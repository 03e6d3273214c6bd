/* Writes and reads members. */
#include "lib/protocol/members.h"

#include "lib/error.h"
#include "lib/json.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const member_types[] = {
    [MEMBER_TEXT] = "a text",    [MEMBER_BUFFER] = "a text",     [MEMBER_INTEGER] = "a number",
    [MEMBER_COUNT] = "a number", [MEMBER_NUMBER] = "a number",   [MEMBER_FLAG] = "true or false",
    [MEMBER_JSON] = "there",     [MEMBER_WORD] = "a known word",
};

/* NULL: there is nothing, or the text is not UTF-8 (`ret_is_bad`). */
static json_t *member_json(const struct member *row, const void *field, bool *ret_is_bad)
{
    bool is_written = row->need == MEMBER_REQUIRED || row->need == MEMBER_ALWAYS;
    const char *text = row->kind == MEMBER_TEXT ? *(const char *const *)field : field;
    json_t *json = NULL;
    switch (row->kind) {
    case MEMBER_BUFFER:
        text = *text || is_written ? text : NULL;
        /* fall through */
    case MEMBER_TEXT:
        json = text ? json_string(text) : NULL;
        *ret_is_bad = text && !json;
        break;
    case MEMBER_INTEGER: {
        int64_t value = *(const int64_t *)field;
        json = is_written || value != row->otherwise ? json_integer(value) : NULL;
        break;
    }
    case MEMBER_COUNT: {
        unsigned value = *(const unsigned *)field;
        json = is_written || value != row->otherwise ? json_integer(value) : NULL;
        break;
    }
    case MEMBER_NUMBER: {
        double value = *(const double *)field;
        json = is_written || value != 0 ? json_real(value) : NULL;
        break;
    }
    case MEMBER_FLAG: {
        bool value = *(const bool *)field;
        json = is_written || value ? json_boolean(value) : NULL;
        break;
    }
    case MEMBER_JSON:
        json = json_incref(*(json_t *const *)field);
        break;
    case MEMBER_WORD: {
        unsigned value = *(const unsigned *)field;
        json = value != row->otherwise ? json_string(row->words[value]) : NULL;
        break;
    }
    }
    return json || row->need == MEMBER_OPTIONAL ? json : json_null();
}

static bool member_is_of(const struct member *row, unsigned kind)
{
    return !row->kinds || row->kinds >> kind & 1;
}

json_t *members_write_kind(const struct member *rows, unsigned kind, const void *message,
                           const json_t *json)
{
    json_t *copy = json ? json_copy((json_t *)json) : json_object();
    for (const struct member *row = rows; copy && row->name; row++) {
        bool is_bad = false;
        if (!member_is_of(row, kind))
            continue;
        json_t *value = member_json(row, (const char *)message + row->offset, &is_bad);
        if (is_bad) {
            json_decref(copy);
            return NULL;
        }
        if (!value)
            (void)json_object_del(copy, row->name); /* it may be absent */
        else if (json_object_set_new(copy, row->name, value) < 0)
            abort(); /* no memory */
    }
    return copy;
}

json_t *members_write(const struct member *rows, const void *message, const json_t *json)
{
    return members_write_kind(rows, 0, message, json);
}

static bool member_is_whole(const json_t *value)
{
    return json_is_number(value) && fabs(json_number_value(value)) <= JSON_WHOLE_MAX;
}

static void member_read(const struct member *row, const json_t *value, void *field)
{
    const char *text = json_string_value(value);
    int64_t number = member_is_whole(value) ? (int64_t)json_number_value(value) : row->otherwise;
    switch (row->kind) {
    case MEMBER_TEXT:
        *(const char **)field = text;
        break;
    case MEMBER_BUFFER:
        text = text ? text : "";
        (void)snprintf(field, row->size, "%.*s", (int)text_fit(text, row->size - 1), text);
        break;
    case MEMBER_INTEGER:
        *(int64_t *)field = number;
        break;
    case MEMBER_COUNT:
        *(unsigned *)field = (unsigned)(number < 0 || number > INT32_MAX ? row->otherwise : number);
        break;
    case MEMBER_NUMBER:
        *(double *)field = json_number_value(value);
        break;
    case MEMBER_FLAG:
        *(bool *)field = json_is_true(value);
        break;
    case MEMBER_JSON:
        *(json_t **)field = json_is_null(value) ? NULL : (json_t *)value;
        break;
    case MEMBER_WORD:
        number = word_parse(row->words, row->word_count, text);
        *(unsigned *)field = (unsigned)(number < 0 ? row->otherwise : number);
        break;
    }
}

void members_read_kind(const struct member *rows, unsigned kind, const json_t *json,
                       void *ret_message)
{
    for (const struct member *row = rows; row->name; row++) {
        const json_t *value = member_is_of(row, kind) ? json_object_get(json, row->name) : NULL;
        member_read(row, value, (char *)ret_message + row->offset);
    }
}

void members_read(const struct member *rows, const json_t *json, void *ret_message)
{
    members_read_kind(rows, 0, json, ret_message);
}

static bool member_is_there(const struct member *row, const json_t *value)
{
    switch (row->kind) {
    case MEMBER_TEXT:
    case MEMBER_BUFFER:
        return json_is_string(value);
    case MEMBER_INTEGER:
    case MEMBER_COUNT:
        return member_is_whole(value);
    case MEMBER_NUMBER:
        return json_is_number(value);
    case MEMBER_FLAG:
        return json_is_boolean(value);
    case MEMBER_WORD:
        return word_parse(row->words, row->word_count, json_string_value(value)) >= 0;
    case MEMBER_JSON:
        break;
    }
    return value && !json_is_null(value);
}

int members_check(const struct member *rows, const json_t *json, struct error *err)
{
    for (const struct member *row = rows; row->name; row++)
        if (row->need == MEMBER_REQUIRED && !member_is_there(row, json_object_get(json, row->name)))
            return error_set(err, -EINVAL, "`%s` must be %s", row->name, member_types[row->kind]);
    return 0;
}
