/* Writes the output of a rank into its log, and keeps its newest lines. */
#include "worker/node/ranklog.h"

#include "lib/clock.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/protocol/log_files.h"
#include "lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    RANKLOG_OVERWRITTEN_MS = 5000,
    RANKLOG_LAST_MAX = 150,
    RECENT_CAPACITY_MAX = 2 * RECENT_SIZE_MAX, /* so that the content is moved rarely */
};

struct ranklog {
    char *path, *first, *previous;
    int fd; /* -1: not open */
    size_t size, size_max;
    bool is_cut;         /* the last line of the file has no end */
    struct text line;    /* the last line, which has no end yet */
    bool after_return;   /* the last byte was a carriage return */
    int64_t returned_ms; /* when an overwritten line was last kept */
    struct text output;  /* whole lines that are not written yet */
    struct text recent;
    char last[RANKLOG_LAST_MAX + 1]; /* the beginning of the last line that is not blank */
    unsigned lost;
    int lost_for;
    time_t second; /* the time of `stamp` */
    char stamp[32];
};

static void ranklog_open_file(struct ranklog *ranklog)
{
    struct stat info;
    char last = '\n';
    ranklog->fd = open(ranklog->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    ranklog->size = 0;
    if (ranklog->fd >= 0 && fstat(ranklog->fd, &info) == 0)
        ranklog->size = (size_t)info.st_size;
    /* A crash of the node may have cut the last line. */
    bool has_last = ranklog->size && pread(ranklog->fd, &last, 1, (off_t)ranklog->size - 1) == 1;
    ranklog->is_cut = has_last && last != '\n';
}

/* Some file systems tell only now that they have lost what was written. How many lines they have
 * lost is unknown. */
static void ranklog_close_file(struct ranklog *ranklog)
{
    if (ranklog->fd >= 0 && close(ranklog->fd) < 0 && errno != EINTR) {
        ranklog->lost++;
        ranklog->lost_for = errno;
    }
    ranklog->fd = -1;
}

struct ranklog *ranklog_open(const char *folder, unsigned rank, size_t size_max)
{
    struct ranklog *ranklog = xcalloc(1, sizeof *ranklog);
    ranklog->path = log_file_path(folder, rank, LOG_NEWEST);
    ranklog->first = log_file_path(folder, rank, LOG_FIRST);
    ranklog->previous = log_file_path(folder, rank, LOG_PREVIOUS);
    ranklog->size_max = size_max ? size_max : RANKLOG_FILE_MAX;
    ranklog->returned_ms = -RANKLOG_OVERWRITTEN_MS;
    ranklog_open_file(ranklog);
    return ranklog;
}

static void ranklog_rotate(struct ranklog *ranklog)
{
    ranklog_close_file(ranklog);
    bool has_first = access(ranklog->first, F_OK) == 0;
    /* If the rename fails, the file just continues to grow. */
    (void)rename(ranklog->path, has_first ? ranklog->previous : ranklog->first);
    ranklog_open_file(ranklog);
}

/* Returns how much was written. If it is less than `size`, errno says why. */
static size_t ranklog_put(struct ranklog *ranklog, const char *data, size_t size)
{
    size_t done = file_put(ranklog->fd, data, size);
    if (done)
        ranklog->is_cut = data[done - 1] != '\n';
    ranklog->size += done;
    return done;
}

static void ranklog_write(struct ranklog *ranklog)
{
    const struct text *output = &ranklog->output;
    size_t done = 0;
    if (!output->size)
        return;
    recent_add(&ranklog->recent, output->data, output->size);
    if (ranklog->fd >= 0 && ranklog->size >= ranklog->size_max)
        ranklog_rotate(ranklog);
    if (ranklog->fd < 0)
        ranklog_open_file(ranklog);
    if (ranklog->fd >= 0 && (!ranklog->is_cut || ranklog_put(ranklog, "\n", 1) == 1))
        done = ranklog_put(ranklog, output->data, output->size);
    if (done < output->size) {
        ranklog->lost_for = errno;
        for (; done < output->size; done++)
            ranklog->lost += output->data[done] == '\n';
    }
    text_clear(&ranklog->output);
}

static void ranklog_stamp(struct ranklog *ranklog)
{
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec != ranklog->second) {
        gmtime_r(&now.tv_sec, &parts);
        (void)strftime(ranklog->stamp, sizeof ranklog->stamp, "%Y-%m-%dT%H:%M:%S", &parts);
        ranklog->second = now.tv_sec;
    }
    text_addf(&ranklog->output, "%s.%03ldZ ", ranklog->stamp, now.tv_nsec / 1000000);
}

/* Keeps the beginning of a line, unless it is blank. Removes escape sequences (colours) and other
 * control characters. */
static void ranklog_keep_last(const char *line, size_t size, char last[RANKLOG_LAST_MAX + 1])
{
    char kept[RANKLOG_LAST_MAX + 1];
    size_t count = 0;
    for (size_t i = 0; i < size && count < RANKLOG_LAST_MAX;) {
        size_t escape = text_escape_size(line + i, size - i);
        unsigned char byte = escape ? 0 : (unsigned char)line[i];
        i += escape ? escape : 1;
        if (byte >= ' ' && byte != 0x7F && (count || byte != ' ')) {
            kept[count++] = (char)byte;
        } else if (byte == '\t' && count) {
            kept[count++] = ' ';
        }
    }
    while (count && kept[count - 1] == ' ')
        count--;
    kept[count] = '\0';
    if (count)
        memcpy(last, kept, count + 1);
}

static void ranklog_end_line(struct ranklog *ranklog)
{
    ranklog_keep_last(text_string(&ranklog->line), ranklog->line.size, ranklog->last);
    ranklog_stamp(ranklog);
    text_add_bytes(&ranklog->output, text_string(&ranklog->line), ranklog->line.size);
    text_add(&ranklog->output, "\n");
    text_clear(&ranklog->line);
}

/* More of the same line follows a carriage return, so the old text is overwritten. */
static void ranklog_overwrite(struct ranklog *ranklog)
{
    int64_t now_ms = clock_steady_ms();
    if (now_ms - ranklog->returned_ms >= RANKLOG_OVERWRITTEN_MS && ranklog->line.size) {
        ranklog_end_line(ranklog);
        ranklog->returned_ms = now_ms;
    }
    text_clear(&ranklog->line);
}

static void ranklog_add(struct ranklog *ranklog, const char *data, size_t size)
{
    if (ranklog->after_return && size)
        ranklog_overwrite(ranklog);
    if (size)
        ranklog->after_return = false;
    while (size) {
        size_t room = RANKLOG_LINE_MAX - ranklog->line.size, part = size < room ? size : room;
        text_add_bytes(&ranklog->line, data, part);
        data += part;
        size -= part;
        if (size)
            ranklog_end_line(ranklog); /* a very long line is cut into several lines */
    }
}

void ranklog_feed(struct ranklog *ranklog, const char *data, size_t size)
{
    const char *end = data + size;
    while (data < end) {
        size_t rest = (size_t)(end - data), part = 0;
        while (part < rest && data[part] != '\n' && data[part] != '\r')
            part++;
        ranklog_add(ranklog, data, part);
        data += part;
        if (data == end)
            break;
        if (*data == '\n') {
            ranklog_end_line(ranklog);
            ranklog->after_return = false;
        } else {
            ranklog->after_return = true;
        }
        data++;
    }
    ranklog_write(ranklog);
}

void ranklog_end(struct ranklog *ranklog)
{
    if (ranklog->line.size)
        ranklog_end_line(ranklog);
    ranklog_write(ranklog);
    ranklog_close_file(ranklog);
}

void ranklog_close(struct ranklog *ranklog)
{
    if (!ranklog)
        return;
    ranklog_end(ranklog);
    text_fini(&ranklog->line);
    text_fini(&ranklog->output);
    text_fini(&ranklog->recent);
    free(ranklog->path);
    free(ranklog->first);
    free(ranklog->previous);
    free(ranklog);
}

char *ranklog_last_line(const struct ranklog *ranklog)
{
    char last[RANKLOG_LAST_MAX + 1];
    memcpy(last, ranklog->last, sizeof last);
    ranklog_keep_last(text_string(&ranklog->line), ranklog->line.size, last);
    /* The cut may be inside a character. Other bytes that are not UTF-8 are replaced. */
    size_t size = strlen(last), start = size;
    while (size == RANKLOG_LAST_MAX && start && ((unsigned char)last[start - 1] & 0xC0) == 0x80)
        start--;
    if (size == RANKLOG_LAST_MAX && start && (unsigned char)last[start - 1] >= 0xC0)
        last[start - 1] = '\0';
    text_make_utf8(last);
    return xstrdup(last);
}

void ranklog_note(struct ranklog *ranklog, const char *line)
{
    struct text written = ranklog->output;
    ranklog->output = (struct text){0};
    ranklog_stamp(ranklog);
    text_addf(&ranklog->output, "%s\n", line);
    recent_add(&ranklog->recent, ranklog->output.data, ranklog->output.size);
    text_fini(&ranklog->output);
    ranklog->output = written;
}

const char *ranklog_recent(struct ranklog *ranklog, size_t *ret_size)
{
    if (ranklog->line.size)
        ranklog_end_line(ranklog);
    ranklog_write(ranklog);
    return recent_lines(&ranklog->recent, ret_size);
}

unsigned ranklog_lost(const struct ranklog *ranklog, int *ret_reason)
{
    if (ret_reason)
        *ret_reason = ranklog->lost_for;
    return ranklog->lost;
}

/* --- The newest lines ------------------------------------------------------------------------- */

/* Returns the end of `lines`: at most `kept` bytes, from the beginning of a line. */
static const char *recent_end(const char *lines, size_t size, size_t kept, size_t *ret_size)
{
    *ret_size = size;
    if (size <= kept)
        return lines;
    const char *from = lines + size - kept, *end = memchr(from, '\n', kept);
    from = end ? end + 1 : from;
    *ret_size = (size_t)(lines + size - from);
    return from;
}

void recent_add(struct text *recent, const char *lines, size_t size)
{
    lines = recent_end(lines, size, RECENT_SIZE_MAX, &size);
    if (recent->size + size >= RECENT_CAPACITY_MAX) { /* the text has a NUL too */
        const char *kept =
            recent_end(recent->data, recent->size, RECENT_SIZE_MAX - size, &recent->size);
        memmove(recent->data, kept, recent->size);
    }
    text_add_bytes(recent, lines, size);
}

const char *recent_lines(const struct text *recent, size_t *ret_size)
{
    *ret_size = 0;
    return recent->size ? recent_end(recent->data, recent->size, RECENT_SIZE_MAX, ret_size) : "";
}
