/* Findings, and how people see them. */
#include "cli/doctor/finding.h"

#include "cli/field.h"
#include "cli/table.h"
#include "lib/text.h"

#include <stdarg.h>

static const struct {
    const char *word;
    enum colour colour;
} finding_words[FINDING_COUNT] = {
    [FINDING_OK] = {"ok", COLOUR_GREEN},
    [FINDING_NOTE] = {"note", COLOUR_CYAN},
    [FINDING_WARNING] = {"warning", COLOUR_YELLOW},
    [FINDING_ERROR] = {"error", COLOUR_RED},
};

void finding_add(json_t *findings, enum finding_severity severity, const char *what,
                 const char *advice, const char *format, ...)
{
    struct text raw = {0}, seen = {0};
    va_list args;
    va_start(args, format);
    text_addv(&raw, format, args);
    va_end(args);
    /* The text may quote the output of a program or a line of a file, with any bytes. */
    text_add_visible(&seen, text_string(&raw), raw.size, "");
    (void)json_array_append_new(findings, json_pack("{s:s, s:s, s:s, s:s?}", "severity",
                                                    finding_words[severity].word, "what", what,
                                                    "seen", text_string(&seen), "advice", advice));
    text_fini(&raw);
    text_fini(&seen);
}

size_t finding_count(const json_t *findings, enum finding_severity severity)
{
    const json_t *finding;
    size_t i, count = 0;
    json_array_foreach(findings, i, finding)
    {
        count += text_equal(field_text(finding, "severity"), finding_words[severity].word);
    }
    return count;
}

static enum colour finding_colour(const char *word)
{
    for (size_t i = 0; i < FINDING_COUNT; i++)
        if (text_equal(finding_words[i].word, word))
            return finding_words[i].colour;
    return COLOUR_PLAIN;
}

void finding_write(const json_t *findings, const struct terminal *terminal, struct text *text)
{
    static const struct table_column columns[] = {
        {NULL, TABLE_LEFT, TABLE_WHOLE},
        {NULL, TABLE_LEFT, TABLE_NAME},
        {NULL, TABLE_LEFT, TABLE_REST},
    };
    size_t errors = finding_count(findings, FINDING_ERROR), i;
    size_t warnings = finding_count(findings, FINDING_WARNING);
    const json_t *finding;
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    json_array_foreach(findings, i, finding)
    {
        const char *word = field_text(finding, "severity"), *advice = field_text(finding, "advice");
        table_add_in(&table, finding_colour(word), word);
        table_add(&table, field_text(finding, "what"));
        table_add(&table, field_text(finding, "seen"));
        if (!*advice)
            continue;
        table_add(&table, "");
        table_add(&table, "");
        table_addf_in(&table, COLOUR_BOLD, "-> %s", advice);
    }
    table_write(&table, terminal, 0, text);
    text_addf(text, "%zu error%s, %zu warning%s\n", errors, errors == 1 ? "" : "s", warnings,
              warnings == 1 ? "" : "s");
}
