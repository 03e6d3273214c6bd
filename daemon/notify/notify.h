/* Telling people: programs of their own carry out the notices of the record, so that nothing waits
 * for a notice. A notice that cannot be told is tried again, later each time, for a day. */
#ifndef PHASED_DAEMON_NOTIFY_NOTIFY_H
#define PHASED_DAEMON_NOTIFY_NOTIFY_H

struct room;

extern const struct room notify_room;

#endif
