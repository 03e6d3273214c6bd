/* Which variables are secrets, and the marks that stand for their values. */
#include "lib/secrets.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The names of variables that are secrets, in upper or lower case. The list in phased-spec(5) has
 * the same patterns; a test compares them. */
static const char *const secrets_names[] = {
    "*_TOKEN",  "TOKEN",      "*_KEY",    "*APIKEY*", "*API_KEY*", "*ACCESS_KEY*", "*PRIVATE_KEY*",
    "*SECRET*", "*PASSWORD*", "*PASSWD*", "*_PASS",   "*_PWD",     "*PASSPHRASE*", "*CREDENTIAL*",
    "*_AUTH",   "*_JWT",      "*_PAT",    "*_DSN",    "*WEBHOOK*",
};

/* Whether the text has a URL with a password: `scheme://user:password@host`. */
static bool secrets_has_password(const char *text)
{
    while ((text = strstr(text, "://"))) {
        text += 3;
        const char *end = text + strcspn(text, "/?# \t\n");
        const char *at = memchr(text, '@', (size_t)(end - text));
        const char *colon = memchr(text, ':', (size_t)(end - text));
        if (at && colon && colon + 1 < at)
            return true;
    }
    return false;
}

/* Whether the value has the values of other variables, as in `SBATCH_EXPORT=ALL,HF_TOKEN=...`. */
static bool secrets_has_variables(const char *name, const char *value)
{
    return text_equal(name, "SBATCH_EXPORT") && strchr(value, '=');
}

/* Returns the number of the value that a mark stands for, from 1; 0: the text is not a mark. */
static unsigned secrets_number(const char *text)
{
    unsigned number = 0;
    int end = 0;
    if (text_equal(text, "(secret)"))
        return 1;
    if (sscanf(text, "(secret %5u)%n", &number, &end) < 1 || !end || text[end])
        return 0;
    return number;
}

bool secrets_is_mark(const char *text)
{
    return secrets_number(text) > 0;
}

/* Whether the name matches `X`, `*X` or `*X*`, without regard to case. fnmatch() does the same in
 * many times the time, and a submission has a whole environment. */
static bool secrets_matches(const char *pattern, const char *name)
{
    bool has_head = *pattern == '*';
    pattern += has_head;
    size_t size = strcspn(pattern, "*");
    do {
        if (toupper((unsigned char)*name) == *pattern && strncasecmp(name, pattern, size) == 0 &&
            (pattern[size] || !name[size]))
            return true;
    } while (has_head && *name++);
    return false;
}

bool secrets_is(const char *name, const char *value)
{
    if (!*value)
        return false;
    if (secrets_is_mark(value)) /* otherwise the value would be read as the mark of a secret */
        return true;
    for (size_t i = 0; i < sizeof secrets_names / sizeof *secrets_names; i++)
        if (secrets_matches(secrets_names[i], name))
            return true;
    return secrets_has_password(value) || secrets_has_variables(name, value);
}

char *secrets_add(json_t *secrets, const char *name, const char *value)
{
    json_t *values = json_object_get(secrets, name), *other;
    size_t index;
    if (!values) {
        values = json_array();
        (void)json_object_set_new(secrets, name, values); /* fails only without memory */
    }
    json_array_foreach(values, index, other) if (text_equal(json_string_value(other), value)) break;
    if (index == json_array_size(values))
        (void)json_array_append_new(values, json_string(value)); /* as above */
    return index ? text_format("(secret %zu)", index + 1) : xstrdup("(secret)");
}

const char *secrets_value(const json_t *secrets, const char *name, const char *text)
{
    unsigned number = secrets_number(text);
    if (!number)
        return text;
    return json_string_value(json_array_get(json_object_get(secrets, name), number - 1));
}

static char *secrets_replace(char *take_text, const char *value)
{
    struct text text = {0};
    const char *from = take_text, *at;
    while ((at = strstr(from, value))) {
        text_add_bytes(&text, from, (size_t)(at - from));
        text_add(&text, "(secret)");
        from = at + strlen(value);
    }
    text_add(&text, from);
    free(take_text);
    return text_steal(&text);
}

static int secrets_compare(const void *a, const void *b)
{
    size_t one = strlen(*(const char *const *)a), other = strlen(*(const char *const *)b);
    return (one < other) - (one > other);
}

/* The longest value comes first, because a part of it may be another value. */
char *secrets_scrub(const json_t *secrets, char *take_text)
{
    const char **list = NULL, *name;
    size_t count = 0, index;
    json_t *values, *value;
    json_object_foreach((json_t *)secrets, name, values)
    {
        json_array_foreach(values, index, value)
        {
            if (json_string_length(value) < SECRETS_SCRUB_MIN)
                continue;
            list = xrealloc(list, (count + 1) * sizeof *list);
            list[count++] = json_string_value(value);
        }
    }
    if (count)
        qsort(list, count, sizeof *list, secrets_compare);
    for (size_t i = 0; i < count; i++)
        take_text = secrets_replace(take_text, list[i]);
    free(list);
    return take_text;
}
