/* Bytes of a log as lines. */
#include "cli/top/log.h"

#include "cli/terminal.h"
#include "lib/clock.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    LOG_KEEP = 32 * 1024 * 1024, /* bytes; half of them go when there are more */
    LOG_LINE_MAX = 16384,        /* bytes of a line that are shown */
};

void log_close(struct log *log)
{
    free(log->path);
    free(log->starts);
    text_fini(&log->bytes);
    *log = (struct log){0};
}

void log_open(struct log *log, const char *path, long long rank)
{
    log_close(log);
    *log = (struct log){.path = xstrdup_or_null(path), .rank = rank};
}

long long log_offset(const struct log *log)
{
    return log->bytes.size || log->begin ? log->begin + (long long)log->bytes.size : -1;
}

static void log_add_start(struct log *log, size_t start)
{
    if (log->count == log->capacity) {
        log->capacity = log->capacity ? log->capacity * 2 : 1024;
        log->starts = xrealloc(log->starts, log->capacity * sizeof log->starts[0]);
    }
    log->starts[log->count++] = start;
}

/* Finds the lines that begin at `from` or later. */
static void log_split(struct log *log, size_t from)
{
    const char *data = text_string(&log->bytes), *end = data + log->bytes.size, *at = data + from;
    while (at < end) {
        if (at == data || at[-1] == '\n')
            log_add_start(log, (size_t)(at - data));
        const char *line = memchr(at, '\n', (size_t)(end - at));
        at = line ? line + 1 : end;
    }
}

/* Gives up the older half of the lines. */
static size_t log_halve(struct log *log)
{
    size_t gone = log->count / 2, begin = gone ? log->starts[gone] : 0;
    struct text rest = {0};
    text_add_bytes(&rest, log->bytes.data + begin, log->bytes.size - begin);
    text_fini(&log->bytes);
    log->bytes = rest;
    log->begin += (long long)begin;
    log->count = 0;
    log_split(log, 0);
    return gone;
}

size_t log_add(struct log *log, long long offset, const char *bytes, size_t size)
{
    if (offset != log_offset(log)) { /* the first bytes, or the file was begun anew */
        text_clear(&log->bytes);
        log->begin = offset;
        log->count = 0;
    }
    size_t before = log->bytes.size;
    text_add_bytes(&log->bytes, bytes, size);
    log_split(log, before);
    return log->bytes.size > LOG_KEEP ? log_halve(log) : 0;
}

/* Adds the time of day. */
static void log_add_time(double time_s, struct text *text)
{
    time_t seconds = (time_t)time_s;
    struct tm parts;
    char buffer[16];
    if (localtime_r(&seconds, &parts) && strftime(buffer, sizeof buffer, "%H:%M:%S ", &parts))
        text_add(text, buffer);
}

void log_shown_line(const struct log *log, size_t line, struct text *text)
{
    const char *data = text_string(&log->bytes);
    size_t begin = log->starts[line];
    size_t end = line + 1 < log->count ? log->starts[line + 1] : log->bytes.size;
    while (end > begin && (data[end - 1] == '\n' || data[end - 1] == '\r'))
        end--;
    size_t time_size = clock_stamp_size(data + begin, end - begin);
    if (time_size)
        log_add_time(clock_stamp_s(data + begin, end - begin), text);
    begin += time_size;
    const char *newest = memrchr(data + begin, '\r', end - begin);
    if (newest)
        begin = (size_t)(newest + 1 - data);
    size_t size = end - begin < LOG_LINE_MAX ? end - begin : LOG_LINE_MAX;
    char *copy = xstrndup(data + begin, size);
    for (char *tab = copy; (tab = strchr(tab, '\t'));)
        *tab = ' ';
    terminal_add_plain(text, copy);
    free(copy);
}
