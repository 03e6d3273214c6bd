/* The JSON files by which the daemon and the workers tell each other: run.json, outcome.json and
 * the others in doc/protocol.md. Whoever writes one replaces it, or makes it once, so that nobody
 * reads half a file. The format gives the path. */
#ifndef PHASED_LIB_PROTOCOL_MESSAGE_H
#define PHASED_LIB_PROTOCOL_MESSAGE_H

#include <jansson.h>

struct error;

enum { MESSAGE_SIZE_MAX = 16 << 20 }; /* the environment in a run.json may be large */

/* A new reference. `ret_json` is NULL on failure: -ENOENT: there is no file; -EINVAL: it is not
 * JSON. */
int message_read(json_t **ret_json, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

int message_replace(const json_t *json, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* As file_create_once(). */
int message_create_once(const json_t *json, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
