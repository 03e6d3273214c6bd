/* The rooms of the daemon: the list is its architecture. */
#ifndef PHASED_DAEMON_ROOMS_H
#define PHASED_DAEMON_ROOMS_H

struct room;

/* The rooms in the order in which they are opened. A room uses only rooms before it. NULL is the
 * last. */
extern const struct room *const daemon_rooms[];

#endif
