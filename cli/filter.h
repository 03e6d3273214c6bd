/* A filter for all that phasectl prints. Names, reasons and logs come from programs and people. A
 * terminal obeys some characters in them: it moves its cursor, changes its title, or types. The
 * filter lets the colours of phasectl pass and makes all other such characters visible. Files and
 * pipes are filtered as well, because people look at them later, with `less` or in a mail. What is
 * not phasectl's own text (logs, JSON, workflow files) reaches them unchanged. */
#ifndef PHASED_CLI_FILTER_H
#define PHASED_CLI_FILTER_H

#include "cli/terminal.h"

#include <stddef.h>

struct text;

/* The control sequence of each colour. Only these pass: black or hidden letters and other
 * backgrounds could deceive a reader. */
extern const char *const filter_colours[COLOUR_COUNT];

/* Puts the filter on standard output and standard error. */
void filter_streams(void);

/* What is printed from now on is not phasectl's own text: if standard output is not a terminal, it
 * is not filtered. */
void filter_pass(void);

/* Adds `bytes` through the filter. */
void filter_add(struct text *text, const char *bytes, size_t size);

#endif
