/* Reading a journal's file in bounded memory. */
#include "daemon/ingest/entry.h"
#include "daemon/ingest/ingest_private.h"
#include "daemon/loop/loop.h"

#include <stdlib.h>

enum {
    ENTRIES_MAX = 4096,   /* in memory at once */
    PASSED_MAX = 64 << 20 /* bytes in overlong lines; after that the file is not read on */
};

static void drop_entry(void *entry)
{
    json_decref(entry);
}

void reading_open(struct reading *reading, const char *folder, const char *name, uint64_t taken,
                  bool is_last)
{
    char *path = journal_path(folder, name);
    *reading = (struct reading){
        .taken = taken, .last = taken, .is_last = is_last, .order = {.drop = drop_entry}};
    journal_file_open(&reading->file, path);
    free(path);
}

bool reading_skip(struct reading *reading, const struct reading_mark *mark)
{
    if (!mark->offset || !journal_file_skip(&reading->file, mark->inode, mark->offset))
        return false;
    reading->order.last = mark->last;
    return true;
}

void reading_set_mark(const struct reading *reading, uint64_t taken, struct reading_mark *mark)
{
    const struct journal_file *file = &reading->file;
    const struct journal_order *order = &reading->order;
    if (!file->failed && !reading->gap_first && !order->stray && order->count == 0 &&
        order->last <= taken)
        *mark = (struct reading_mark){journal_file_inode(file), file->offset, order->last,
                                      reading->is_last};
}

static void append(json_t *entries, json_t *take_entry)
{
    if (json_array_append_new(entries, take_entry) < 0)
        abort();
}

static void reading_add(struct reading *reading, json_t *take_entry)
{
    uint64_t sequence = (uint64_t)entry_read(take_entry).seq, first = reading->last + 1;
    if (sequence > first && !reading->gap_first) {
        reading->gap_first = first;
        reading->gap_last = sequence - 1;
    }
    if (sequence > first && reading->is_last)
        append(reading->entries,
               entry_lost((int64_t)first, (int64_t)sequence - 1, (double)loop_now_ms() / 1000));
    append(reading->entries, take_entry);
    reading->last = sequence;
}

/* Entries that were taken before are only counted. */
static void reading_line(struct reading *reading)
{
    const struct journal_file *file = &reading->file;
    uint64_t sequence = journal_line_sequence(file->line);
    bool is_new = sequence > reading->taken;
    if (sequence <= reading->order.last)
        return;
    json_t *entry = is_new ? json_loadb(file->line, file->size, 0, NULL) : NULL;
    if (!is_new || (uint64_t)entry_read(entry).seq == sequence)
        journal_order_add(&reading->order, sequence, entry);
    else
        json_decref(entry);
}

bool reading_next(struct reading *reading)
{
    uint64_t sequence;
    void *entry;
    reading->entries = json_array();
    /* Behind a gap, entries can be taken only if the missing entries are declared lost. */
    while (!reading->is_end && (reading->is_last || !reading->gap_first) &&
           json_array_size(reading->entries) < ENTRIES_MAX) {
        reading->is_end = reading->file.passed >= PASSED_MAX || !journal_file_next(&reading->file);
        if (!reading->is_end)
            reading_line(reading);
        while (journal_order_next(&reading->order, reading->is_end, &sequence, &entry))
            if (entry)
                reading_add(reading, entry);
    }
    if (json_array_size(reading->entries) > 0)
        return true;
    json_decref(reading->entries);
    reading->entries = NULL;
    return false;
}

void reading_close(struct reading *reading)
{
    journal_file_close(&reading->file);
    journal_order_fini(&reading->order);
}
