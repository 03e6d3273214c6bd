/* Writing paths. */
#include "cli/top/paths.h"

#include "cli/field.h"
#include "cli/view.h"
#include "lib/metrics/extract.h"

#include <stdio.h>
#include <string.h>

const char *paths_of(const struct address *address, const char *rest, char buffer[PATHS_SIZE])
{
    char path[ADDRESS_PATH_SIZE];
    (void)snprintf(buffer, PATHS_SIZE, "%s%s", address_path(address, path), rest);
    return buffer;
}

const char *paths_search(const char *words, char buffer[PATHS_SIZE])
{
    int used = snprintf(buffer, PATHS_SIZE, "%s", PATHS_SEARCH);
    for (; *words && used + 3 < PATHS_SIZE; words++)
        used += snprintf(buffer + used, PATHS_SIZE - (size_t)used, "%%%02x", (unsigned char)*words);
    return buffer;
}

bool paths_curve(const json_t *phase, long long from, char buffer[PATHS_SIZE])
{
    const char *name = view_best_metric(json_object_get(phase, "metrics"));
    struct address run;
    if (!name || !extract_is_name(name) ||
        address_parse(field_text(json_object_get(phase, "run"), "address"), &run, NULL) < 0)
        return false;
    size_t used = strlen(paths_of(&run, PATHS_CURVE, buffer));
    used += (size_t)snprintf(buffer + used, PATHS_SIZE - used, "&name=%s", name);
    if (from > 0 && used < PATHS_SIZE)
        (void)snprintf(buffer + used, PATHS_SIZE - used, "&from=%lld", from);
    return true;
}

long long paths_curve_next(const json_t *answer, long long from)
{
    long long next = field_integer(answer, "next");
    return next > from ? next : 0;
}
