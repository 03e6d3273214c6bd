/* Which rooms the loop of phased has. */
#include "daemon/rooms.h"

#include "daemon/notify/notify.h"

#include <stddef.h>

const struct room *const daemon_rooms[] = {
    &notify_room, /* tells people */
    NULL,
};
