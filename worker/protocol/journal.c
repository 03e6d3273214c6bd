/* Writes and reads the journal of one run. */
#include "worker/protocol/journal.h"

#include "lib/clock.h"
#include "lib/file.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/protocol/journal_file.h"
#include "lib/protocol/journal_order.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    JOURNAL_FACTS_MAX = 1024 * 1024,      /* bytes that may wait before facts are lost */
    JOURNAL_STATES_MAX = 2 * 1024 * 1024, /* bytes that may wait before any entry is lost */
};

struct journal {
    pthread_mutex_t mutex; /* protects all members below */
    char *path;
    int fd;           /* -1: not open yet */
    off_t size;       /* size of the file, up to the end of its last whole line */
    bool is_cut;      /* an incomplete line follows after `size` */
    bool was_open;    /* the numbers of waiting entries are right */
    bool is_unread;   /* the last try to open it could not read it: its end is not known */
    uint64_t added;   /* number of the newest entry */
    uint64_t written; /* number of the newest entry in the file */
    struct text waiting;
    unsigned lost;
    int failed;   /* errno of the last try to write; 0: it succeeded */
    int lost_for; /* errno of the last loss */
    /* Where the next reading begins. Entry read_seq + 1 is in `order`, or it begins at read_offset
     * or later. */
    uint64_t read_seq;
    off_t read_offset;
    struct journal_order order; /* of lines; NULL: the reader already had the line */
    uint64_t stray;             /* the number of a skipped line; 0: no line was skipped */
    bool is_stray_told;
};

/* Returns the number of an entry; 0: the line is not an entry, for example because it was cut
 * short. Jansson takes a zero byte behind a token, but no writer makes one, and lines are kept as
 * strings.
 */
static uint64_t journal_number(const char *line, size_t size)
{
    json_t *entry = memchr(line, '\0', size) ? NULL : json_loadb(line, size, 0, NULL);
    uint64_t seq = (uint64_t)entry_read(entry).seq;
    json_decref(entry);
    return seq;
}

/* Finds the newest entry, and the end of the last whole line. Returns an errno, or 0. */
static int journal_find_end(int fd, uint64_t *ret_last, off_t *ret_size)
{
    struct journal_order order = {0};
    struct journal_file file;
    bool is_end = false;
    uint64_t seq;
    void *item;
    *ret_size = 0;
    journal_file_borrow(&file, fd, 0);
    while (!is_end) {
        is_end = !journal_file_next(&file);
        seq = is_end ? 0 : journal_number(file.line, file.size);
        if (seq > 0)
            journal_order_add(&order, seq, NULL);
        while (journal_order_next(&order, is_end, &seq, &item))
            ; /* only order.last is needed */
        if (!is_end && !file.is_inside)
            *ret_size = file.offset;
    }
    *ret_last = order.last;
    journal_file_close(&file);
    return file.failed == EFBIG ? 0 : file.failed;
}

/* The file has `count` more entries than was known when the waiting entries got their numbers. */
static void journal_renumber(struct journal *journal, uint64_t count)
{
    struct text text = {0};
    const char *line = text_string(&journal->waiting), *end;
    for (; (end = strchr(line, '\n')); line = end + 1) {
        const char *rest = line + strcspn(line, ",");
        text_addf(&text, "{\"seq\": %" PRIu64, journal_line_sequence(line) + count);
        text_add_bytes(&text, rest, (size_t)(end + 1 - rest));
    }
    text_fini(&journal->waiting);
    journal->waiting = text;
    journal->added += count;
}

/* Opens the file if it is not open yet, and finds its end. This reads the whole file, which is
 * cheap enough, because a journal with content is opened only once after each requeue. */
static bool journal_is_open(struct journal *journal)
{
    if (journal->fd >= 0)
        return true;
    int fd = open(journal->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    struct stat info;
    uint64_t last = 0;
    journal->failed = fd < 0 || fstat(fd, &info) < 0 ? errno : 0;
    if (!journal->failed) {
        journal->failed = journal_find_end(fd, &last, &journal->size);
        journal->is_unread = journal->failed != 0;
    }
    if (journal->failed) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    if (last > journal->written && !journal->was_open)
        journal_renumber(journal, last - journal->written);
    journal->was_open = true;
    journal->written = last;
    journal->fd = fd;
    journal->is_cut = info.st_size > journal->size;
    return true;
}

struct journal *journal_open(const char *path)
{
    struct journal *journal = xcalloc(1, sizeof *journal);
    journal->fd = -1;
    journal->path = xstrdup(path);
    journal->order.drop = free;
    int code = pthread_mutex_init(&journal->mutex, NULL);
    assert(code == 0);
    (void)code;                     /* cannot fail for a plain mutex */
    (void)journal_is_open(journal); /* tried again at the next flush */
    return journal;
}

void journal_close(struct journal *journal)
{
    if (!journal)
        return;
    journal_flush(journal);
    if (journal->fd >= 0)
        close(journal->fd);
    pthread_mutex_destroy(&journal->mutex);
    text_fini(&journal->waiting);
    journal_order_fini(&journal->order);
    free(journal->path);
    free(journal);
}

static void journal_append(struct journal *journal, const struct entry *entry)
{
    json_t *members = entry_to_json(entry);
    text_addf(&journal->waiting, "{\"seq\": %llu, \"time\": %.6f, \"type\": \"%s\"",
              (unsigned long long)++journal->added, clock_calendar_s(),
              entry_type_name(entry->type));
    if (json_object_size(members)) {
        char *dump = json_text(members, JSON_REAL_PRECISION(15) | JSON_EMBED);
        text_addf(&journal->waiting, ", %s", dump);
        free(dump);
    }
    text_add(&journal->waiting, "}\n");
    json_decref(members);
}

void journal_add(struct journal *journal, const struct entry *entry)
{
    size_t size_max = entry_type_may_be_lost(entry->type) ? JOURNAL_FACTS_MAX : JOURNAL_STATES_MAX;
    pthread_mutex_lock(&journal->mutex);
    if (journal->failed && journal->waiting.size > size_max) {
        journal->lost++;
        journal->lost_for = journal->failed;
    } else {
        journal_append(journal, entry);
    }
    pthread_mutex_unlock(&journal->mutex);
    json_decref(entry->json);
}

void journal_warnv(struct journal *journal, const char *format, va_list args)
{
    struct text text = {0}, visible = {0};
    text_addv(&text, format, args);
    json_t *message = json_string(text_string(&text)); /* only if it is UTF-8 */
    if (!message)
        text_add_visible(&visible, text.data, text.size, "");
    journal_add(journal, &(struct entry){.type = ENTRY_WARNING,
                                         .message = text_string(message ? &text : &visible)});
    json_decref(message);
    text_fini(&text);
    text_fini(&visible);
}

void journal_warn(struct journal *journal, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    journal_warnv(journal, format, args);
    va_end(args);
}

/* Writes whole lines or nothing. If the disk becomes full, the part that was written is cut off
 * again. Returns an errno, or 0. */
static int journal_write(struct journal *journal, const char *data, size_t size)
{
    size_t done = file_put(journal->fd, data, size);
    if (done == size) {
        journal->size += (off_t)size;
        return 0;
    }
    int code = errno;
    journal->is_cut = done > 0 && ftruncate(journal->fd, journal->size) < 0;
    return code;
}

/* Ends the line that a crash or a full disk cut short. */
static int journal_end_line(struct journal *journal)
{
    if (write(journal->fd, "\n", 1) != 1)
        return errno;
    off_t end = lseek(journal->fd, 0, SEEK_END);
    journal->size = end > 0 ? end : journal->size;
    journal->is_cut = false;
    return 0;
}

/* Whether somebody else has damaged the file. `ret_what` says how, for people. */
static bool journal_is_damaged(const struct journal *journal, char **ret_what)
{
    struct stat info;
    if (journal->fd < 0)
        return false;
    if (fstat(journal->fd, &info) < 0)
        *ret_what = text_format("cannot be read any more (%s)", strerror(errno));
    else if (info.st_nlink == 0)
        *ret_what = text_format("was removed or replaced");
    else if (info.st_size < journal->size)
        *ret_what = text_format("was cut from %lld to %lld bytes", (long long)journal->size,
                                (long long)info.st_size);
    else
        return false;
    return true;
}

/* The next reading begins at the start of the file. */
static void journal_rewind(struct journal *journal)
{
    journal_order_fini(&journal->order);
    journal->order.last = 0; /* `order.stray` stays */
    journal->read_seq = 0;
    journal->read_offset = 0;
}

/* Adds an entry about the journal itself. */
static void journal_tell(struct journal *journal, enum entry_type type, char *take_message)
{
    journal_append(journal, &(struct entry){.type = type, .message = take_message});
    free(take_message);
}

/* If somebody else has damaged the file, warns and continues after the remaining entries. */
static void journal_repair(struct journal *journal)
{
    char *what;
    if (!journal_is_damaged(journal, &what))
        return;
    close(journal->fd);
    journal->fd = -1;
    journal_rewind(journal);
    (void)journal_is_open(journal); /* tried again at the next flush */
    journal_tell(journal, ENTRY_WARNING,
                 text_format("its journal %s while it was being written: entries that nobody had "
                             "read are lost",
                             what));
    free(what);
}

static void journal_tell_stray(struct journal *journal)
{
    if (!journal->stray || journal->is_stray_told)
        return;
    journal->is_stray_told = true;
    journal_tell(journal, ENTRY_WARNING,
                 text_format("its journal has entry %llu in a wrong place: it is passed over",
                             (unsigned long long)journal->stray));
}

static void journal_flush_locked(struct journal *journal)
{
    if (!journal->waiting.size || !journal_is_open(journal))
        return;
    journal->failed = journal->is_cut ? journal_end_line(journal) : 0;
    if (journal->failed == 0)
        journal->failed = journal_write(journal, journal->waiting.data, journal->waiting.size);
    if (journal->failed)
        return;
    journal->written = journal->added;
    text_clear(&journal->waiting);
}

/* Adds an entry that says how many entries were lost. Called as soon as there is room. */
static void journal_tell_loss(struct journal *journal)
{
    char *message = text_format("%u entries of the journal were lost: %s", journal->lost,
                                strerror(journal->lost_for));
    journal->lost = 0;
    journal_tell(journal, ENTRY_LOST, message);
}

void journal_flush(struct journal *journal)
{
    pthread_mutex_lock(&journal->mutex);
    journal_repair(journal);
    journal_tell_stray(journal);
    journal_flush_locked(journal);
    if (journal->lost && !journal->failed) {
        journal_tell_loss(journal);
        journal_flush_locked(journal);
    }
    pthread_mutex_unlock(&journal->mutex);
}

void journal_sync(struct journal *journal)
{
    journal_flush(journal);
    pthread_mutex_lock(&journal->mutex);
    if (journal_is_open(journal))
        (void)fdatasync(journal->fd); /* a failure shows when the file is read */
    pthread_mutex_unlock(&journal->mutex);
}

bool journal_is_behind(struct journal *journal)
{
    pthread_mutex_lock(&journal->mutex);
    bool is_behind = journal->failed && journal->waiting.size > 0;
    pthread_mutex_unlock(&journal->mutex);
    return is_behind;
}

static uint64_t journal_readable(const struct journal *journal)
{
    return journal->failed ? journal->added : journal->written;
}

uint64_t journal_last(struct journal *journal)
{
    pthread_mutex_lock(&journal->mutex);
    uint64_t last = journal_readable(journal);
    pthread_mutex_unlock(&journal->mutex);
    return last;
}

struct journal_reader {
    struct text *entries;
    size_t size_max;
    uint64_t last; /* the newest entry that the reader has */
};

static void journal_add_read(struct journal_reader *reader, const char *line, size_t size)
{
    if (reader->entries->size)
        text_add(reader->entries, ",");
    text_add_bytes(reader->entries, line, size);
}

/* The entries up to number `last` are no longer in the file. Adds one entry in place of them,
 * because the reader would otherwise wait for them forever. */
static void journal_add_lost(struct journal_reader *reader, uint64_t last)
{
    json_t *lost = entry_lost((int64_t)reader->last + 1, (int64_t)last, clock_calendar_s());
    char *line = json_text(lost, JSON_REAL_PRECISION(16));
    journal_add_read(reader, line, strlen(line));
    free(line);
    json_decref(lost);
}

/* Takes a line of the file. The number is at the beginning of the line, so lines that the reader
 * already has are skipped quickly. */
static void journal_take(struct journal *journal, const struct journal_reader *reader,
                         const char *line, size_t size)
{
    uint64_t seq = journal_line_sequence(line);
    bool is_new = seq > reader->last;
    if (seq <= journal->order.last || (is_new && journal_number(line, size) != seq))
        return;
    if (seq > journal->added)
        journal->stray = seq; /* this writer has not written it */
    else
        journal_order_add(&journal->order, seq, is_new ? xstrndup(line, size) : NULL);
}

/* Gives the reader the entries that are in order, until the reader has enough. */
static void journal_give(struct journal *journal, struct journal_reader *reader, bool is_end)
{
    uint64_t seq;
    void *line;
    while (reader->entries->size < reader->size_max &&
           journal_order_next(&journal->order, is_end, &seq, &line)) {
        if (!line)
            continue;
        if (seq > reader->last + 1)
            journal_add_lost(reader, seq - 1);
        journal_add_read(reader, line, strlen(line));
        reader->last = seq;
        free(line);
    }
}

/* Reads the next part of the file. False: the file cannot be read, so its entries only seem to be
 * missing. */
static bool journal_read_file(struct journal *journal, struct journal_reader *reader)
{
    struct journal_file file;
    journal_file_borrow(&file, journal->fd, journal->read_offset);
    journal_give(journal, reader, false);
    while (reader->entries->size < reader->size_max && journal_file_next(&file)) {
        journal_take(journal, reader, file.line, file.size);
        journal_give(journal, reader, false);
    }
    journal->read_offset = file.offset;
    journal_file_close(&file);
    return !file.failed || file.failed == EFBIG;
}

uint64_t journal_read(struct journal *journal, uint64_t after, size_t size_max,
                      struct text *entries)
{
    struct journal_reader reader = {entries, size_max, after};
    pthread_mutex_lock(&journal->mutex);
    if (after != journal->read_seq)
        journal_rewind(journal);
    /* If the file cannot be opened or read, its entries would seem to be lost. So nothing behind
     * them is read. */
    bool is_read = journal_read_file(journal, &reader);
    bool has_file =
        !journal->is_unread && ((is_read && journal->fd >= 0) || reader.last >= journal->written);
    bool adds_waiting = has_file && journal->failed;
    const char *line = text_string(&journal->waiting), *end;
    while (adds_waiting && entries->size < size_max && (end = strchr(line, '\n'))) {
        journal_take(journal, &reader, line, (size_t)(end - line));
        journal_give(journal, &reader, false);
        line = end + 1;
    }
    journal_give(journal, &reader, has_file);
    if (journal->order.stray)
        journal->stray = journal->order.stray;
    journal->read_seq = reader.last;
    if (adds_waiting) /* the waiting lines are not in the file yet */
        journal_rewind(journal);
    pthread_mutex_unlock(&journal->mutex);
    return reader.last;
}
