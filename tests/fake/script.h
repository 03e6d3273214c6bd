/* Reads the faults of a fake library: a list of words separated by commas, some with a number
 * (`lost=3,slow=5,driver`). */
#ifndef PHASED_TESTS_FAKE_SCRIPT_H
#define PHASED_TESTS_FAKE_SCRIPT_H

#include <stdlib.h>
#include <string.h>

/* Returns the number after `word=`; 1 for a word alone; -1 without the word. `script` may be NULL.
 */
static inline int script_said(const char *script, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = script; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, word, size) != 0)
            continue;
        if (at[size] == '=')
            return (int)strtol(at + size + 1, NULL, 10);
        if (at[size] == ',' || !at[size])
            return 1;
    }
    return -1;
}

#endif
