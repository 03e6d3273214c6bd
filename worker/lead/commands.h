/* The queue of the daemon's commands, from the thread of the link to the loop of the lead. */
#ifndef PHASED_WORKER_LEAD_COMMANDS_H
#define PHASED_WORKER_LEAD_COMMANDS_H

#include <jansson.h>
#include <pthread.h>
#include <uv.h>

/* `command` is borrowed during the call. */
typedef void command_found(void *context, const json_t *command);

struct commands {
    uv_async_t async;
    pthread_mutex_t mutex;
    json_t *waiting; /* a list; protected by the mutex */
    command_found *found;
    void *context;
};

void commands_init(struct commands *commands, uv_loop_t *loop, command_found *found, void *context);
/* Closes the handle. The struct must live until the loop has closed the handle. No thread may post
 * any more. */
void commands_close(struct commands *commands);

/* A link_command_came. Any thread may call it. Takes over the reference. */
void commands_post(void *context, json_t *command);

void commands_clear(struct commands *commands);

#endif
