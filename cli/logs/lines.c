/* Lines and their times. Times have the same form everywhere, so that their texts compare as the
 * times do. */
#include "cli/logs/lines.h"

#include "cli/since.h"
#include "lib/error.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
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

int lines_since(struct lines_filter *filter, const char *text, time_t now, struct error *err)
{
    struct tm tm;
    time_t since;
    int status = since_read(text, now, &since, err);
    if (status < 0)
        return status;
    if (!gmtime_r(&since, &tm) || tm.tm_year < 0 || tm.tm_year > 8099)
        return error_set(err, -EINVAL, "--since: '%s' is too far away", text);
    (void)strftime(filter->since, sizeof filter->since, "%Y-%m-%dT%H:%M:%S.000Z", &tm); /* fits */
    return 0;
}

int lines_grep(struct lines_filter *filter, const char *text, struct error *err)
{
    char reason[128];
    int status = regcomp(&filter->pattern, text, REG_EXTENDED);
    if (status) {
        (void)regerror(status, &filter->pattern, reason, sizeof reason);
        return error_set(err, -EINVAL, "--grep: '%s' is not a regular expression: %s", text,
                         reason);
    }
    filter->has_pattern = true;
    return 0;
}

void lines_filter_fini(struct lines_filter *filter)
{
    if (filter->has_pattern)
        regfree(&filter->pattern);
    filter->has_pattern = false;
}
