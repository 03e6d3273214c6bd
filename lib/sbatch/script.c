/* Reads the lines of an sbatch script. */
#include "lib/sbatch/script.h"

#include "lib/memory.h"
#include "lib/sbatch/import.h"
#include "lib/spec/problems.h"

#include <assert.h>
#include <ctype.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char directive[] = "#SBATCH";

/* One line that is being read word by word. */
struct reader {
    struct sbatch_script *script;
    const char *line, *at, *end;
    unsigned number;
    bool has_command; /* sbatch reads no options any more */
    bool is_words;    /* the line was made of the words before a script */
};

static const char byte_order_mark[] = "\xef\xbb\xbf";

static bool begins_with(const char *data, size_t size, const char *word)
{
    return size >= strlen(word) && memcmp(data, word, strlen(word)) == 0;
}

static bool has_line(const char *data, size_t size, const char *begin)
{
    for (const char *at = data, *end = data + size; at && at < end;) {
        if (begins_with(at, (size_t)(end - at), begin))
            return true;
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    return false;
}

bool sbatch_is_script(const char *data, size_t size)
{
    size_t mark = begins_with(data, size, byte_order_mark) ? strlen(byte_order_mark) : 0;
    return begins_with(data + mark, size - mark, "#!") ||
           (has_line(data, size, directive) && !has_line(data, size, "phases:"));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void add_problem(const struct reader *reader, enum spec_severity severity, const char *at,
                        const char *path, const char *message)
{
    unsigned column = reader->is_words ? 0 : (unsigned)(at - reader->line) + 1;
    char *word = text_format("%s%s", reader->is_words && *path ? "--" : "", path);
    spec_problems_add(reader->script->problems, severity, reader->number, column, word, "%s",
                      message);
    free(word);
}

static bool is_utf8(const char *value)
{
    json_t *string = json_string(value);
    json_decref(string);
    return string;
}

/* Reads the next word without its quotes. False: the line ends, or a comment begins. */
static bool next_word(struct reader *reader, struct text *word, const char **ret_begin)
{
    text_clear(word);
    while (reader->at < reader->end && is_blank(*reader->at))
        reader->at++;
    *ret_begin = reader->at;
    if (reader->at == reader->end || *reader->at == '#')
        return false;
    char quote = '\0';
    for (; reader->at < reader->end; reader->at++) {
        char c = *reader->at;
        if (!quote && (is_blank(c) || (c == '#' && !reader->is_words)))
            break;
        if (c == '\\' && reader->at + 1 == reader->end) /* there is no next line to join: sbatch
                                                         * drops the backslash */
            continue;
        if (c == '\\' && reader->at + 1 < reader->end && quote != '\'') {
            text_add_bytes(word, ++reader->at, 1);
        } else if (c == quote) {
            quote = '\0';
        } else if (!quote && (c == '"' || c == '\'')) {
            quote = c;
        } else {
            text_add_bytes(word, &c, 1);
        }
    }
    if (quote)
        add_problem(reader, SPEC_ERROR, *ret_begin, "", "a quote is not closed");
    return !(*ret_begin + 1 == reader->end && **ret_begin == '\\');
}

static void replace(struct sbatch_script *script, const struct sbatch_option *option,
                    const struct sbatch_given *given)
{
    struct sbatch_given *place = &script->given[option - sbatch_options];
    free(place->value);
    free(place->variable);
    *place = *given;
}

/* Whether a person probably expects that the shell replaces a part of the value. */
static bool looks_expanded(const char *value)
{
    for (const char *at = strchr(value, '$'); at; at = strchr(at + 1, '$'))
        if (isalpha((unsigned char)at[1]) || (at[1] && strchr("_{(", at[1])))
            return true;
    return false;
}

static void give(struct reader *reader, const struct sbatch_option *option, const char *value,
                 const char *begin)
{
    struct sbatch_given given = {.line = reader->number};
    if (reader->is_words)
        given.variable = text_format("--%s", option->name);
    else
        given.column = (unsigned)(begin - reader->line) + 1;
    if (reader->is_words && !is_utf8(value)) {
        add_problem(reader, SPEC_ERROR, begin, option->name, "it is not UTF-8 text");
        value = "";
    }
    if (!reader->is_words && looks_expanded(value))
        add_problem(reader, SPEC_ERROR, begin, option->name,
                    "sbatch expands no variables in #SBATCH lines: write the value");
    given.value = xstrdup(value);
    replace(reader->script, option, &given);
}

/* Takes an option whose name is known. `joined` is the value that was written after `=`, or
 * NULL. */
static void take_option(struct reader *reader, const struct sbatch_option *option,
                        const char *joined, const char *begin)
{
    struct text word = {0};
    const char *ignored, *value = joined;
    if (option->value == SBATCH_NONE && joined) {
        add_problem(reader, SPEC_ERROR, begin, option->name, "takes no value");
        value = NULL;
    }
    if (option->value == SBATCH_NEEDED && !joined) {
        if (next_word(reader, &word, &ignored))
            value = text_string(&word);
        else
            add_problem(reader, SPEC_ERROR, begin, option->name, "its value is missing");
    }
    give(reader, option, value ? value : "", begin);
    text_fini(&word);
}

static void take_long(struct reader *reader, char *name, const char *begin)
{
    const char *nearest;
    char *equals = strchr(name, '=');
    if (equals)
        *equals = '\0';
    const struct sbatch_option *option = sbatch_option_find(name, &nearest);
    if (option) {
        take_option(reader, option, equals ? equals + 1 : NULL, begin);
        return;
    }
    char *message = nearest
                        ? text_format("sbatch has no option --%s; is --%s meant?", name, nearest)
                        : text_format("sbatch has no option --%s", name);
    add_problem(reader, SPEC_ERROR, begin, "", message);
    free(message);
}

/* Reads -N2, -N 2, and joined letters without a value, such as -vQ. */
static void take_letters(struct reader *reader, const char *letters, const char *begin)
{
    while (*letters) {
        const struct sbatch_option *option = sbatch_option_of_letter(*letters);
        if (!option) {
            char *message = text_format("sbatch has no option -%c", *letters);
            add_problem(reader, SPEC_ERROR, begin, "", message);
            free(message);
            reader->at = reader->end; /* an unknown option may have a value: skip the line */
            return;
        }
        letters++;
        if (option->value != SBATCH_NONE) {
            take_option(reader, option, *letters ? letters : NULL, begin);
            return;
        }
        take_option(reader, option, NULL, begin);
    }
}

static void take_directive(struct reader *reader)
{
    struct text word = {0};
    const char *begin;
    reader->at = reader->line + strlen(directive);
    for (bool is_first = true; next_word(reader, &word, &begin); is_first = false) {
        char *copy = xstrdup(text_string(&word));
        if (text_starts(copy, "--") && copy[2])
            take_long(reader, copy + 2, begin);
        else if (copy[0] == '-' && copy[1] && copy[1] != '-')
            take_letters(reader, copy + 1, begin);
        else if (text_equal(copy, "hetjob") || text_equal(copy, "packjob"))
            add_problem(reader, SPEC_ERROR, begin, "",
                        "a heterogeneous job: make its parts phases of a workflow");
        else
            add_problem(reader, SPEC_ERROR, begin, "",
                        is_first ? "an option was expected here"
                                 : "an option was expected here; a value that has spaces needs "
                                   "quotes: --comment=\"two words\"");
        free(copy);
    }
    text_fini(&word);
}

static void read_line(struct reader *reader)
{
    size_t size = (size_t)(reader->end - reader->line);
    const char *behind = reader->line + strlen(directive);
    bool is_directive = begins_with(reader->line, size, directive) &&
                        (behind == reader->end || is_blank(*behind) || *behind == '-');
    if (is_directive && !reader->has_command) {
        take_directive(reader);
        if (reader->script->keeps_lines)
            text_add(&reader->script->body, "\n");
        else
            reader->script->lines_left_out++;
        return;
    }
    if (is_directive)
        add_problem(reader, SPEC_WARNING, reader->line, "",
                    "sbatch reads no options after the first command: this line has no effect");
    if (!reader->has_command && ((size > 5 && memcmp(reader->line, "#PBS ", 5) == 0) ||
                                 (size > 6 && memcmp(reader->line, "#BSUB ", 6) == 0)))
        add_problem(reader, SPEC_WARNING, reader->line, "",
                    "left out: only #SBATCH lines are read");
    const char *first = reader->line;
    while (first < reader->end && is_blank(*first))
        first++;
    reader->has_command |= first < reader->end && *first != '#';
    text_add_bytes(&reader->script->body, reader->line, size);
    text_add(&reader->script->body, "\n");
}

void sbatch_script_read(struct sbatch_script *script, const char *file, const char *data,
                        size_t size, struct spec_problems *problems)
{
    script->file = file;
    script->problems = problems;
    assert(sbatch_option_count <= SBATCH_OPTIONS_MAX);
    json_t *text = json_stringn(data, size);
    json_decref(text);
    const char *reason =
        !text || memchr(data, '\0', size) ? "it is not UTF-8 text"
        : begins_with(data, size, byte_order_mark)
            ? "it begins with a byte order mark (BOM): save it as UTF-8 without a BOM"
        : size < 3 || !begins_with(data, size, "#!")
            ? "its first line must begin with #! and the path of an interpreter, "
              "such as #!/bin/bash"
        : memmem(data, size, "\r\n", 2)
            ? "its lines end with CRLF, as on Windows, and sbatch refuses that, too: use `dos2unix`"
            : NULL;
    if (reason) {
        spec_problems_add(problems, SPEC_ERROR, 1, 1, "", "not a batch script: %s", reason);
        return;
    }
    struct reader reader = {.script = script};
    script->lines_left_out = 1; /* the line of the interpreter */
    for (const char *at = data; at < data + size; at = reader.end + 1) {
        const char *end = memchr(at, '\n', (size_t)(data + size - at));
        const char *next = end ? end : data + size;
        reader.line = at;
        reader.number++;
        reader.end = next;
        if (reader.number == 1)
            script->interpreter = text_format("%.*s", (int)(reader.end - at - 2), at + 2);
        else
            read_line(&reader);
    }
}

/* --- Variables -------------------------------------------------------------------------------- */

static const char *find_variable(char *const *environment, const char *name)
{
    size_t size = strlen(name);
    for (char *const *at = environment; *at; at++)
        if (strncmp(*at, name, size) == 0 && (*at)[size] == '=')
            return *at + size + 1;
    return NULL;
}

/* Whether the variable sets a flag: it is empty, `yes` or a number other than 0. */
static bool is_set(const char *value)
{
    return !*value || strcasecmp(value, "yes") == 0 || strtol(value, NULL, 10) != 0;
}

static void take_variable(struct sbatch_script *script, char *const *environment, const char *name,
                          const struct sbatch_option *option)
{
    const char *value = find_variable(environment, name);
    if (!value || (option->value == SBATCH_NONE && !is_set(value)))
        return;
    if (!is_utf8(value)) {
        spec_problems_add(script->problems, SPEC_ERROR, 0, 0, name, "it is not UTF-8 text");
    } else if (option->value == SBATCH_NEEDED && !*value) {
        spec_problems_add(script->problems, SPEC_WARNING, 0, 0, name, "left out: it is empty");
    } else {
        const struct sbatch_given given = {.value = xstrdup(value), .variable = xstrdup(name)};
        replace(script, option, &given);
    }
}

/* SBATCH_DEBUG, and the SLURM_* variables that control sbatch itself, mean nothing for a phase. */
void sbatch_variables_read(struct sbatch_script *script, char *const *environment)
{
    for (size_t i = 0; i < sbatch_option_count; i++) {
        const struct sbatch_option *option = &sbatch_options[i];
        if (text_equal(option->name, "clusters")) /* SBATCH_CLUSTERS overrides SLURM_CLUSTERS */
            take_variable(script, environment, "SLURM_CLUSTERS", option);
        if (text_equal(option->name, "hint"))
            take_variable(script, environment, "SLURM_HINT", option);
        if (option->variable)
            take_variable(script, environment, option->variable, option);
    }
    if (find_variable(environment, "SBATCH_WAIT4SWITCH"))
        spec_problems_add(script->problems, SPEC_WARNING, 0, 0, "SBATCH_WAIT4SWITCH",
                          "left out: use --switches=COUNT@TIME in the script");
}

/* --- Words ------------------------------------------------------------------------------------ */

/* Quotes the words and reads them as a line: lines and words have the same grammar. */
void sbatch_words_read(struct sbatch_script *script, const struct sbatch_arguments *words)
{
    struct text line = {0};
    text_add(&line, directive);
    for (size_t i = 0; i < words->count; i++) {
        text_add(&line, " ");
        text_add_quoted(&line, words->items[i]);
    }
    const char *data = text_string(&line);
    struct reader reader = {
        .script = script, .line = data, .end = data + line.size, .is_words = true};
    take_directive(&reader);
    text_fini(&line);
}

void sbatch_script_fini(struct sbatch_script *script)
{
    for (size_t i = 0; i < SBATCH_OPTIONS_MAX; i++) {
        free(script->given[i].value);
        free(script->given[i].variable);
    }
    free(script->interpreter);
    text_fini(&script->body);
}

const struct sbatch_given *sbatch_given(const struct sbatch_script *script, const char *name)
{
    for (size_t i = 0; i < sbatch_option_count; i++)
        if (text_equal(sbatch_options[i].name, name))
            return &script->given[i];
    assert(false && "an option of the table");
    return NULL;
}

void sbatch_refuse(const struct sbatch_script *script, const char *name, const char *format, ...)
{
    const struct sbatch_given *given = sbatch_given(script, name);
    va_list args;
    va_start(args, format);
    spec_problems_addv(script->problems, SPEC_ERROR, given->line, given->column,
                       given->variable ? given->variable : name, format, args);
    va_end(args);
}

void sbatch_warn(const struct sbatch_script *script, const char *name, const char *format, ...)
{
    const struct sbatch_given *given = sbatch_given(script, name);
    va_list args;
    va_start(args, format);
    spec_problems_addv(script->problems, SPEC_WARNING, given->line, given->column,
                       given->variable ? given->variable : name, format, args);
    va_end(args);
}
