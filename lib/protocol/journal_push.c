/* Writes and reads pushes and their replies. */
#include "lib/protocol/journal_push.h"

#include "lib/protocol/members.h"

static const struct member journal_push_members[] = {
    MEMBER(journal_push, node, REQUIRED),
    MEMBER(journal_push, entries, REQUIRED),
    {0},
};

static const struct member journal_reply_members[] = {
    MEMBER_OR(journal_reply, committed, REQUIRED, -1),
    {0},
};

struct journal_push journal_push_read(const json_t *json)
{
    struct journal_push push;
    members_read(journal_push_members, json, &push);
    return push;
}

json_t *journal_reply_to_json(const struct journal_reply *reply)
{
    return members_write(journal_reply_members, reply, NULL);
}

struct journal_reply journal_reply_read(const json_t *json)
{
    struct journal_reply reply;
    members_read(journal_reply_members, json, &reply);
    return reply;
}
