/* Bytes of protobuf and TFRecord, and the files with them. */
#include "cli/metrics/tfevents.h"

#include "cli/field.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* TensorBoard reads a file if its name has "tfevents". */
#define TFEVENTS_BEGINNING "events.out.tfevents."
#define TFEVENTS_ENDING    ".phasectl"

enum {
    TFEVENTS_EMPTY_S = 3600, /* how long TensorBoard may take to go on to the next file */
    TFEVENTS_SECOND_US = 1000000,
};

/* --- Bytes ------------------------------------------------------------------------------------ */

/* The key before each member of a message: the number of the member, and how its value is
 * written. */
enum tfevents_key {
    EVENT_WALL_TIME = 1 << 3 | 1,    /* 8 bytes */
    EVENT_STEP = 2 << 3 | 0,         /* a varint */
    EVENT_FILE_VERSION = 3 << 3 | 2, /* a length, and this many bytes */
    EVENT_SUMMARY = 5 << 3 | 2,
    EVENT_SESSION_LOG = 7 << 3 | 2,
    SESSION_LOG_STATUS = 1 << 3 | 0,
    SUMMARY_VALUE = 1 << 3 | 2,
    VALUE_TAG = 1 << 3 | 2,
    VALUE_SIMPLE_VALUE = 2 << 3 | 5, /* 4 bytes */
};

enum { SESSION_LOG_START = 1 };

uint32_t tfevents_crc32c(const void *data, size_t size)
{
    const uint8_t *bytes = data;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82F63B78 : crc >> 1;
    }
    return ~crc;
}

static void tfevents_add_fixed(struct text *text, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)(number >> 8 * i);
        text_add_bytes(text, &byte, 1);
    }
}

static void tfevents_add_varint(struct text *text, uint64_t number)
{
    for (; number > 0x7F; number >>= 7)
        tfevents_add_fixed(text, number | 0x80, 1);
    tfevents_add_fixed(text, number, 1);
}

static void tfevents_add_double(struct text *text, enum tfevents_key key, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    tfevents_add_varint(text, key);
    tfevents_add_fixed(text, bits, sizeof bits);
}

/* A value beyond the range of a float becomes infinite. */
static void tfevents_add_float(struct text *text, enum tfevents_key key, double value)
{
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    tfevents_add_varint(text, key);
    tfevents_add_fixed(text, bits, sizeof bits);
}

static void tfevents_add_bytes(struct text *text, enum tfevents_key key, const void *data,
                               size_t size)
{
    tfevents_add_varint(text, key);
    tfevents_add_varint(text, size);
    text_add_bytes(text, data, size);
}

static void tfevents_add_checksum(struct text *text, const void *data, size_t size)
{
    uint32_t crc = tfevents_crc32c(data, size);
    tfevents_add_fixed(text, (crc >> 15 | crc << 17) + 0xA282EAD8, sizeof crc);
}

void tfevents_add_record(struct text *file, const void *data, size_t size)
{
    struct text length = {0};
    tfevents_add_fixed(&length, size, sizeof(uint64_t));
    text_add_bytes(file, length.data, length.size);
    tfevents_add_checksum(file, length.data, length.size);
    text_add_bytes(file, data, size);
    tfevents_add_checksum(file, data, size);
    text_fini(&length);
}

/* --- Events ----------------------------------------------------------------------------------- */

static void tfevents_add_event(struct text *file, double time_s, int64_t step,
                               enum tfevents_key key, const void *data, size_t size)
{
    struct text event = {0};
    tfevents_add_double(&event, EVENT_WALL_TIME, time_s);
    tfevents_add_varint(&event, EVENT_STEP);
    tfevents_add_varint(&event, (uint64_t)step);
    tfevents_add_bytes(&event, key, data, size);
    tfevents_add_record(file, event.data, event.size);
    text_fini(&event);
}

void tfevents_add_beginning(struct text *file, double time_s)
{
    static const char version[] = "brain.Event:2";
    static const uint8_t start[] = {SESSION_LOG_STATUS, SESSION_LOG_START};
    tfevents_add_event(file, time_s, 0, EVENT_FILE_VERSION, version, sizeof version - 1);
    tfevents_add_event(file, time_s, 0, EVENT_SESSION_LOG, start, sizeof start);
}

static void tfevents_add_value(struct text *summary, const char *tag, double number)
{
    struct text value = {0};
    tfevents_add_bytes(&value, VALUE_TAG, tag, strlen(tag));
    tfevents_add_float(&value, VALUE_SIMPLE_VALUE, number);
    tfevents_add_bytes(summary, SUMMARY_VALUE, value.data, value.size);
    text_fini(&value);
}

void tfevents_add_rows(struct text *file, const json_t *columns, json_t *last)
{
    const json_t *times = json_object_get(columns, "times"), *step_json;
    size_t row;
    json_array_foreach(json_object_get(columns, "steps"), row, step_json)
    {
        struct text summary = {0};
        json_int_t step = json_integer_value(step_json);
        const char *name;
        json_t *series;
        json_object_foreach(json_object_get(columns, "series"), name, series)
        {
            const json_t *value = json_array_get(series, row),
                         *before = json_object_get(last, name);
            if (!value || json_is_null(value) || (before && json_integer_value(before) >= step))
                continue;
            tfevents_add_value(&summary, name, field_as_number(value));
            (void)json_object_set_new(last, name, json_integer(step));
        }
        if (summary.size)
            tfevents_add_event(file, json_number_value(json_array_get(times, row)), step,
                               EVENT_SUMMARY, summary.data, summary.size);
        text_fini(&summary);
    }
}

/* --- Files ------------------------------------------------------------------------------------ */

static int tfevents_open(const char *path, int flags, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0666);
    return fd < 0 ? error_set(err, -errno, "cannot open %s: %s", path, strerror(errno)) : fd;
}

/* Closes the file. */
static int tfevents_write(int fd, const char *path, const struct text *data, struct error *err)
{
    int status = file_write(fd, text_string(data), data->size);
    if (close(fd) < 0 && status == 0)
        status = -errno;
    return status < 0 ? error_set(err, status, "cannot write %s: %s", path, strerror(-status)) : 0;
}

/* Empties the files of phasectl in the folder, except one, and removes those that were empty long
 * ago. A failure is harmless, because the newest file counts. */
static void tfevents_empty_others(const char *folder, const char *name, time_t now)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        struct stat info;
        if (!text_starts(entry->d_name, TFEVENTS_BEGINNING) ||
            !text_ends(entry->d_name, TFEVENTS_ENDING) || text_equal(entry->d_name, name) ||
            fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (info.st_size) {
            int fd = openat(dirfd(dir), entry->d_name, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
            if (fd >= 0)
                (void)close(fd); /* nothing was written */
        } else if (now - info.st_mtime > TFEVENTS_EMPTY_S) {
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
        }
    }
    if (dir)
        (void)closedir(dir); /* it was only read */
}

/* The newest time in the names of the files of phasectl, in microseconds; 0: there is no file. */
static int64_t tfevents_newest_us(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int64_t newest = 0;
    while (dir && (entry = readdir(dir))) {
        long long seconds;
        long us;
        int end = 0;
        if (sscanf(entry->d_name, TFEVENTS_BEGINNING "%10lld.%6ld%n", &seconds, &us, &end) == 2 &&
            text_equal(entry->d_name + end, TFEVENTS_ENDING) &&
            seconds * TFEVENTS_SECOND_US + us > newest)
            newest = seconds * TFEVENTS_SECOND_US + us;
    }
    if (dir)
        (void)closedir(dir); /* it was only read */
    return newest;
}

int tfevents_replace(const char *folder, const struct text *file, char **ret_path,
                     struct error *err)
{
    struct timespec now;
    int status = file_make_folders(folder, 0777, err);
    if (status < 0)
        return status;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
    int64_t us = now.tv_sec * TFEVENTS_SECOND_US + now.tv_nsec / 1000;
    int64_t newest = tfevents_newest_us(folder);
    us = us > newest ? us : newest + 1; /* the clock was set back */
    char *name = text_format(TFEVENTS_BEGINNING "%010" PRId64 ".%06" PRId64 TFEVENTS_ENDING,
                             us / TFEVENTS_SECOND_US, us % TFEVENTS_SECOND_US);
    char *path = text_format("%s/%s", folder, name);
    int fd = tfevents_open(path, O_CREAT | O_EXCL, err);
    status = fd < 0 ? fd : tfevents_write(fd, path, file, err);
    if (status == 0) {
        tfevents_empty_others(folder, name, now.tv_sec);
        *ret_path = path;
    } else {
        if (fd >= 0)
            (void)unlink(path); /* half a file is worse than the old one */
        free(path);
    }
    free(name);
    return status;
}

int tfevents_append(const char *path, const struct text *more, struct error *err)
{
    struct stat info;
    int fd = tfevents_open(path, O_APPEND, err);
    if (fd < 0)
        return fd;
    if (fstat(fd, &info) == 0 && !info.st_size) {
        (void)close(fd); /* nothing was written */
        return error_set(err, -ENOENT,
                         "another program has emptied %s; does another phasectl write this curve?",
                         path);
    }
    return tfevents_write(fd, path, more, err);
}
