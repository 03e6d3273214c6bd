/* What every verb needs: one line for a failure, a hint after wrong words, signals and a wait. */
#include "cli/cli.h"

#include "lib/address.h"
#include "lib/error.h"
#include "lib/text.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t cli_interrupted; /* all that a signal handler may set */

int cli_fail(const struct error *err)
{
    char text[sizeof err->message + sizeof err->where + 64];
    (void)fprintf(stderr, "phasectl: %s\n", error_text(err, text, sizeof text));
    return CLI_FAILED;
}

int cli_usage(const struct cli *cli, const char *format, ...)
{
    struct text text = {0};
    va_list args;
    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    const char *verb = cli->verb ? cli->verb->name : "";
    (void)fprintf(stderr, "phasectl%s%s: %s\nTry 'phasectl %s%s--help'.\n", verb[0] ? " " : "",
                  verb, text_string(&text), verb, verb[0] ? " " : "");
    text_fini(&text);
    return CLI_USAGE;
}

void cli_note_earlier(const struct address *newest, const struct address *run, const char *what)
{
    char before[ADDRESS_TEXT_SIZE], after[ADDRESS_TEXT_SIZE];
    if (!text_equal(address_text(newest, after), address_text(run, before)))
        (void)fprintf(stderr, "phasectl: %s has no %s yet; showing the %s of %s\n", after, what,
                      what, before);
}

void cli_print(struct text *text)
{
    (void)fputs(text_string(text), stdout); /* main() reports a failure */
    text_fini(text);
}

bool cli_is_unread(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return ferror(stdout) || (poll(&out, 1, 0) == 1 && out.revents & (POLLERR | POLLHUP));
}

static void cli_interrupt(int signal_number)
{
    (void)signal_number;
    cli_interrupted = 1;
}

void cli_catch(int signal_number)
{
    struct sigaction action = {.sa_handler = cli_interrupt}; /* no SA_RESTART: it ends a wait */
    (void)sigaction(signal_number, &action, NULL);           /* cannot fail for these signals */
}

bool cli_is_interrupted(void)
{
    return cli_interrupted;
}

void cli_wait(unsigned milliseconds)
{
    struct timespec time = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    (void)nanosleep(&time, NULL); /* a signal ends it early: that is wanted */
}
