/* The loop: keys, replies and seconds change the model, and the model is drawn. */
#include "cli/top/top.h"

#include "cli/cli.h"
#include "cli/top/draw.h"
#include "cli/top/fetch.h"
#include "cli/top/grid.h"
#include "cli/top/model.h"
#include "cli/top/screen.h"
#include "cli/top/wants.h"
#include "lib/address.h"
#include "lib/clock.h"
#include "lib/error.h"
#include "lib/text.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define TOP_REDRAW_S 1.0  /* ages and the clock go on */
#define TOP_FINISH_S 10.0 /* how long decisions may need after the end */

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

/* Takes the reply, if it has come. Returns whether it was the answer to a decision. */
static bool top_take(struct model *model, struct fetch *fetch, double clock_s)
{
    struct reply reply;
    if (!fetch_take(fetch, &reply))
        return false;
    bool is_decision = reply.request.kind == REQUEST_DECIDE;
    model_take(model, &reply, clock_s);
    return is_decision;
}

/* Sends the next request. Returns after how many seconds there is something to ask for. */
static double top_ask(struct model *model, struct fetch *fetch, double clock_s)
{
    struct request request;
    double wait_s = TOP_REDRAW_S;
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
        double clock_s = clock_steady_s();
        enum screen_input input;
        (void)top_take(model, fetch, clock_s); /* the model has the notice */
        double wait_s = top_ask(model, fetch, clock_s);
        top_draw(model, clock_s, true);
        (void)poll(fds, 2, (int)(wait_s * 1000) + 1); /* a signal may end it */
        while ((input = screen_read(model)) == SCREEN_INPUT)
            top_draw(model, clock_s, false);
        if (input == SCREEN_GONE)
            break;
    }
}

/* --- The end ---------------------------------------------------------------------------------- */

/* Says what came of a decision. Returns an exit code. */
static int top_report(const struct model *model)
{
    const char *notice = text_string(&model->notice);
    if (model->is_bad_notice)
        (void)fprintf(stderr, "phasectl: %s\n", notice);
    else
        printf("%s\n", notice);
    return model->is_bad_notice ? CLI_FAILED : CLI_OK;
}

/* Sends the decision that waits, and waits for answers to decisions. Without a view, it says what
 * came of them. Returns an exit code: CLI_FAILED if a decision failed or may be lost. */
static int top_finish(struct model *model, struct fetch *fetch)
{
    struct pollfd answer = {.fd = fetch_fd(fetch), .events = POLLIN};
    double clock_s = clock_steady_s(), end_s = clock_s + TOP_FINISH_S;
    int exit_code = CLI_OK;
    char name[ADDRESS_TEXT_SIZE];
    (void)signal(SIGINT, SIG_DFL); /* a person need not wait */
    while (model_is_deciding(model) && clock_s < end_s) {
        double wait_s = top_ask(model, fetch, clock_s);   /* sends nothing but a decision */
        (void)poll(&answer, 1, (int)(wait_s * 1000) + 1); /* a signal may end it */
        clock_s = clock_steady_s();
        if (top_take(model, fetch, clock_s) && top_report(model) != CLI_OK)
            exit_code = CLI_FAILED;
    }
    if (!model_is_deciding(model))
        return exit_code;
    if (model->is_asking && model->asked.kind == REQUEST_DECIDE)
        (void)fprintf(stderr, "phasectl: %s %s has no answer; look with 'phasectl status'\n",
                      phase_command_name(model->asked.command),
                      address_text(&model->asked.address, name));
    if (model->has_decision)
        (void)fprintf(stderr, "phasectl: %s %s was not sent: phased does not answer\n",
                      phase_command_name(model->decision.command),
                      address_text(&model->decision.address, name));
    return CLI_FAILED;
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
        screen_close();
        status = top_finish(&model, fetch);
        model_fini(&model);
    }
    fetch_close(fetch);
    return status;
}
