/* The folder of a target whose decoder reads files. It is in memory if possible, because its files
 * are written ten million times. */
#ifndef PHASED_TESTS_FUZZ_FOLDER_H
#define PHASED_TESTS_FUZZ_FOLDER_H

#include <stddef.h>

/* Makes the folder at the first call. It is removed at exit, with all that is in it. */
const char *fuzz_folder(void);

/* The path of a file in the folder. The caller frees it. */
char *fuzz_path(const char *name);

/* Replaces a file in the folder. Makes the folders of `name` if they do not exist. */
void fuzz_write(const char *name, const void *data, size_t size);

#endif
