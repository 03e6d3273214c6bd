/* Signal handlers that set one flag. */
#include "worker/model/stop.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t wanted; /* a handler can write nothing else */

static void note(int number)
{
    (void)number;
    wanted = 1;
}

void stop_install(void)
{
    static const int signals[] = {SIGTERM, SIGUSR1, SIGUSR2, SIGINT};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction action = {.sa_handler = note};
        if (signals[i] == SIGINT)
            action.sa_flags = (int)SA_RESETHAND;
        (void)sigemptyset(&action.sa_mask);
        (void)sigaction(signals[i], &action, NULL); /* fails only for wrong numbers */
    }
    /* The program must not end because a reader of the log has gone away. */
    (void)signal(SIGPIPE, SIG_IGN);
}

bool stop_is_wanted(void)
{
    return wanted;
}
