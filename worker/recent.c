/* The newest lines. The buffer holds twice what is kept, so that it is moved once for as many bytes
 * as it keeps. */
#include "worker/recent.h"

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
    recent->data = realloc(recent->data, capacity);
    if (!recent->data)
        abort();
    recent->capacity = capacity;
}

void recent_add(struct recent *recent, const char *lines, size_t size)
{
    if (size > RECENT_SIZE_MAX) {
        lines += size - RECENT_SIZE_MAX;
        size = RECENT_SIZE_MAX;
        recent->size = 0;
    }
    recent_grow(recent, recent->size + size);
    if (recent->size + size > recent->capacity) {
        size_t kept = RECENT_SIZE_MAX - size;
        memmove(recent->data, recent->data + recent->size - kept, kept);
        recent->size = kept;
    }
    memcpy(recent->data + recent->size, lines, size);
    recent->size += size;
}

const char *recent_lines(const struct recent *recent, size_t *ret_size)
{
    size_t from = recent->size > RECENT_SIZE_MAX ? recent->size - RECENT_SIZE_MAX : 0;
    const char *lines = recent->data + from;
    const char *end = from ? memchr(lines, '\n', recent->size - from) : NULL;
    if (end) /* the first line is only the rest of one */
        lines = end + 1;
    *ret_size = recent->size ? (size_t)(recent->data + recent->size - lines) : 0;
    return recent->size ? lines : "";
}
