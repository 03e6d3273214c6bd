/* What `phasectl doctor` has found: a list of JSON objects
 *
 *   {"severity": "ok" | "note" | "warning" | "error", "what", "seen", "advice": text or null}
 *
 * A note needs no action. A warning may cost time or work. With an error, phased does not work. */
#ifndef PHASED_CLI_DOCTOR_FINDING_H
#define PHASED_CLI_DOCTOR_FINDING_H

#include <stddef.h>

#include <jansson.h>

struct terminal;
struct text;

enum finding_severity { FINDING_OK, FINDING_NOTE, FINDING_WARNING, FINDING_ERROR, FINDING_COUNT };

/* Adds what was seen of `what`, a name such as "home". `advice` says what to do; NULL: nothing. */
void finding_add(json_t *findings, enum finding_severity severity, const char *what,
                 const char *advice, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Counts the findings of this severity. */
size_t finding_count(const json_t *findings, enum finding_severity severity);

/* Adds all findings for people, and a line that counts errors and warnings. */
void finding_write(const json_t *findings, const struct terminal *terminal, struct text *text);

#endif
