/* Fills and prints struct error. */
#include "lib/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 0))) static int error_fill(struct error *err, int code,
                                                            const char *format, va_list args)
{
    assert(code < 0);
    if (err) {
        *err = (struct error){.code = code};
        (void)vsnprintf(err->message, sizeof err->message, format, args); /* a cut message is
                                                                           * fine */
    }
    return code;
}

int error_set(struct error *err, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)error_fill(err, code, format, args);
    va_end(args);
    return code;
}

int error_set_at(struct error *err, int code, const char *where, unsigned line, unsigned column,
                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)error_fill(err, code, format, args);
    va_end(args);
    if (err) {
        (void)snprintf(err->where, sizeof err->where, "%s", where);
        err->line = line;
        err->column = column;
    }
    return code;
}

int error_prefix(struct error *err, const char *format, ...)
{
    if (!err)
        return 0;
    char prefix[sizeof err->message];
    char message[sizeof err->message];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    memcpy(message, err->message, sizeof message);
    int used = snprintf(err->message, sizeof err->message, "%s: ", prefix);
    if (used > 0 && (size_t)used < sizeof err->message)
        (void)snprintf(err->message + used, sizeof err->message - (size_t)used, "%s", message);
    return err->code;
}

const char *error_text(const struct error *err, char *buffer, size_t size)
{
    char position[32] = "";
    if (err->line)
        (void)snprintf(position, sizeof position, ":%u:%u", err->line, err->column);
    if (err->where[0])
        (void)snprintf(buffer, size, "%s%s: %s", err->where, position, err->message);
    else
        (void)snprintf(buffer, size, "%s", err->message);
    return buffer;
}
