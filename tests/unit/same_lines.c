/* The first difference of two texts. */
#include "tests/unit/same_lines.h"

#include "tests/unit/unit.h"

#include <string.h>

void assert_same_lines(const char *name, const char *found, const char *expected)
{
    for (unsigned line = 1; *found || *expected; line++) {
        size_t size = strcspn(found, "\n"), wanted = strcspn(expected, "\n");
        if (!*found != !*expected || size != wanted || memcmp(found, expected, size) != 0)
            fail_msg("%s is taken so, in line %u:\n%.*s\nand should be so:\n%.*s", name, line,
                     (int)size, found, (int)wanted, expected);
        found += size + (found[size] == '\n');
        expected += wanted + (expected[wanted] == '\n');
    }
}
