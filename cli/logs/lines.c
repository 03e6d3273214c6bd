/* Lines and their times. All stamps have the same form, so comparing the texts compares the
 * times. */
#include "cli/logs/lines.h"

#include "cli/options.h"
#include "lib/error.h"

#include <errno.h>
#include <string.h>

bool lines_pass(const struct lines_filter *filter, const char *line, size_t size)
{
    size_t time_size = clock_stamp_size(line, size);
    if (filter->since[0] && time_size && strncmp(line, filter->since, CLOCK_STAMP_SIZE - 1) < 0)
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
    int status = options_read_since(text, now, &since, err);
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
