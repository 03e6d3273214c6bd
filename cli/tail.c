/* The last lines of a log. */
#include "cli/tail.h"

#include "cli/field.h"
#include "cli/terminal.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAIL_LINES_MAX = 10,
    TAIL_BYTES = 16384, /* the lines are looked for in the last 16 KiB */
    TAIL_LOGS_MAX = 64, /* at most these are searched for a line */
};

/* Reads the end of a log. Returns false if that is not possible. */
static bool tail_read(const json_t *log, char ret_data[TAIL_BYTES + 1])
{
    const char *path = field_text(log, "path");
    FILE *file = path[0] ? fopen(path, "re") : NULL;
    if (!file)
        return false;
    if (fseek(file, -TAIL_BYTES, SEEK_END) < 0)
        rewind(file); /* the file is shorter */
    size_t size = fread(ret_data, 1, TAIL_BYTES, file);
    (void)fclose(file); /* it was only read */
    ret_data[size] = '\0';
    return true;
}

/* Chooses the log with the line by which the failure was recognised. Otherwise the log of the rank
 * that the message names. Otherwise the first log. */
static const json_t *tail_find_log(const json_t *run, const json_t *answer)
{
    const json_t *logs = json_object_get(answer, "logs"), *log;
    const char *message = field_text(run, "message");
    const char *known = field_text(json_object_get(run, "failure"), "line");
    char data[TAIL_BYTES + 1];
    unsigned rank;
    size_t i;
    json_array_foreach(logs, i, log)
    {
        if (known[0] && i < TAIL_LOGS_MAX && tail_read(log, data) && strstr(data, known))
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

/* Where the last lines begin. */
static const char *tail_last_lines(const char *data)
{
    const char *at = data + strlen(data);
    if (at > data && at[-1] == '\n')
        at--;
    for (unsigned lines = 0; at > data; at--)
        if (at[-1] == '\n' && ++lines == TAIL_LINES_MAX)
            break;
    return at;
}

void tail_write(const json_t *run, const json_t *logs, struct text *text)
{
    const json_t *log = tail_find_log(run, logs);
    char data[TAIL_BYTES + 1];
    if (!tail_read(log, data))
        return;
    text_addf(text, "  the last lines of rank %lld, in %s:\n", field_integer(log, "rank"),
              field_text(log, "path"));
    for (const char *line = tail_last_lines(data); *line;) {
        size_t length = strcspn(line, "\n");
        char *copy = text_format("%.*s", (int)length, line);
        text_add(text, "    ");
        terminal_add_plain(text, copy);
        text_add(text, "\n");
        free(copy);
        line += length + (line[length] == '\n');
    }
}
