/* Reading limits.yaml. */
#include "daemon/admission/admission_private.h"
#include "daemon/loop/loop.h"
#include "lib/clock.h"
#include "lib/file.h"
#include "lib/home.h"
#include "lib/spec/queue_limits.h"
#include "lib/text.h"

#include <stdio.h>
#include <string.h>

/* How long a file must be empty before its limits are lifted. */
enum { LIMITS_EMPTY_MS = 2000 };

/* Whether the file was emptied a moment ago, as a shell or an editor does before it writes the new
 * text. */
static bool limits_are_being_written(struct limits *limits, const struct stat *now)
{
    if (limits->seen.st_size == 0 || !S_ISREG(now->st_mode) || now->st_size > 0)
        limits->empty_ms = 0;
    else if (!limits->empty_ms)
        limits->empty_ms = clock_steady_ms();
    return limits->empty_ms && clock_steady_ms() - limits->empty_ms < LIMITS_EMPTY_MS;
}

const json_t *limits_get(struct admission *admission)
{
    struct limits *limits = &admission->limits;
    const char *path = loop_config(admission->loop)->home->limits;
    struct stat now;
    if (stat(path, &now) < 0)
        now = (struct stat){0};
    if (limits_are_being_written(limits, &now) ||
        (limits->is_read && file_is_unchanged(&limits->seen, &now)))
        return limits->file;
    struct spec_problems problems = {0};
    struct text lines = {0};
    char before[REASON_MAX];
    json_decref(limits->file);
    limits->is_read = queue_limits_load(path, &problems, &limits->file) == 0;
    limits->seen = now;
    spec_problems_text(&problems, &lines);
    (void)snprintf(before, sizeof before, "%s", limits->problem);
    (void)snprintf(limits->problem, sizeof limits->problem, "%.*s",
                   (int)strcspn(text_string(&lines), "\n"), text_string(&lines));
    if (lines.size && !text_equal(limits->problem, before))
        log_line("%s", limits->problem);
    text_fini(&lines);
    spec_problems_fini(&problems);
    return limits->file;
}
