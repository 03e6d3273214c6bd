/* A thread that carries out one request at a time, so that keys never wait for an answer. */
#ifndef PHASED_CLI_TOP_FETCH_H
#define PHASED_CLI_TOP_FETCH_H

#include <stdbool.h>

struct error;
struct fetch;
struct reply;
struct request;

/* Starts the thread. It asks the daemon of the home of the environment. */
int fetch_open(struct fetch **ret_fetch, struct error *err);
/* Ends the thread. If a request is under way, the thread is left to end with the process. */
void fetch_close(struct fetch *fetch);

/* Readable when a reply has come. */
int fetch_fd(const struct fetch *fetch);

/* Hands over a copy of the request. Only if no request is under way. */
void fetch_ask(struct fetch *fetch, const struct request *request);
/* Takes the reply to the last request. False: the reply has not come yet. The caller frees what is
 * in the reply.
 */
bool fetch_take(struct fetch *fetch, struct reply *ret_reply);

#endif
