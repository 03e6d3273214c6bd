/* The times of `--since`. */
#include "cli/since.h"

#include "lib/error.h"
#include "lib/units.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a time by one of the forms. A form without a date means the last such time before `now`. */
static bool since_read_time(const char *text, time_t now, time_t *ret_time)
{
    static const struct {
        const char *form;
        bool has_date, is_utc;
    } forms[] = {
        {"%Y-%m-%dT%H:%M:%SZ", true, true},
        {"%Y-%m-%dT%H:%M:%S", true, false},
        {"%Y-%m-%d %H:%M:%S", true, false},
        {"%Y-%m-%d %H:%M", true, false},
        {"%Y-%m-%d", true, false},
        {"%H:%M:%S", false, false},
        {"%H:%M", false, false},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct tm tm = {0};
        if (!forms[i].has_date && !localtime_r(&now, &tm))
            return false;
        tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
        const char *end = strptime(text, forms[i].form, &tm);
        if (!end || *end)
            continue;
        tm.tm_isdst = -1;
        *ret_time = forms[i].is_utc ? timegm(&tm) : mktime(&tm);
        if (!forms[i].has_date && *ret_time > now) {
            tm.tm_mday--;
            tm.tm_isdst = -1;
            *ret_time = mktime(&tm);
        }
        return true;
    }
    return false;
}

int since_read(const char *text, time_t now, time_t *ret_since, struct error *err)
{
    uint32_t seconds;
    if (units_parse_duration(text, &seconds, NULL) == 0)
        *ret_since = now - (time_t)seconds;
    else if (!since_read_time(text, now, ret_since))
        return error_set(err, -EINVAL,
                         "--since wants a duration such as 10m, or a time such as 14:05 or "
                         "'2026-11-01 14:05', not '%s'",
                         text);
    return 0;
}
