/* A filter between phasectl and a terminal. Names, reasons and logs come from programs and people.
 * A terminal obeys some characters in them: it moves its cursor, changes its title, or types. The
 * filter lets the colours of phasectl pass and makes all other such characters visible. Files and
 * pipes get the output unchanged. */
#ifndef PHASED_CLI_GUARD_H
#define PHASED_CLI_GUARD_H

#include <stddef.h>

struct text;

/* Puts the filter on standard output and standard error if they are terminals. */
void guard_terminals(void);

/* Adds `bytes` through the filter. */
void guard_add(struct text *text, const char *bytes, size_t size);

/* Writes all `bytes` without the filter. Returns 0 or a negative errno. */
int guard_write(int fd, const char *bytes, size_t size);

#endif
