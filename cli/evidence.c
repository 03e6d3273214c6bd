/* For `why`: the evidence of a hang, and the last lines of a log. */
#include "cli/evidence.h"

#include "cli/field.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "lib/clock.h"
#include "lib/file.h"
#include "lib/protocol/told_evidence.h"
#include "lib/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- The evidence of a hang ------------------------------------------------------------------- */

enum { EVIDENCE_PROCESSES_MAX = 12, EVIDENCE_LINES_MAX = 16 }; /* one screen */

static void evidence_add_place(struct table *table, const json_t *process)
{
    const char *call = field_text(process, "call"), *wait = field_text(process, "wait");
    bool has_both = call[0] && wait[0];
    table_addf(table, "%s%s%s%s", call, has_both ? " (" : "", wait, has_both ? ")" : "");
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
        table_addf(&table, "%lld", field_integer(process, "pid"));
        const struct told_process told = told_process_read(process);
        if (told.rank >= 0)
            table_addf(&table, "%lld", (long long)told.rank);
        else if (told.group >= 0)
            table_addf(&table, "group %lld", (long long)told.group);
        else
            table_add(&table, "");
        table_add(&table, field_text(process, "state"));
        table_addf(&table, "%.0f%%", 100 * field_number(process, "cpu"));
        table_addf(&table, "%lld", field_integer(process, "threads"));
        table_addf(&table, "%lld", field_integer(process, "sockets"));
        evidence_add_place(&table, process);
        table_add(&table, command[0] ? command : field_text(process, "name"));
    }
    table_write(&table, out, 4, text);
    long long more = field_integer(node, "omitted");
    more += count > EVIDENCE_PROCESSES_MAX ? (long long)count - EVIDENCE_PROCESSES_MAX : 0;
    if (more > 0)
        text_addf(text, "    ... and %lld more\n", more);
}

/* Adds the first lines of what another program printed; without empty lines if `is_dense`. */
static void evidence_write_lines(const char *before, const char *line, unsigned lines_max,
                                 bool is_dense, struct text *text)
{
    for (unsigned lines = 0; *line && lines < lines_max;) {
        size_t length = strcspn(line, "\n");
        struct text copy = {0};
        text_add_bytes(&copy, line, length);
        if (length || !is_dense) {
            terminal_add_line(text, before, &copy);
            lines++;
        }
        text_fini(&copy);
        line += length + (line[length] == '\n');
    }
}

/* Shows the stack of one process. The other stacks are mostly the same. */
static void evidence_write_python(const json_t *node, struct text *text)
{
    const json_t *pythons = json_object_get(node, "python"), *python = json_array_get(pythons, 0);
    size_t more = json_array_size(pythons);
    if (!python)
        return;
    text_addf(text, "    py-spy about pid %lld", field_integer(python, "pid"));
    if (more > 1)
        text_addf(text, ", and %zu more in --json", more - 1);
    text_add(text, ":\n");
    evidence_write_lines("      ", field_text(python, "stacks"), EVIDENCE_LINES_MAX, true, text);
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

static void evidence_write_gpus(const struct terminal *out, const json_t *node, struct text *text)
{
    const json_t *gpus = json_object_get(node, "gpus");
    struct text line = {0};
    evidence_add_column(gpus, "util", "% busy", &line);
    evidence_add_column(gpus, "power_w", "W", &line);
    if (line.size)
        terminal_add_folded(out, text, "    its GPUs: ", &line);
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
        terminal_add_folded(out, text, "  ", &line);
        if (i > 0)
            continue;
        evidence_write_processes(out, node, text);
        evidence_write_gpus(out, node, text);
        evidence_write_python(node, text);
        if (field_text(node, "nccl")[0])
            text_add(text, "    NCCL says:\n");
        evidence_write_lines("      ", field_text(node, "nccl"), EVIDENCE_LINES_MAX, true, text);
    }
}

/* --- The last lines of a log ------------------------------------------------------------------ */

enum {
    TAIL_LINES_MAX = 10,
    TAIL_BYTES = 16384, /* the lines are looked for in the last 16 KiB */
    TAIL_LOGS_MAX = 64, /* at most these are searched for a line */
};

/* Returns the end of a log; the caller frees it. NULL: the log cannot be read. */
static char *tail_read(const json_t *log)
{
    char *data = NULL;
    (void)file_read_end(field_text(log, "path"), TAIL_BYTES, &data, NULL, NULL);
    return data;
}

/* Chooses the log with the line by which the failure was recognised. Otherwise the log of the rank
 * that the message names. Otherwise the first log. */
static const json_t *tail_find_log(const json_t *run, const json_t *answer)
{
    const json_t *logs = json_object_get(answer, "logs"), *log;
    const char *message = field_text(run, "message");
    const char *known = field_text(json_object_get(run, "failure"), "line");
    unsigned rank;
    size_t i;
    json_array_foreach(logs, i, log)
    {
        char *data = known[0] && i < TAIL_LOGS_MAX ? tail_read(log) : NULL;
        bool has_line = data && strstr(data, known);
        free(data);
        if (has_line)
            return log;
    }
    if (sscanf(message, "rank %9u", &rank) == 1)
        json_array_foreach(logs, i, log)
        {
            if (field_integer(log, "rank") == (long long)rank)
                return log;
        }
    return json_array_get(logs, 0);
}

/* Removes the lines that have only a time. */
static void tail_remove_blank(char *data)
{
    char *to = data;
    for (const char *line = data; *line;) {
        size_t length = strcspn(line, "\n"), size = length + (line[length] == '\n');
        size_t time = clock_stamp_size(line, length), blank = strspn(line + time, " \t\r");
        if (time + blank < length) {
            memmove(to, line, size);
            to += size;
        }
        line += size;
    }
    *to = '\0';
}

void tail_write(const json_t *run, const json_t *logs, struct text *text)
{
    const json_t *log = tail_find_log(run, logs);
    char *data = tail_read(log);
    if (!data)
        return;
    tail_remove_blank(data);
    if (data[0])
        text_addf(text, "  the last lines of rank %lld, in %s:\n", field_integer(log, "rank"),
                  field_text(log, "path"));
    evidence_write_lines("    ", text_last_lines(data, TAIL_LINES_MAX), TAIL_LINES_MAX, false,
                         text);
    free(data);
}
