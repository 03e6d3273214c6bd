/* A comparison of long texts. cmocka would cut a message with both of them. */
#ifndef PHASED_TESTS_UNIT_SAME_LINES_H
#define PHASED_TESTS_UNIT_SAME_LINES_H

/* Fails the test with the first line of `found` that differs. `name` is what was read. */
void assert_same_lines(const char *name, const char *found, const char *expected);

#endif
