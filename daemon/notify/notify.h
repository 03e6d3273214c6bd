/* Tells people. A separate program carries out each notice of the record, so that nothing waits for
 * a notice. A notice that cannot be told is tried again for a day, less and less often. */
#ifndef PHASED_DAEMON_NOTIFY_NOTIFY_H
#define PHASED_DAEMON_NOTIFY_NOTIFY_H

struct room;

extern const struct room notify_room;

#endif
