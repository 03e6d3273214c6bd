/* Problems of a spec in the form that editors jump to. */
#include "cli/problems.h"

#include "cli/field.h"
#include "lib/spec/problems.h"
#include "lib/text.h"

#include <stdio.h>
#include <string.h>

void problems_print(const char *file, const json_t *problems)
{
    const json_t *problem;
    size_t i;
    json_array_foreach(problems, i, problem)
    {
        const char *named = field_text(problem, "file"), *path = field_text(problem, "path");
        long long line = field_integer(problem, "line");
        struct text text = {0};
        text_add(&text, named[0] ? named : file);
        if (line)
            text_addf(&text, ":%lld:%lld", line, field_integer(problem, "column"));
        text_add(&text, ": ");
        if (strcmp(field_text(problem, "severity"), "warning") == 0)
            text_add(&text, "warning: ");
        if (path[0])
            text_addf(&text, "%s: ", path);
        text_add(&text, json_is_string(problem) ? json_string_value(problem)
                                                : field_text(problem, "message"));
        (void)fprintf(stderr, "%s\n", text_string(&text));
        text_fini(&text);
    }
}

void problems_print_all(const struct spec_problems *problems)
{
    struct text text = {0};
    spec_problems_text(problems, &text);
    (void)fputs(text_string(&text), stderr);
    text_fini(&text);
}
