/* Keeps the newest lines. The buffer holds twice the kept size, so that its content is moved
 * rarely. */
#include "worker/health/recent.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

enum { RECENT_CAPACITY_MIN = 4096, RECENT_CAPACITY_MAX = 2 * RECENT_SIZE_MAX };

void recent_fini(struct recent *recent)
{
    free(recent->data);
    *recent = (struct recent){0};
}

static void recent_grow(struct recent *recent, size_t size)
{
    size_t capacity = recent->capacity ? recent->capacity : RECENT_CAPACITY_MIN;
    while (capacity < size && capacity < RECENT_CAPACITY_MAX)
        capacity *= 2;
    if (capacity == recent->capacity)
        return;
    recent->data = xrealloc(recent->data, capacity);
    recent->capacity = capacity;
}

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

void recent_add(struct recent *recent, const char *lines, size_t size)
{
    lines = recent_end(lines, size, RECENT_SIZE_MAX, &size);
    recent_grow(recent, recent->size + size);
    if (recent->size + size > recent->capacity) {
        const char *kept =
            recent_end(recent->data, recent->size, RECENT_SIZE_MAX - size, &recent->size);
        memmove(recent->data, kept, recent->size);
    }
    memcpy(recent->data + recent->size, lines, size);
    recent->size += size;
}

const char *recent_lines(const struct recent *recent, size_t *ret_size)
{
    *ret_size = 0;
    return recent->size ? recent_end(recent->data, recent->size, RECENT_SIZE_MAX, ret_size) : "";
}
