/* Reads and writes entries. */
#include "lib/protocol/entry.h"

#include "lib/protocol/members.h"

#include <stdlib.h>

#define OF(type) .kinds = 1u << ENTRY_##type

/* What every entry has. */
static const struct member entry_head[] = {
    MEMBER_ROW(entry, seq, "seq", REQUIRED, .otherwise = 0),
    MEMBER_ROW(entry, time, "time", REQUIRED, .otherwise = 0),
    MEMBER_ROW(entry, type_name, "type", REQUIRED, .otherwise = 0),
    {0},
};

enum {
    STEPPING = 1u << ENTRY_METRIC | 1u << ENTRY_CHECKPOINT | 1u << ENTRY_SUSPECT | 1u << ENTRY_PACE,
    SPEAKING = 1u << ENTRY_WARNING | 1u << ENTRY_SUSPECT | 1u << ENTRY_STOPPING | 1u << ENTRY_LOST,
};

static const struct member entry_members[] = {
    MEMBER_ROW(entry, job_id, "job_id", ALWAYS, OF(STARTED)),
    MEMBER_ROW(entry, restarts, "restarts", ALWAYS, OF(STARTED)),
    MEMBER_ROW(entry, nodes, "nodes", ALWAYS, OF(STARTED)),
    MEMBER_ROW(entry, end_time, "end_time", OR_NULL, OF(STARTED)),
    MEMBER_ROW(entry, hardware, "hardware", OR_NULL, OF(STARTED)),
    MEMBER_ROW(entry, token, "token", OR_NULL, OF(STARTED)),
    MEMBER_ROW(entry, ranks, "ranks", ALWAYS, .kinds = 1u << ENTRY_RANKS | 1u << ENTRY_EXITED),
    MEMBER_ROW(entry, is_done, "done", ALWAYS, OF(EXITED)),
    MEMBER_ROW(entry, step, "step", ALWAYS, .otherwise = -1, .kinds = STEPPING),
    MEMBER_ROW(entry, values, "values", ALWAYS, OF(METRIC)),
    MEMBER_ROW(entry, is_stepless, "stepless", OPTIONAL, OF(METRIC)),
    MEMBER_ROW(entry, steps, "steps", ALWAYS, OF(PACE)),
    MEMBER_ROW(entry, verdict, "verdict", ALWAYS, OF(GUARD)),
    MEMBER_ROW(entry, why, "why", ALWAYS, OF(STOPPING)),
    MEMBER_ROW(entry, message, "message", OPTIONAL, .kinds = SPEAKING),
    MEMBER_ROW(entry, from, "from", OPTIONAL, OF(LOST)),
    MEMBER_ROW(entry, level, "level", ALWAYS, OF(PREFLIGHT)),
    MEMBER_ROW(entry, outcome, "outcome", ALWAYS, OF(PREFLIGHT)),
    MEMBER_ROW(entry, reason, "reason", ALWAYS, OF(PREFLIGHT)),
    MEMBER_ROW(entry, rows, "rows", ALWAYS, OF(PREFLIGHT)),
    MEMBER_ROW(entry, seconds, "seconds", ALWAYS,
               .kinds = 1u << ENTRY_PACE | 1u << ENTRY_PREFLIGHT),
    MEMBER_ROW(entry, is_observe, "observe", ALWAYS, OF(PREFLIGHT)),
    {0},
};

static const struct member entry_rank_members[] = {
    MEMBER(entry_rank, rank, ALWAYS),
    MEMBER_ROW(entry_rank, local_rank, "local_rank", ALWAYS, OF(RANKS)),
    MEMBER_ROW(entry_rank, pid, "pid", ALWAYS, OF(RANKS)),
    MEMBER_ROW(entry_rank, code, "code", ALWAYS, OF(EXITED)),
    MEMBER_ROW(entry_rank, signal, "signal", ALWAYS, OF(EXITED)),
    {0},
};

struct entry entry_read(const json_t *json)
{
    struct entry entry = {.json = (json_t *)json};
    members_read(entry_head, json, &entry);
    int type = entry_type_parse(entry.type_name);
    entry.type = type < 0 ? ENTRY_UNKNOWN : (enum entry_type)type;
    members_read_kind(entry_members, entry.type, json, &entry);
    entry.seq = entry.seq > 0 ? entry.seq : 0;
    return entry;
}

struct entry entry_of(enum entry_type type, const json_t *members)
{
    struct entry entry = {.type = type};
    members_read_kind(entry_members, type, members, &entry);
    return entry;
}

int64_t entry_first(const struct entry *entry)
{
    return entry->from > 0 && entry->from < entry->seq ? entry->from : entry->seq;
}

json_t *entry_rest(const struct entry *entry)
{
    json_t *rest = json_copy(entry->json);
    for (const struct member *row = entry_head; rest && row->name; row++)
        (void)json_object_del(rest, row->name); /* it may be absent */
    return rest;
}

json_t *entry_to_json(const struct entry *entry)
{
    return entry->json ? json_incref(entry->json)
                       : members_write_kind(entry_members, entry->type, entry, NULL);
}

json_t *entry_lost(int64_t first, int64_t last, double time)
{
    const struct entry lost = {
        .type_name = entry_type_name(ENTRY_LOST), .seq = last, .time = time, .from = first};
    json_t *head = members_write(entry_head, &lost, NULL);
    json_t *json = members_write_kind(entry_members, ENTRY_LOST, &lost, head);
    json_decref(head);
    return json;
}

void entry_add_rank(json_t *ranks, enum entry_type type, const struct entry_rank *rank)
{
    if (json_array_append_new(ranks, members_write_kind(entry_rank_members, type, rank, NULL)) < 0)
        abort(); /* no memory */
}
