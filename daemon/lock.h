/* One daemon for a home: a lock on a file. The system removes the lock however the process ends. */
#ifndef PHASED_DAEMON_LOCK_H
#define PHASED_DAEMON_LOCK_H

struct error;

/* Locks the file at `path`, and makes the file if needed. Writes the id of this process into the
 * file. Returns the descriptor, which holds the lock until it is closed. -EBUSY: `err` names the
 * process that has the lock. */
int lock_take(const char *path, struct error *err);

#endif
