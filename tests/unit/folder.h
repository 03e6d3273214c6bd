/* A folder for the files of one test. folder_make() and folder_remove() are setup and teardown for
 * cmocka. */
#ifndef PHASED_TESTS_FOLDER_H
#define PHASED_TESTS_FOLDER_H

/* Its path in the running test. */
extern char folder[32];

int folder_make(void **state);

int folder_remove(void **state);

/* Writes `text` to a file below the folder, and makes the folder of the file. */
__attribute__((format(printf, 2, 3))) void folder_put(const char *text, const char *format, ...);

#endif
