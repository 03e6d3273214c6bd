/* Notices that people are still to get. Triggers of the schema make them. */
#ifndef PHASED_DAEMON_STORE_NOTICE_H
#define PHASED_DAEMON_STORE_NOTICE_H

#include <jansson.h>
#include <stdint.h>

struct error;
struct store;

/* The notices that are due, oldest first: [{"notice", "kind", "way", "message", "tries", "time",
 * "workflow", "name", "address", "target"}], the caller's. */
int store_notices(struct store *store, int64_t now_ms, unsigned limit, json_t **ret_notices,
                  struct error *err);
/* The notice was told, or is given up. */
int store_notice_done(struct store *store, uint64_t notice, int64_t now_ms, struct error *err);
/* The notice was not told, and is to be tried again. */
int store_notice_retry(struct store *store, uint64_t notice, int64_t due_ms, struct error *err);
/* The clock was set by so much: what is owed is due as long from now as before. */
int store_notices_move(struct store *store, int64_t by_ms, struct error *err);

#endif
