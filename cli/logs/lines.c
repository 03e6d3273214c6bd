/* Lines and their times. Times have the same form everywhere, so that their texts compare as the
 * times do. */
#include "cli/logs/lines.h"

#include "lib/error.h"
#include "lib/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

size_t lines_time_size(const char *line, size_t size)
{
    static const char form[] = "0000-00-00T00:00:00.000Z ";
    if (size < LINES_TIME_SIZE)
        return 0;
    for (size_t i = 0; i < LINES_TIME_SIZE; i++) {
        bool fits = form[i] == '0' ? isdigit((unsigned char)line[i]) != 0 : line[i] == form[i];
        if (!fits)
            return 0;
    }
    return LINES_TIME_SIZE;
}

double lines_time(const char *line, size_t size)
{
    struct tm tm = {0};
    if (!lines_time_size(line, size) || !strptime(line, "%Y-%m-%dT%H:%M:%S", &tm))
        return NAN;
    int milliseconds = (line[20] - '0') * 100 + (line[21] - '0') * 10 + (line[22] - '0');
    return (double)timegm(&tm) + milliseconds / 1000.0;
}

bool lines_pass(const struct lines_filter *filter, const char *line, size_t size)
{
    size_t time_size = lines_time_size(line, size);
    if (filter->since[0] && time_size && strncmp(line, filter->since, LINES_TIME_SIZE - 1) < 0)
        return false;
    if (!filter->has_pattern)
        return true;
    regmatch_t match = {.rm_eo = (regoff_t)(size - time_size)};
    return regexec(&filter->pattern, line + time_size, 1, &match, REG_STARTEND) == 0;
}

/* --- Reading the options ---------------------------------------------------------------------- */

/* Reads a time by one of the forms. A form without a date means the last such time before `now`. */
static bool lines_read_time(const char *text, time_t now, time_t *ret_time)
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

int lines_since(struct lines_filter *filter, const char *text, time_t now, struct error *err)
{
    uint32_t seconds;
    struct tm tm;
    time_t since;
    if (units_parse_duration(text, &seconds, NULL) == 0)
        since = now - (time_t)seconds;
    else if (!lines_read_time(text, now, &since))
        return error_set(err, -EINVAL,
                         "--since wants a duration such as 10m, or a time such as 14:05 or "
                         "'2026-11-01 14:05', not '%s'",
                         text);
    if (!gmtime_r(&since, &tm) || tm.tm_year < 0 || tm.tm_year > 8099)
        return error_set(err, -EINVAL, "--since: '%s' is too far away", text);
    (void)strftime(filter->since, sizeof filter->since, "%Y-%m-%dT%H:%M:%S.000Z", &tm); /* fits */
    return 0;
}

int lines_grep(struct lines_filter *filter, const char *text, struct error *err)
{
    char reason[128];
    int code = regcomp(&filter->pattern, text, REG_EXTENDED);
    if (code) {
        (void)regerror(code, &filter->pattern, reason, sizeof reason);
        return error_set(err, -EINVAL, "--grep: '%s' is no regular expression: %s", text, reason);
    }
    filter->has_pattern = true;
    return 0;
}

void lines_fini(struct lines_filter *filter)
{
    if (filter->has_pattern)
        regfree(&filter->pattern);
    filter->has_pattern = false;
}
