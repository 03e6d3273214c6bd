/* Reads journals. */
#include "lib/protocol/journal_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOURNAL_ENDING ".jsonl"

char *journal_path(const char *run_dir, const char *writer)
{
    return text_format("%s/journal/%s" JOURNAL_ENDING, run_dir, writer);
}

static int journal_is_of_node(const struct dirent *entry)
{
    const char *name = entry->d_name;
    return name[0] != '.' && text_ends(name, JOURNAL_ENDING) &&
           !text_equal(name, "lead" JOURNAL_ENDING);
}

json_t *journal_nodes(const char *run_dir)
{
    json_t *nodes = json_array();
    struct dirent **entries = NULL;
    char *path = text_format("%s/journal", run_dir);
    int count = scandir(path, &entries, journal_is_of_node, alphasort);
    for (int i = 0; i < count; i++) {
        size_t size = strlen(entries[i]->d_name) - strlen(JOURNAL_ENDING);
        (void)json_array_append_new(nodes, json_stringn(entries[i]->d_name, size));
        free(entries[i]);
    }
    free(entries);
    free(path);
    return nodes;
}

void journal_file_open(struct journal_file *file, const char *path)
{
    journal_file_borrow(file, open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), 0);
    file->failed = file->fd < 0 ? errno : 0;
    file->is_own = true;
}

ino_t journal_file_inode(const struct journal_file *file)
{
    struct stat info;
    return file->fd >= 0 && fstat(file->fd, &info) == 0 ? info.st_ino : 0;
}

bool journal_file_skip(struct journal_file *file, ino_t inode, off_t offset)
{
    struct stat info;
    bool is_same = file->fd >= 0 && fstat(file->fd, &info) == 0 && info.st_ino == inode &&
                   info.st_size >= offset;
    if (is_same)
        file->offset = offset;
    return is_same;
}

void journal_file_borrow(struct journal_file *file, int fd, off_t offset)
{
    *file = (struct journal_file){.fd = fd, .offset = offset};
}

void journal_file_close(struct journal_file *file)
{
    if (file->is_own && file->fd >= 0)
        (void)close(file->fd); /* it was only read */
    text_fini(&file->text);
}

/* Reads the next chunk of the current line. */
static bool journal_file_fill(struct journal_file *file)
{
    off_t at = file->offset + (off_t)file->text.size;
    ssize_t size = pread(file->fd, file->chunk, sizeof file->chunk, at);
    if (size < 0)
        file->failed = errno;
    file->begin = 0;
    file->end = size > 0 ? (size_t)size : 0;
    return size > 0;
}

bool journal_file_next(struct journal_file *file)
{
    struct text *text = &file->text;
    bool is_end = false, was_inside = file->is_inside;
    text_clear(text);
    while (!is_end && text->size < JOURNAL_LINE_MAX) {
        if (file->fd < 0 || (file->begin == file->end && !journal_file_fill(file)))
            return false;
        const char *rest = file->chunk + file->begin;
        size_t size = file->end - file->begin, room = JOURNAL_LINE_MAX - text->size;
        size = size < room ? size : room;
        const char *end = memchr(rest, '\n', size);
        is_end = end != NULL;
        size = end ? (size_t)(end + 1 - rest) : size;
        text_add_bytes(text, rest, size);
        file->begin += size;
    }
    file->offset += (off_t)text->size;
    file->is_inside = !is_end;
    if (was_inside || !is_end) {
        file->failed = EFBIG;
        file->passed += text->size;
        text_clear(text);
    } else {
        text->data[--text->size] = '\0';
    }
    file->line = text->data;
    file->size = text->size;
    return true;
}

uint64_t journal_line_sequence(const char *line)
{
    static const char head[] = "{\"seq\":";
    return text_starts(line, head) ? strtoull(line + sizeof head - 1, NULL, 10) : 0;
}

void journal_visit(const char *path, int type, journal_entry_found *found, void *context)
{
    const char *word = type < 0 ? "type" : entry_type_name((enum entry_type)type);
    struct journal_file file;
    journal_file_open(&file, path);
    while (journal_file_next(&file)) {
        /* Most lines are metrics, so a line that cannot have the type is not parsed. */
        if (!memmem(file.line, file.size, word, strlen(word)))
            continue;
        json_t *json = json_loadb(file.line, file.size, 0, NULL);
        struct entry entry = entry_read(json);
        if (entry.type_name && (type < 0 || (int)entry.type == type))
            found(context, &entry);
        json_decref(json);
    }
    journal_file_close(&file);
}
