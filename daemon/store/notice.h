/* Notices that are owed. Which there are is decided by triggers of the schema. */
#ifndef PHASED_DAEMON_STORE_NOTICE_H
#define PHASED_DAEMON_STORE_NOTICE_H

#include <jansson.h>
#include <stdint.h>

struct error;
struct store;

/* Those that are due, oldest first: [{"notice", "kind", "way", "message", "tries", "time",
 * "workflow", "name", "address", "target"}], the caller's. */
int store_notices(struct store *store, int64_t now_ms, unsigned limit, json_t **ret_notices,
                  struct error *err);
/* Told, or given up. */
int store_notice_done(struct store *store, uint64_t notice, int64_t now_ms, struct error *err);
/* Not told: to be tried again. */
int store_notice_retry(struct store *store, uint64_t notice, int64_t due_ms, struct error *err);

#endif
