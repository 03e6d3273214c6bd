/* Reads and writes claims. */
#include "lib/protocol/claim.h"

#include "lib/protocol/members.h"
#include "lib/protocol/message.h"

static const struct member claim_members[] = {
    MEMBER_ROW(claim, life.job_id, "job_id", REQUIRED, .otherwise = 0),
    MEMBER_ROW(claim, life.token, "token", ALWAYS, .otherwise = 0),
    MEMBER_ROW(claim, life.restarts, "restarts", ALWAYS, .otherwise = 0),
    MEMBER_OR(claim, known_run, OPTIONAL, CLAIM_OF_JOB),
    MEMBER(claim, attempt, OPTIONAL),
    MEMBER(claim, run_dir, OPTIONAL),
    {0},
};

struct claim claim_read(const char *path)
{
    struct claim claim;
    (void)message_read(&claim.document, NULL, "%s", path);
    members_read(claim_members, claim.document, &claim);
    if (json_is_integer(claim.document)) /* an older worker wrote only the id of the job */
        claim.life.job_id = json_integer_value(claim.document);
    return claim;
}

void claim_fini(struct claim *claim)
{
    json_decref(claim->document);
    *claim = (struct claim){0};
}

MEMBERS_TO_JSON(claim)
