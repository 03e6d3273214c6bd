/* The queue of commands, which the thread of the link fills and the loop empties. */
#include "worker/lead/commands.h"

#include <assert.h>

static json_t *commands_take(struct commands *commands)
{
    pthread_mutex_lock(&commands->mutex);
    json_t *list = commands->waiting;
    commands->waiting = json_array();
    pthread_mutex_unlock(&commands->mutex);
    return list;
}

/* One wake-up may stand for several commands, so this takes all of them. */
static void commands_wake_done(uv_async_t *async)
{
    struct commands *commands = async->data;
    json_t *list = commands_take(commands), *command;
    size_t i;
    json_array_foreach(list, i, command) commands->found(commands->context, command);
    json_decref(list);
}

void commands_init(struct commands *commands, uv_loop_t *loop, command_found *found, void *context)
{
    int code = pthread_mutex_init(&commands->mutex, NULL);
    assert(code == 0);
    (void)code; /* a plain mutex cannot fail */
    commands->waiting = json_array();
    commands->found = found;
    commands->context = context;
    uv_async_init(loop, &commands->async, commands_wake_done);
    commands->async.data = commands;
}

void commands_post(void *context, json_t *command)
{
    struct commands *commands = context;
    pthread_mutex_lock(&commands->mutex);
    json_array_append_new(commands->waiting, command);
    pthread_mutex_unlock(&commands->mutex);
    uv_async_send(&commands->async);
}

void commands_clear(struct commands *commands)
{
    json_decref(commands_take(commands));
}

void commands_close(struct commands *commands)
{
    uv_close((uv_handle_t *)&commands->async, NULL);
    json_decref(commands->waiting);
    commands->waiting = NULL;
    pthread_mutex_destroy(&commands->mutex);
}
