/* Reads and writes JSON files. */
#include "lib/protocol/message.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 1, 0))) static char *message_path(const char *format, va_list args)
{
    struct text path = {0};
    text_addv(&path, format, args);
    return text_steal(&path);
}

int message_read(json_t **ret_json, struct error *err, const char *format, ...)
{
    char *text = NULL;
    size_t size;
    json_error_t where;
    va_list args;
    va_start(args, format);
    char *path = message_path(format, args);
    va_end(args);
    *ret_json = NULL;
    int status = file_read(path, MESSAGE_SIZE_MAX, &text, &size, err);
    if (status == 0)
        *ret_json = json_loadb(text, size, JSON_DECODE_ANY, &where);
    if (status == 0 && !*ret_json)
        status =
            error_set(err, -EINVAL, "%s:%d:%d: %s", path, where.line, where.column, where.text);
    free(text);
    free(path);
    return status;
}

typedef int message_writer(const char *path, const void *data, size_t size, mode_t mode,
                           struct error *err);

/* Frees the path. */
static int message_write(message_writer *write, char *path, const json_t *json, struct error *err)
{
    char *text = json_dumps(json, JSON_COMPACT);
    int status = text ? write(path, text, strlen(text), 0600, err)
                      : error_set(err, -EILSEQ, "cannot write %s: it is not UTF-8", path);
    free(text);
    free(path);
    return status;
}

int message_replace(const json_t *json, struct error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int status = message_write(file_replace, message_path(format, args), json, err);
    va_end(args);
    return status;
}

int message_create_once(const json_t *json, struct error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int status = message_write(file_create_once, message_path(format, args), json, err);
    va_end(args);
    return status;
}
