/* Computes the place of a rank, and its devices. */
#include "worker/process/placement.h"

#include "lib/text.h"

#include <string.h>

struct placement placement_of(const struct assignment_sizes *sizes, unsigned rank)
{
    return (struct placement){
        .tensor = rank % sizes->tensor,
        .data = rank / sizes->tensor % sizes->data,
        .pipeline = rank / sizes->tensor / sizes->data,
    };
}

char *placement_devices(const char *list, unsigned first, unsigned count)
{
    const char *begin = list, *end;
    for (unsigned i = 0; i < first; i++) {
        begin = strchr(begin, ',');
        if (!begin)
            return NULL;
        begin++;
    }
    end = begin;
    for (unsigned i = 0; i < count; i++) {
        size_t size = strcspn(end, ",");
        if (size == 0)
            return NULL;
        end += size + (i + 1 < count);
        if (i + 1 < count && end[-1] != ',')
            return NULL;
    }
    return text_format("%.*s", (int)(end - begin), begin);
}
