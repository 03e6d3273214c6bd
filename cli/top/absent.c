/* Stands in for top.c where ncurses was not found. */
#include "cli/top/top.h"

#include "lib/error.h"

#include <errno.h>

int top_run(const struct cli *cli, struct error *err)
{
    (void)cli;
    return error_set(
        err, -ENOTSUP,
        "top needs ncurses, and phasectl was built without it; install libncurses-dev, "
        "then run configure and make again");
}
