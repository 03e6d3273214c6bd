/* One daemon for a home: a lock on a file, which the system takes back however the process ends. */
#ifndef PHASED_DAEMON_LOCK_H
#define PHASED_DAEMON_LOCK_H

struct error;

/* Locks the file at `path`, making it if needed, and writes this process's id into it. Returns the
 * descriptor, which holds the lock until it is closed; -EBUSY names the process that has it. */
int lock_take(const char *path, struct error *err);

#endif
