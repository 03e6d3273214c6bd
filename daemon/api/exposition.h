/* The current state of runs and GPUs in Prometheus' text format 0.0.4. */
#ifndef PHASED_DAEMON_API_EXPOSITION_H
#define PHASED_DAEMON_API_EXPOSITION_H

#include <jansson.h>
#include <stdint.h>

struct text;

/* `at_work` is the result of answer_at_work(). The metrics of GPUs have the names, labels and units
 * of dcgm-exporter, so that its dashboards work, and the label `phased_run`. A value that the
 * driver does not give, or that is older than three minutes, is left out. */
void exposition_write(const json_t *at_work, int64_t now_ms, struct text *text);

#endif
