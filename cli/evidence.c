/* Showing evidence of a hang. */
#include "cli/evidence.h"

#include "cli/field.h"
#include "cli/table.h"
#include "lib/text.h"

#include <math.h>
#include <stdint.h>
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
        {"PID", TABLE_RIGHT, false},     {"RANK", TABLE_RIGHT, false},
        {"STATE", TABLE_LEFT, false},    {"CPU", TABLE_RIGHT, false},
        {"THREADS", TABLE_RIGHT, false}, {"SOCKETS", TABLE_RIGHT, false},
        {"IN", TABLE_LEFT, false},       {"COMMAND", TABLE_LEFT, true},
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

static void evidence_write_nccl(const json_t *node, struct text *text)
{
    const char *line = field_text(node, "nccl");
    if (!line[0])
        return;
    text_add(text, "    NCCL says:\n");
    for (unsigned lines = 0; *line && lines < EVIDENCE_LINES_MAX;) {
        size_t length = strcspn(line, "\n");
        char *copy = text_format("%.*s", (int)length, line);
        if (length) {
            text_add(text, "      ");
            terminal_add_cut(text, copy, SIZE_MAX);
            text_add(text, "\n");
            lines++;
        }
        free(copy);
        line += length + (line[length] == '\n');
    }
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
        text_add(text, "  ");
        terminal_add_cut(text, text_string(&line), SIZE_MAX);
        text_add(text, "\n");
        text_fini(&line);
        if (i > 0)
            continue;
        evidence_write_processes(out, node, text);
        evidence_write_nccl(node, text);
    }
}
