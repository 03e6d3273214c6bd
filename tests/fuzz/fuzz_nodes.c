/* Any bytes as a list of nodes. JSON must be able to hold the names, and there must not be too
 * many. */
#include "tests/fuzz/fuzz.h"

#include "daemon/store/nodes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char fuzz_corpus[] = "nodes";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *list = strndup((const char *)data, size);
    const json_t *name;
    size_t i;
    assert(list);
    json_t *names = nodes_expand(list);
    json_array_foreach(names, i, name)
    {
        assert(json_is_string(name) && json_string_length(name) > 0);
    }
    assert(i <= NODES_COUNT_MAX && (i > 0 || strspn(list, ",") == strlen(list)));
    json_decref(names);
    free(list);
    return 0;
}
