/* The logs of a run: which there are, and a part of one for clients that cannot read files. */
#include "daemon/api/api_private.h"

#include "daemon/loop/loop.h"
#include "daemon/store/answers.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/protocol/log_files.h"
#include "lib/text.h"

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

/* Lists the logs in the folder by rank, each as {"rank", "path", "bytes"}. */
static int logs_list(const char *folder, json_t **ret_list, struct error *err)
{
    long long *ranks;
    int count = log_files_ranks(folder, &ranks);
    *ret_list = json_array();
    if (count < 0 && count != -ENOENT)
        return error_set(err, count, "%s: %s", folder, strerror(-count));
    for (int i = 0; i < count; i++) {
        struct stat info;
        char *path = log_file_path(folder, ranks[i], LOG_NEWEST);
        if (stat(path, &info) == 0)
            (void)json_array_append_new(*ret_list,
                                        json_pack("{s:I, s:s, s:I}", "rank", (json_int_t)ranks[i],
                                                  "path", path, "bytes", (json_int_t)info.st_size));
        free(path);
    }
    free(ranks);
    return 0;
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
    json_t *list = NULL;
    char *folder = NULL;
    struct error err;
    int status = logs_folder(call, &folder, &err);
    if (status == 0)
        status = logs_list(folder, &list, &err);
    free(folder);
    call_answer(call, status, json_pack("{s:o*}", "logs", list), &err);
}

/* The number of bytes of the letter that begins with this byte; 0: no letter of several bytes does.
 */
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

/* How many bytes at `at` are the rest of a letter that begins before them. Bytes that only look
 * like a rest belong to no letter, and do not count. */
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
    int status = got < 0 ? error_set(err, -errno, "%s: %s", path, strerror(errno)) : 0;
    (void)close(fd); /* it was only read */
    if (status < 0) {
        free(bytes);
        return status;
    }
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
    return 0;
}

/* Whether the worker has set aside a full log of this rank, so that its lines are in other files.
 */
static bool logs_has_earlier(const char *folder, uint64_t rank)
{
    bool has = false;
    for (enum log_file file = LOG_FIRST; !has && file < LOG_NEWEST; file++) {
        char *path = log_file_path(folder, (long long)rank, file);
        has = access(path, F_OK) == 0;
        free(path);
    }
    return has;
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
        path = log_file_path(folder, (long long)rank, LOG_NEWEST);
        status = logs_part(path, is_tail, (int64_t)offset, (size_t)max, &json, &err);
        if (status == 0 && logs_has_earlier(folder, rank))
            (void)json_object_set_new(json, "earlier", json_true());
    }
    free(path);
    free(folder);
    call_answer(call, status, json, &err);
}
