/* The rooms of the daemon: the list is its architecture. */
#ifndef PHASED_DAEMON_ROOMS_H
#define PHASED_DAEMON_ROOMS_H

struct room;

/* In the order in which they are opened: a room uses those before it only. NULL is the last. */
extern const struct room *const daemon_rooms[];

#endif
