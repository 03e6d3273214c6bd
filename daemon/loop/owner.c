/* Whether this daemon may act, or another one serves the record by now. */
#include "daemon/loop/inside.h"

#include "daemon/store/store.h"
#include "lib/error.h"

#include <errno.h>

void loop_fence(struct loop *loop, const struct error *failure)
{
    if (loop->is_fenced)
        return;
    log_line("%s; this one stops", failure->message);
    loop->is_fenced = true;
    (void)uv_timer_stop(&loop->alarm);
    loop->config.fenced(loop->config.context);
}

bool loop_is_owner(struct loop *loop)
{
    struct error err;
    if (store_check_lease(loop->config.store, &err) == -ESTALE)
        loop_fence(loop, &err);
    return !loop->is_fenced;
}
