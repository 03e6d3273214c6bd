/* Commands of the daemon on their way from the link's thread to the lead's loop. */
#ifndef PHASED_WORKER_LEAD_COMMANDS_H
#define PHASED_WORKER_LEAD_COMMANDS_H

#include <jansson.h>
#include <pthread.h>
#include <uv.h>

/* Borrowed during the call. */
typedef void command_found(void *context, const json_t *command);

struct commands {
    uv_async_t async;
    pthread_mutex_t mutex;
    json_t *waiting; /* a list; of the mutex */
    command_found *found;
    void *context;
};

void commands_init(struct commands *commands, uv_loop_t *loop, command_found *found, void *context);
/* Closes the handle; the struct must live until the loop has seen that. No thread may post. */
void commands_close(struct commands *commands);

/* From any thread. Takes over the reference. A link_command_came. */
void commands_post(void *context, json_t *command);

/* Forgets what waits. */
void commands_clear(struct commands *commands);

#endif
