/* Collecting, ordering and printing problems. */
#include "lib/spec/problems.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void spec_problems_fini(struct spec_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++) {
        free(problems->items[i].path);
        free(problems->items[i].message);
    }
    free(problems->items);
    free(problems->file);
    *problems = (struct spec_problems){0};
}

/* Returns the problem of the place, or NULL. Each place has only one problem, because a second one
 * mostly follows from the first: half of an expression that a comma has cut is not an expression.
 * Without a position, problems with different messages are different. */
static struct spec_problem *spec_problems_find(const struct spec_problems *problems, unsigned line,
                                               unsigned column, const char *path,
                                               const char *message)
{
    for (size_t i = 0; i < problems->count; i++) {
        struct spec_problem *item = &problems->items[i];
        if (item->line == line && item->column == column && text_equal(item->path, path) &&
            (line || text_equal(item->message, message)))
            return item;
    }
    return NULL;
}

/* Returns where a new problem of the place belongs. A new error takes the place of a warning. NULL:
 * the problem is not kept. */
static struct spec_problem *spec_problems_room(struct spec_problems *problems,
                                               struct spec_problem *found,
                                               enum spec_severity severity)
{
    if (found && (severity != SPEC_ERROR || found->severity == SPEC_ERROR))
        return NULL;
    if (found) {
        free(found->path);
        free(found->message);
        return found;
    }
    if (problems->count >= SPEC_PROBLEMS_MAX)
        return NULL;
    size_t size = (problems->count + 1) * sizeof *problems->items;
    problems->items = xrealloc(problems->items, size);
    return &problems->items[problems->count++];
}

void spec_problems_addv(struct spec_problems *problems, enum spec_severity severity, unsigned line,
                        unsigned column, const char *path, const char *format, va_list args)
{
    struct text message = {0};
    text_addv(&message, format, args);
    /* Errors are counted even when there is no room, so that the result does not depend on the
     * order. */
    bool is_full = problems->count >= SPEC_PROBLEMS_MAX;
    struct spec_problem *found =
        spec_problems_find(problems, line, column, path, text_string(&message));
    struct spec_problem *item = spec_problems_room(problems, found, severity);
    if (severity == SPEC_ERROR && (item || is_full))
        problems->error_count++;
    if (!item) {
        text_fini(&message);
        return;
    }
    *item = (struct spec_problem){
        .severity = severity,
        .line = line,
        .column = column,
        .path = xstrdup(path),
        .message = text_steal(&message),
        .is_probed = problems->is_probing,
    };
}

void spec_problems_add(struct spec_problems *problems, enum spec_severity severity, unsigned line,
                       unsigned column, const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    spec_problems_addv(problems, severity, line, column, path, format, args);
    va_end(args);
}

const char *spec_problems_nearest(struct spec_problems *problems, const char *name,
                                  const char *const *names, size_t count)
{
    if (problems->compared + count > SPEC_PROBLEMS_COMPARED_MAX)
        return NULL;
    problems->compared += count;
    return text_nearest(name, names, count);
}

static int spec_problems_compare(const void *a, const void *b)
{
    const struct spec_problem *left = a, *right = b;
    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    if (left->column != right->column)
        return left->column < right->column ? -1 : 1;
    int order = strcmp(left->path, right->path);
    return order ? order : strcmp(left->message, right->message);
}

void spec_problems_sort(struct spec_problems *problems)
{
    if (problems->count)
        qsort(problems->items, problems->count, sizeof *problems->items, spec_problems_compare);
}

void spec_problems_text(const struct spec_problems *problems, struct text *text)
{
    for (size_t i = 0; i < problems->count; i++) {
        const struct spec_problem *item = &problems->items[i];
        if (problems->file)
            text_add(text, problems->file);
        if (problems->file && item->line)
            text_addf(text, ":%u:%u", item->line, item->column);
        if (problems->file)
            text_add(text, ": ");
        if (item->severity == SPEC_WARNING)
            text_add(text, "warning: ");
        if (item->path[0])
            text_addf(text, "%s: ", item->path);
        text_addf(text, "%s\n", item->message);
    }
}

void spec_problems_json(const struct spec_problems *problems, json_t *list)
{
    for (size_t i = 0; i < problems->count; i++) {
        const struct spec_problem *item = &problems->items[i];
        json_t *json = json_pack("{s:s?, s:I, s:I, s:s, s:s, s:s}", "file", problems->file, "line",
                                 (json_int_t)item->line, "column", (json_int_t)item->column, "path",
                                 item->path ? item->path : "", "message", item->message, "severity",
                                 item->severity == SPEC_ERROR ? "error" : "warning");
        (void)json_array_append_new(list,
                                    json ? json : json_null()); /* fails without memory only */
    }
}
