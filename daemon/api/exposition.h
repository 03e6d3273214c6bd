/* What runs do, as Prometheus reads it (text format 0.0.4). */
#ifndef PHASED_DAEMON_API_EXPOSITION_H
#define PHASED_DAEMON_API_EXPOSITION_H

#include <jansson.h>
#include <stdint.h>

struct text;

/* `at_work` is what answer_at_work() gives. GPUs have dcgm-exporter's names, labels and units, so
 * that its dashboards work, and `phased_run` besides. A value that the driver does not tell, or
 * that is older than three minutes, is left out. */
void exposition_write(const json_t *at_work, int64_t now_ms, struct text *text);

#endif
