/* What a worker sends of its journal, and the daemon's reply. */
#ifndef PHASED_LIB_PROTOCOL_JOURNAL_PUSH_H
#define PHASED_LIB_PROTOCOL_JOURNAL_PUSH_H

#include <jansson.h>
#include <stdint.h>

/* The body of POST /v1/worker/<run>/journal. */
struct journal_push {
    const char *node;
    json_t *entries; /* in order; an empty list only asks. The worker writes the list as text */
};

/* Reads a body, which may be any JSON. The result borrows from it. */
struct journal_push journal_push_read(const json_t *json);

/* The reply. */
struct journal_reply {
    int64_t committed; /* the highest sequence number of this node in the record; -1: no reply */
};

/* A new reference. */
json_t *journal_reply_to_json(const struct journal_reply *reply);
struct journal_reply journal_reply_read(const json_t *json);

#endif
