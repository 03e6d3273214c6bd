/* The fault is a global, because it belongs to the process, like the environment. */
#include "daemon/loop/crash.h"

#include "daemon/core/core.h"
#include "lib/error.h"
#include "lib/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    char effect[32];
    unsigned long left; /* 0: no fault is wanted */
    enum crash_moment moment;
} crash;

int crash_init(struct error *err)
{
    const char *wish = getenv("PHASED_CRASH");
    crash.left = 0;
    if (!wish)
        return 0;
    char moment[8] = "before";
    unsigned long count = 0;
    int fields = sscanf(wish, "%31[a-z-]:%lu:%7s", crash.effect, &count, moment);
    if (fields < 2 || count == 0 || (!text_equal(moment, "before") && !text_equal(moment, "after")))
        return error_set(err, -EINVAL, "PHASED_CRASH=%s is not <effect>:<n>[:before|after]", wish);
    if (core_effect_parse(crash.effect) < 0 && !text_equal(crash.effect, "commit"))
        return error_set(err, -EINVAL, "PHASED_CRASH=%s names no effect", wish);
    crash.left = count;
    crash.moment = text_equal(moment, "before") ? CRASH_BEFORE : CRASH_AFTER;
    return 0;
}

void crash_point(const char *effect, enum crash_moment moment)
{
    if (crash.left == 0 || crash.moment != moment || !text_equal(effect, crash.effect))
        return;
    if (--crash.left == 0)
        raise(SIGKILL);
}
