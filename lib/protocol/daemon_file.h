/* daemon.json in the home: where the daemon listens for workers, and for its owner on other hosts.
 */
#ifndef PHASED_LIB_PROTOCOL_DAEMON_FILE_H
#define PHASED_LIB_PROTOCOL_DAEMON_FILE_H

#include <jansson.h>
#include <stdint.h>

struct error;

struct daemon_file {
    json_t *document; /* owns what was read; NULL in a file that is written */
    const char *host;
    unsigned port;
    int64_t pid;
    const char *job; /* the number of the job in which the daemon runs, or NULL */
};

/* -EINVAL: the file names no host and port. On failure `ret_file` is empty. */
int daemon_file_read(const char *path, struct daemon_file *ret_file, struct error *err);
void daemon_file_fini(struct daemon_file *file);

/* A new reference; NULL: a text is not UTF-8. */
json_t *daemon_file_to_json(const struct daemon_file *file);

#endif
