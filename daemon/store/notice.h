/* Notices that people must still get. Triggers of the schema make them. */
#ifndef PHASED_DAEMON_STORE_NOTICE_H
#define PHASED_DAEMON_STORE_NOTICE_H

#include <jansson.h>
#include <stdint.h>

struct error;
struct store;

/* The delays before the tries of a notice. */
enum {
    NOTICE_RETRY_FIRST_MS = 15 * 1000, /* doubled each time */
    NOTICE_RETRY_LAST_MS = 3600 * 1000,
};

/* The notices that are due, oldest first: [{"notice", "kind", "way", "message", "tries", "time",
 * "workflow", "name", "address", "target"}]. The caller owns the list. */
int store_notices(struct store *store, int64_t now_ms, unsigned limit, json_t **ret_notices,
                  struct error *err);
/* Ends a notice that was told, or is given up. */
int store_notice_done(struct store *store, uint64_t notice, int64_t now_ms, struct error *err);
/* Delays a notice that could not be told. It will be tried again. */
int store_notice_retry(struct store *store, uint64_t notice, int64_t due_ms, struct error *err);

#endif
