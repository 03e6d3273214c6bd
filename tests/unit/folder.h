/* A folder for the files of one test: folder_make() before it, and folder_remove() after it with
 * all that is in it, as cmocka's setup and teardown. */
#ifndef PHASED_TESTS_FOLDER_H
#define PHASED_TESTS_FOLDER_H

/* Its path, of the test that runs. */
extern char folder[32];

int folder_make(void **state);

int folder_remove(void **state);

#endif
