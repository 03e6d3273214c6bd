/* Allocation that never fails: without memory each function prints a message and aborts, because
 * the program can do nothing sensible. The caller frees the results with free(). */
#ifndef PHASED_LIB_MEMORY_H
#define PHASED_LIB_MEMORY_H

#include <stddef.h>

/* Like malloc(), but a size of 0 gives memory too. */
void *xmalloc(size_t size)
    __attribute__((malloc, alloc_size(1), returns_nonnull, warn_unused_result));
/* Like calloc(): `count` elements of `size` bytes, all zero. */
void *xcalloc(size_t count, size_t size)
    __attribute__((malloc, alloc_size(1, 2), returns_nonnull, warn_unused_result));
/* Like realloc(): `memory` (or NULL) with room for `size` bytes. A size of 0 does not free
 * `memory`. */
void *xrealloc(void *memory, size_t size)
    __attribute__((alloc_size(2), returns_nonnull, warn_unused_result));
/* Like xrealloc(), with room for `count` elements of `size` bytes. */
void *xreallocarray(void *memory, size_t count, size_t size)
    __attribute__((alloc_size(2, 3), returns_nonnull, warn_unused_result));

/* Copies `string`, which must not be NULL. */
char *xstrdup(const char *string)
    __attribute__((malloc, nonnull, returns_nonnull, warn_unused_result));
/* Copies `string`. Returns NULL if `string` is NULL. */
char *xstrdup_or_null(const char *string) __attribute__((malloc, warn_unused_result));
/* Copies the first `size` bytes of `string`, or all of a shorter string. */
char *xstrndup(const char *string, size_t size)
    __attribute__((malloc, nonnull, returns_nonnull, warn_unused_result));

#endif
