/* A list of variables. */
#include "worker/process/environment.h"

#include "lib/memory.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

void environment_fini(struct environment *environment)
{
    if (!environment)
        return;
    for (size_t i = 0; i < environment->count; i++)
        free(environment->entries[i]);
    free(environment->entries);
    *environment = (struct environment){0};
}

/* The index of a variable, or `count` if it is not set. */
static size_t environment_find(const struct environment *environment, const char *name, size_t size)
{
    size_t i = 0;
    while (i < environment->count && (strncmp(environment->entries[i], name, size) != 0 ||
                                      environment->entries[i][size] != '='))
        i++;
    return i;
}

void environment_set(struct environment *environment, const char *name, const char *value)
{
    size_t i = environment_find(environment, name, strlen(name));
    if (i == environment->count) {
        if (environment->count + 2 > environment->capacity) {
            environment->capacity = environment->capacity ? 2 * environment->capacity : 64;
            environment->entries =
                xrealloc(environment->entries, environment->capacity * sizeof(char *));
        }
        environment->entries[environment->count++] = NULL;
        environment->entries[environment->count] = NULL;
    }
    free(environment->entries[i]);
    environment->entries[i] = text_format("%s=%s", name, value);
}

void environment_unset(struct environment *environment, const char *name)
{
    size_t i = environment_find(environment, name, strlen(name));
    if (i == environment->count)
        return;
    free(environment->entries[i]);
    environment->entries[i] = environment->entries[--environment->count];
    environment->entries[environment->count] = NULL;
}

void environment_setf(struct environment *environment, const char *name, const char *format, ...)
{
    struct text text = {0};
    va_list args;
    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    environment_set(environment, name, text_string(&text));
    text_fini(&text);
}

const char *environment_get(const struct environment *environment, const char *name)
{
    size_t size = strlen(name), i = environment_find(environment, name, size);
    return i < environment->count ? environment->entries[i] + size + 1 : NULL;
}

bool environment_is_of(const char *name, const char *const *patterns)
{
    while (*patterns && fnmatch(*patterns, name, 0) != 0)
        patterns++;
    return *patterns != NULL;
}

/* Adds a value. In a pattern, its characters mean themselves. */
static void environment_add(struct text *text, const char *value, bool is_pattern)
{
    for (; *value; value++) {
        if (is_pattern && strchr("*?[\\", *value))
            text_add(text, "\\");
        text_add_bytes(text, value, 1);
    }
}

static void environment_replace(const struct environment *environment, const char *string,
                                bool is_pattern, struct text *text)
{
    while (*string) {
        bool is_braced = string[0] == '$' && string[1] == '{';
        const char *name = string + (is_braced ? 2 : 1);
        size_t size = string[0] == '$' ? text_name_size(name, "_") : 0;
        bool is_whole = !is_braced || name[size] == '}';
        size_t i = environment->count;
        if (is_whole && text_starts(name, "PHASED_"))
            i = size ? environment_find(environment, name, size) : i;
        if (i == environment->count) {
            text_add_bytes(text, string++, 1);
            continue;
        }
        environment_add(text, environment->entries[i] + size + 1, is_pattern);
        string = name + size + is_braced;
    }
}

void environment_expand(const struct environment *environment, const char *string,
                        struct text *text)
{
    environment_replace(environment, string, false, text);
}

static char *environment_whole(const struct environment *environment, const char *path,
                               const char *workdir, bool is_pattern)
{
    struct text expanded = {0}, folder = {0}, whole = {0};
    environment_replace(environment, path, is_pattern, &expanded);
    if (text_string(&expanded)[0] != '/' && workdir) {
        environment_expand(environment, workdir, &folder);
        environment_add(&whole, text_string(&folder), is_pattern);
        text_add(&whole, "/");
    }
    text_add(&whole, text_string(&expanded));
    text_fini(&expanded);
    text_fini(&folder);
    return text_steal(&whole);
}

char *environment_path(const struct environment *environment, const char *path, const char *workdir)
{
    return environment_whole(environment, path, workdir, false);
}

char *environment_pattern(const struct environment *environment, const char *pattern,
                          const char *workdir)
{
    return environment_whole(environment, pattern, workdir, true);
}
