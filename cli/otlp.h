/* Sending spans to a collector of OpenTelemetry. The record is the queue: the home keeps the number
 * of the last event that was sent, and what could not be sent is read again later. */
#ifndef PHASED_CLI_OTLP_H
#define PHASED_CLI_OTLP_H

#include <stddef.h>

#include <jansson.h>

struct cli;
struct error;

struct otlp {
    struct cli *cli;
    struct http_client *client;
    const char *service;
    size_t sent, refused; /* spans */
};

/* Reads the variables of OpenTelemetry. -EINVAL: one of them is missing or wrong. */
int otlp_init(struct otlp *otlp, struct cli *cli, struct error *err);
void otlp_fini(struct otlp *otlp);

/* Locks the last event for one sender of the home, until the process ends. -EBUSY: another sender
 * runs, maybe on another host. */
int otlp_lock(const struct cli *cli, struct error *err);

/* The last event that was sent; 0: none, or the file is not readable. */
long long otlp_read_last(const struct cli *cli);
/* Returns -ENOTRECOVERABLE if the file cannot be written. No error of client.h has this code. */
int otlp_write_last(const struct cli *cli, long long last, struct error *err);

/* Sends a span for all that ended by these events. Returns -EHOSTUNREACH if the collector does not
 * take spans now, and -EPROTO if it answers otherwise, as with a wrong token or address. Other
 * errors are those of client.h. If a collector refuses these spans for good, a line on standard
 * error says so, and the call succeeds. */
int otlp_send(struct otlp *otlp, const json_t *news, struct error *err);

#endif
