/* Memory that is always there: each of these prints a message and aborts where memory is exhausted,
 * since nothing sensible can be done without memory. What they return is the caller's to free(). */
#ifndef PHASED_LIB_MEMORY_H
#define PHASED_LIB_MEMORY_H

#include <stddef.h>

/* As malloc(), of `size` bytes; a size of 0 gives memory too. */
void *xmalloc(size_t size)
    __attribute__((malloc, alloc_size(1), returns_nonnull, warn_unused_result));
/* As calloc(): `count` elements of `size` bytes, all zero. */
void *xcalloc(size_t count, size_t size)
    __attribute__((malloc, alloc_size(1, 2), returns_nonnull, warn_unused_result));
/* As realloc(): `memory` (or NULL) with room for `size` bytes. A size of 0 does not free it. */
void *xrealloc(void *memory, size_t size)
    __attribute__((alloc_size(2), returns_nonnull, warn_unused_result));
/* As xrealloc(), with room for `count` elements of `size` bytes. */
void *xreallocarray(void *memory, size_t count, size_t size)
    __attribute__((alloc_size(2, 3), returns_nonnull, warn_unused_result));

/* A copy of `string`, which is not NULL. */
char *xstrdup(const char *string)
    __attribute__((malloc, nonnull, returns_nonnull, warn_unused_result));
/* A copy of `string`, or NULL where it is NULL. */
char *xstrdup_or_null(const char *string) __attribute__((malloc, warn_unused_result));
/* A copy of the first `size` bytes of `string`, or of all where it is shorter. */
char *xstrndup(const char *string, size_t size)
    __attribute__((malloc, nonnull, returns_nonnull, warn_unused_result));

#endif
