/* What stands between phasectl and a terminal. Names, reasons and logs come from programs and
 * people, and a terminal obeys some of what could stand in them: it moves its cursor, changes its
 * title, types. Of such letters and sequences only the colours of phasectl reach a terminal; the
 * others are made visible. Files and pipes get all as it is. */
#ifndef PHASED_CLI_GUARD_H
#define PHASED_CLI_GUARD_H

#include <stddef.h>

struct text;

/* Makes standard output and standard error harmless where they are terminals. */
void guard_terminals(void);

/* Adds `bytes` as a terminal may get them. */
void guard_add(struct text *text, const char *bytes, size_t size);

/* Writes all of them past the guard. Returns 0 or a negative errno. */
int guard_write(int fd, const char *bytes, size_t size);

#endif
