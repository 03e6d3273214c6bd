/* `check --log`: what phased would have read from the log of an earlier run, and how it would have
 * judged the run. It uses the code that reads and judges real runs. */
#ifndef PHASED_CLI_OLDLOG_H
#define PHASED_CLI_OLDLOG_H

#include <stddef.h>

#include <jansson.h>

struct error;
struct terminal;
struct text;

/* `logs` are `count` texts PHASE=FILE; `workflow` is resolved. Adds the metrics of each log, and
 * the guards and the gate of its phase. Returns -EINVAL for a text of another form or an unknown
 * phase; another negative errno when a file cannot be read. */
int oldlog_write(const json_t *workflow, const char *const *logs, size_t count,
                 const struct terminal *terminal, struct text *text, struct error *err);

#endif
