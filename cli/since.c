/* The times of `--since`. */
#include "cli/since.h"

#include "lib/error.h"
#include "lib/units.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a time as logs write it. */
static bool since_read_utc(const char *text, time_t *ret_time)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    if (!end || *end)
        return false;
    *ret_time = timegm(&tm);
    return true;
}

int since_read(const char *text, time_t now, time_t *ret_since, struct error *err)
{
    uint32_t seconds;
    if (units_parse_duration(text, &seconds, NULL) == 0)
        *ret_since = now - (time_t)seconds;
    else if (!since_read_utc(text, ret_since) &&
             units_parse_time(text, now, UNITS_LAST, ret_since) < 0)
        return error_set(err, -EINVAL,
                         "--since wants a duration such as 10m, or a time such as 14:05 or "
                         "'2026-11-01 14:05', not '%s'",
                         text);
    return 0;
}
