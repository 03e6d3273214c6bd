/* Notices that people must still get. Triggers of the schema make them. */
#ifndef PHASED_DAEMON_STORE_NOTICE_H
#define PHASED_DAEMON_STORE_NOTICE_H

#include <jansson.h>
#include <stdint.h>

struct error;
struct store;

/* The notices that are due, oldest first: [{"notice", "kind", "way", "message", "tries", "time",
 * "workflow", "name", "address", "target"}]. The caller owns the list. */
int store_notices(struct store *store, int64_t now_ms, unsigned limit, json_t **ret_notices,
                  struct error *err);
/* Ends a notice that was told, or is given up. */
int store_notice_done(struct store *store, uint64_t notice, int64_t now_ms, struct error *err);
/* Delays a notice that could not be told. It will be tried again. */
int store_notice_retry(struct store *store, uint64_t notice, int64_t due_ms, struct error *err);
/* The clock was set by so much. Moves the due times of all notices by as much. */
int store_notices_move(struct store *store, int64_t by_ms, struct error *err);

#endif
