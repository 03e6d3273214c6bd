/* The loop: keys, replies and seconds change the model, and the model is drawn. */
#include "cli/top/top.h"

#include "cli/cli.h"
#include "cli/top/draw.h"
#include "cli/top/fetch.h"
#include "cli/top/grid.h"
#include "cli/top/model.h"
#include "cli/top/screen.h"
#include "cli/top/wants.h"
#include "lib/clock.h"
#include "lib/error.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#define TOP_REDRAW_S 1.0 /* ages and the clock go on */

/* `is_shown`: otherwise only the moves are made. */
static void top_draw(struct model *model, double clock_s, bool is_shown)
{
    struct grid grid;
    int rows, columns;
    screen_size(&rows, &columns);
    grid_init(&grid, rows, columns);
    model->now = (double)time(NULL);
    draw(model, clock_s, &grid);
    if (is_shown)
        screen_show(&grid);
    grid_fini(&grid);
}

/* Takes a reply and sends the next request. Returns after how many seconds there is something to
 * ask for. */
static double top_ask(struct model *model, struct fetch *fetch, double clock_s)
{
    struct reply reply;
    struct request request;
    double wait_s = TOP_REDRAW_S;
    if (fetch_take(fetch, &reply))
        model_take(model, &reply, clock_s);
    if (!model->is_asking && wants_next(model, clock_s, &request, &wait_s)) {
        model_ask(model, &request, clock_s);
        fetch_ask(fetch, &request);
    }
    return fmin(wait_s, TOP_REDRAW_S);
}

static void top_loop(struct model *model, struct fetch *fetch)
{
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = fetch_fd(fetch), .events = POLLIN}};
    while (!model->is_over && !cli_is_interrupted()) {
        double clock_s = (double)clock_steady_ms() / 1e3, wait_s = top_ask(model, fetch, clock_s);
        enum screen_input input;
        top_draw(model, clock_s, true);
        (void)poll(fds, 2, (int)(wait_s * 1000) + 1); /* a signal may end it */
        while ((input = screen_read(model)) == SCREEN_INPUT)
            top_draw(model, clock_s, false);
        if (input == SCREEN_GONE)
            break;
    }
}

int top_run(const struct cli *cli, struct error *err)
{
    struct fetch *fetch;
    struct model model;
    int status = fetch_open(&fetch, err);
    if (status < 0)
        return status;
    status = screen_open(cli->out.colours, err);
    if (status == 0) {
        model_init(&model, &cli->out);
        cli_catch(SIGINT);
        cli_catch(SIGTERM);
        cli_catch(SIGHUP);
        top_loop(&model, fetch);
        model_fini(&model);
        screen_close();
    }
    fetch_close(fetch);
    return status;
}
