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

MEMBERS_READ(journal_push)
MEMBERS_TO_JSON(journal_reply)
MEMBERS_READ(journal_reply)
