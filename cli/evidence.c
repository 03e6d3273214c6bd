/* The evidence of a hang, as text. */
#include "cli/evidence.h"

#include "cli/field.h"
#include "cli/table.h"
#include "lib/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EVIDENCE_PROCESSES_MAX = 12, EVIDENCE_LINES_MAX = 16 }; /* one screen */

static void evidence_add_place(struct table *table, const json_t *process)
{
    const char *call = field_text(process, "call"), *wait = field_text(process, "wait");
    bool has_both = call[0] && wait[0];
    table_addf(table, COLOUR_PLAIN, "%s%s%s%s", call, has_both ? " (" : "", wait,
               has_both ? ")" : "");
}

static void evidence_write_processes(const struct terminal *out, const json_t *node,
                                     struct text *text)
{
    static const struct table_column columns[] = {
        {"PID", TABLE_RIGHT, TABLE_WHOLE},     {"RANK", TABLE_RIGHT, TABLE_WHOLE},
        {"STATE", TABLE_LEFT, TABLE_WHOLE},    {"CPU", TABLE_RIGHT, TABLE_WHOLE},
        {"THREADS", TABLE_RIGHT, TABLE_WHOLE}, {"SOCKETS", TABLE_RIGHT, TABLE_WHOLE},
        {"IN", TABLE_LEFT, TABLE_WHOLE},       {"COMMAND", TABLE_LEFT, TABLE_REST},
    };
    const json_t *processes = json_object_get(node, "processes"), *process;
    size_t i, count = json_array_size(processes);
    struct table table;
    if (count == 0)
        return;
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    json_array_foreach(processes, i, process)
    {
        const char *command = field_text(process, "command");
        if (i == EVIDENCE_PROCESSES_MAX)
            break;
        table_addf(&table, COLOUR_PLAIN, "%lld", field_integer(process, "pid"));
        if (json_is_integer(json_object_get(process, "rank")))
            table_addf(&table, COLOUR_PLAIN, "%lld", field_integer(process, "rank"));
        else
            table_add(&table, COLOUR_PLAIN, "");
        table_add(&table, COLOUR_PLAIN, field_text(process, "state"));
        table_addf(&table, COLOUR_PLAIN, "%.0f%%", 100 * field_number(process, "cpu"));
        table_addf(&table, COLOUR_PLAIN, "%lld", field_integer(process, "threads"));
        table_addf(&table, COLOUR_PLAIN, "%lld", field_integer(process, "sockets"));
        evidence_add_place(&table, process);
        table_add(&table, COLOUR_PLAIN, command[0] ? command : field_text(process, "name"));
    }
    table_write(&table, out, 4, text);
    table_fini(&table);
    long long more = field_integer(node, "omitted");
    more += count > EVIDENCE_PROCESSES_MAX ? (long long)count - EVIDENCE_PROCESSES_MAX : 0;
    if (more > 0)
        text_addf(text, "    ... and %lld more\n", more);
}

/* Adds the first lines of what another program printed. */
static void evidence_write_lines(const char *title, const char *line, struct text *text)
{
    text_addf(text, "    %s:\n", title);
    for (unsigned lines = 0; *line && lines < EVIDENCE_LINES_MAX;) {
        size_t length = strcspn(line, "\n");
        char *copy = text_format("%.*s", (int)length, line);
        if (length) {
            text_add(text, "      ");
            terminal_add_plain(text, copy);
            text_add(text, "\n");
            lines++;
        }
        free(copy);
        line += length + (line[length] == '\n');
    }
}

/* Shows the stack of one process. Those of the others are mostly the same. */
static void evidence_write_python(const json_t *node, struct text *text)
{
    const json_t *pythons = json_object_get(node, "python"), *python = json_array_get(pythons, 0);
    size_t more = json_array_size(pythons);
    if (!python)
        return;
    char *title = more > 1 ? text_format("py-spy says of pid %lld, and %zu more in --json",
                                         field_integer(python, "pid"), more - 1)
                           : text_format("py-spy says of pid %lld", field_integer(python, "pid"));
    evidence_write_lines(title, field_text(python, "stacks"), text);
    free(title);
}

static void evidence_add_column(const json_t *gpus, const char *name, const char *unit,
                                struct text *line)
{
    const json_t *column = json_object_get(gpus, name), *value;
    size_t i;
    if (!json_is_array(column))
        return;
    text_add(line, line->size ? "; " : "");
    json_array_foreach(column, i, value)
    {
        if (json_is_number(value))
            text_addf(line, "%.0f ", json_number_value(value));
        else
            text_add(line, "- ");
    }
    text_add(line, unit);
}

static void evidence_write_gpus(const json_t *node, struct text *text)
{
    const json_t *gpus = json_object_get(node, "gpus");
    struct text line = {0};
    evidence_add_column(gpus, "util", "% busy", &line);
    evidence_add_column(gpus, "power_w", "W", &line);
    if (line.size) {
        terminal_add_line(text, "    its GPUs: ", &line);
    }
    text_fini(&line);
}

void evidence_write(const struct terminal *out, const json_t *evidence, struct text *text)
{
    const json_t *node;
    size_t i;
    json_array_foreach(evidence, i, node)
    {
        double silent_s = field_number(node, "silent");
        struct text line = {0};
        text_add(&line, field_text(node, "node"));
        if (!isnan(silent_s))
            text_addf(&line, " showed nothing for %.0f s", silent_s);
        text_addf(&line, ": %s", field_text(node, "summary"));
        terminal_add_line(text, "  ", &line);
        if (i > 0)
            continue;
        evidence_write_processes(out, node, text);
        evidence_write_gpus(node, text);
        evidence_write_python(node, text);
        if (field_text(node, "nccl")[0])
            evidence_write_lines("NCCL says", field_text(node, "nccl"), text);
    }
}
