/* One daemon for a home: a lock on a file. The system removes the lock however the process ends. */
#ifndef PHASED_DAEMON_LOCK_H
#define PHASED_DAEMON_LOCK_H

struct error;

/* Locks the file at `path`, and makes the file if needed. Writes the id of this process into the
 * file. `kept` is the descriptor of the lock that this process had before it executed itself, or
 * -1. It is used if it is still of this file. Returns the descriptor, which holds the lock until
 * the process closes this or any other descriptor of the file. -EBUSY: `err` names the process that
 * has the lock. */
int lock_take(const char *path, int kept, struct error *err);

#endif
