/* The JSON files that the daemon and the workers exchange: run.json, outcome.json and the others in
 * doc/protocol.md. A writer replaces the whole file, or makes the file once, so that nobody reads
 * half a file. `format` and its arguments give the path. */
#ifndef PHASED_LIB_PROTOCOL_MESSAGE_H
#define PHASED_LIB_PROTOCOL_MESSAGE_H

#include <jansson.h>

struct error;

enum { MESSAGE_SIZE_MAX = 16 << 20 }; /* the environment in a run.json may be large */

/* Reads a file. `ret_json` is a new reference, and NULL on failure. -ENOENT: there is no file.
 * -EINVAL: the file is not JSON. */
int message_read(json_t **ret_json, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

int message_replace(const json_t *json, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* As file_create_once(). */
int message_create_once(const json_t *json, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
