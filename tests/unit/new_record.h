/* New records for tests. */
#ifndef PHASED_TESTS_UNIT_NEW_RECORD_H
#define PHASED_TESTS_UNIT_NEW_RECORD_H

/* Puts a new record at the path. store_open() makes the first record of a program. The others are
 * copies of it, because making the schema takes 10 ms. */
void new_record(const char *path);

#endif
