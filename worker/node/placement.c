/* The arithmetic of ranks and devices. */
#include "worker/node/placement.h"

#include "lib/error.h"
#include "lib/text.h"

#include <errno.h>
#include <string.h>

int placement_read(const json_t *parallel, struct placement_sizes *ret_sizes, struct error *err)
{
    struct placement_sizes sizes = {0};
    int tensor, pipeline, data;
    json_error_t where;
    if (json_is_object(parallel)) {
        if (json_unpack_ex((json_t *)parallel, &where, 0, "{s:i, s:i, s:i}", "tensor", &tensor,
                           "pipeline", &pipeline, "data", &data) < 0)
            return error_set(err, -EINVAL, "spec: parallel: %s", where.text);
        if (tensor < 1 || pipeline < 1 || data < 1)
            return error_set(err, -EINVAL, "spec: parallel has a size below 1");
        sizes = (struct placement_sizes){(unsigned)tensor, (unsigned)pipeline, (unsigned)data};
    }
    *ret_sizes = sizes;
    return 0;
}

struct placement placement_of(const struct placement_sizes *sizes, unsigned rank)
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
