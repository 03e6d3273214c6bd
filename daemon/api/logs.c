/* The logs of a run: which there are, and a part of one for clients that cannot read files. */
#include "daemon/api/inside.h"

#include "daemon/loop/loop.h"
#include "daemon/store/answers.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PART_MAX = 256 << 10,  /* bytes of a log in one answer */
    PART_USUAL = 64 << 10, /* if the request does not say */
    LETTER_MAX = 4,        /* bytes of a letter */
};

static int is_log(const struct dirent *entry)
{
    unsigned rank;
    int end = 0;
    return sscanf(entry->d_name, "rank-%9u.log%n", &rank, &end) == 1 && end && !entry->d_name[end];
}

/* Lists the logs in the folder by rank, each as {"rank", "path", "bytes"}. */
static json_t *logs_list(const char *folder)
{
    struct dirent **entries = NULL;
    json_t *list = json_array();
    int count = scandir(folder, &entries, is_log, versionsort);
    for (int i = 0; i < count; i++) {
        struct stat info;
        long long rank = atoll(entries[i]->d_name + strlen("rank-"));
        char *path = text_format("%s/%s", folder, entries[i]->d_name);
        if (stat(path, &info) == 0)
            (void)json_array_append_new(list,
                                        json_pack("{s:I, s:s, s:I}", "rank", (json_int_t)rank,
                                                  "path", path, "bytes", (json_int_t)info.st_size));
        free(path);
        free(entries[i]);
    }
    free(entries);
    return list;
}

/* The folder of the run's logs, which the caller frees. */
static int logs_folder(const struct call *call, char **ret_folder, struct error *err)
{
    json_t *run = NULL;
    int status = answer_run(loop_store(call->api->config.loop), call->address.workflow,
                            call->address.phase, call->address.attempt, &run, err);
    if (status < 0)
        return status;
    const char *folder = json_string_value(json_object_get(run, "run_dir"));
    *ret_folder = text_format("%s/log", folder ? folder : "");
    json_decref(run);
    return 0;
}

void logs_get(struct call *call)
{
    json_t *json = NULL;
    char *folder = NULL;
    struct error err;
    int status = logs_folder(call, &folder, &err);
    if (status == 0)
        json = json_pack("{s:o}", "logs", logs_list(folder));
    free(folder);
    call_answer(call, status, json, &err);
}

/* How many bytes the letter has that begins with this byte; 0: no letter of several bytes does. */
static size_t letter_size(unsigned char first)
{
    if (first < 0xc2 || first > 0xf4)
        return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : LETTER_MAX;
}

/* Adds the bytes as UTF-8. Each byte that is not UTF-8 becomes U+FFFD. Returns how many bytes were
 * taken. A cut letter at the end is not taken: the rest of the letter may still come. */
static size_t add_letters(struct text *text, const char *bytes, size_t size)
{
    size_t at = 0;
    while (at < size) {
        uint32_t letter;
        size_t length = text_letter(bytes + at, size - at, &letter);
        if (length == 0 && size - at < letter_size((unsigned char)bytes[at]))
            break;
        if (length > 0)
            text_add_bytes(text, bytes + at, length);
        else
            text_add(text, "\xef\xbf\xbd");
        at += length ? length : 1;
    }
    return at;
}

/* How many bytes at `at` are the rest of a letter that begins before them. Bytes that only look so
 * belong to no letter, and are not a rest. */
static size_t letter_rest(const char *bytes, size_t at, size_t size)
{
    for (size_t before = 1; before < LETTER_MAX && before <= at; before++) {
        uint32_t letter;
        size_t length = text_letter(bytes + at - before, size - (at - before), &letter);
        if (length > before)
            return length - before;
    }
    return 0;
}

static int logs_open(const char *path, struct stat *ret_info, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0)
        return error_set(err, -errno, "%s: %s", path, strerror(errno));
    if (fstat(fd, ret_info) == 0 && S_ISREG(ret_info->st_mode))
        return fd;
    (void)close(fd); /* it was only read */
    return error_set(err, -EINVAL, "%s: not a file", path);
}

/* Reads up to `max` bytes from `offset` on, or the last `max` bytes. A part that would begin
 * within a letter begins after the letter. */
static int logs_part(const char *path, bool is_tail, int64_t offset, size_t max, json_t **ret_json,
                     struct error *err)
{
    struct stat info;
    int fd = logs_open(path, &info, err);
    if (fd < 0)
        return fd;
    if (is_tail)
        offset = info.st_size > (off_t)max ? info.st_size - (off_t)max : 0;
    size_t before = offset < LETTER_MAX - 1 ? (size_t)offset : LETTER_MAX - 1;
    char *bytes = xmalloc(before + max);
    struct text text = {0};
    ssize_t got = pread(fd, bytes, before + max, offset - (off_t)before);
    size_t size = got > (ssize_t)before ? (size_t)got : before;
    size_t skip = got > (ssize_t)before ? letter_rest(bytes, before, size) : 0;
    const char *begin = bytes + before + skip;
    size_t taken = add_letters(&text, begin, size - before - skip);
    offset += (int64_t)skip;
    *ret_json =
        json_pack("{s:s, s:I, s:I, s:I, s:o}", "path", path, "size", (json_int_t)info.st_size,
                  "offset", (json_int_t)offset, "next", (json_int_t)offset + (json_int_t)taken,
                  "text", json_stringn(text_string(&text), text.size));
    text_fini(&text);
    free(bytes);
    (void)close(fd); /* it was only read */
    return 0;
}

void logs_read(struct call *call)
{
    uint64_t rank, offset, max;
    json_t *json = NULL;
    char *folder = NULL, *path = NULL;
    struct error err;
    bool is_tail = !request_query(call->request, "offset");
    if (!call_number(call, "rank", 0, &rank) || !call_number(call, "offset", 0, &offset) ||
        !call_number(call, "max", PART_USUAL, &max))
        return;
    max = max > PART_MAX ? PART_MAX : max < LETTER_MAX ? LETTER_MAX : max;
    int status = logs_folder(call, &folder, &err);
    if (status == 0) {
        path = text_format("%s/rank-%llu.log", folder, (unsigned long long)rank);
        status = logs_part(path, is_tail, (int64_t)offset, (size_t)max, &json, &err);
    }
    free(path);
    free(folder);
    call_answer(call, status, json, &err);
}
