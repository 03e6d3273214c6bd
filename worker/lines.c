/* Splits a stream into lines. */
#include "worker/lines.h"

#include <string.h>

static void lines_keep(struct lines *lines, const char *data, size_t size)
{
    size_t room = lines->size_max - lines->partial.size;
    text_add_bytes(&lines->partial, data, size < room ? size : room);
}

static void lines_tell(struct lines *lines, lines_found *found, void *context)
{
    /* The splitter is ready for more data before the callback runs. */
    struct text line = lines->partial;
    lines->partial = (struct text){0};
    found(context, text_string(&line), line.size);
    text_fini(&line);
}

void lines_feed(struct lines *lines, const char *data, size_t size, lines_found *found,
                void *context)
{
    while (size) {
        const char *end = memchr(data, '\n', size);
        if (!end) {
            lines_keep(lines, data, size);
            return;
        }
        size_t length = (size_t)(end - data);
        lines_keep(lines, data, length);
        lines_tell(lines, found, context);
        data += length + 1;
        size -= length + 1;
    }
}

void lines_end(struct lines *lines, lines_found *found, void *context)
{
    if (lines->partial.size)
        lines_tell(lines, found, context);
}

void lines_fini(struct lines *lines)
{
    text_fini(&lines->partial);
}
