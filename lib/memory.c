/* Allocates memory, or aborts. */
#include "lib/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The message is a fixed text: stderr has no buffer, so this needs no memory. */
static void *memory_check(void *memory)
{
    if (!memory) {
        (void)fputs("out of memory\n", stderr);
        abort();
    }
    return memory;
}

void *xmalloc(size_t size)
{
    return memory_check(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size)
{
    return memory_check(count && size ? calloc(count, size) : calloc(1, 1));
}

void *xrealloc(void *memory, size_t size)
{
    return memory_check(realloc(memory, size ? size : 1));
}

void *xreallocarray(void *memory, size_t count, size_t size)
{
    return count && size ? memory_check(reallocarray(memory, count, size)) : xrealloc(memory, 1);
}

char *xstrdup(const char *string)
{
    return memory_check(strdup(string));
}

char *xstrdup_or_null(const char *string)
{
    return string ? xstrdup(string) : NULL;
}

char *xstrndup(const char *string, size_t size)
{
    return memory_check(strndup(string, size));
}
