/* Reads and writes what is told of a checkpoint. */
#include "lib/protocol/told_checkpoint.h"

#include "lib/protocol/members.h"

static const struct member told_checkpoint_members[] = {
    MEMBER(told_checkpoint, path, REQUIRED),         MEMBER_OR(told_checkpoint, step, REQUIRED, -1),
    MEMBER_OR(told_checkpoint, bytes, OPTIONAL, -1), MEMBER(told_checkpoint, paths, OPTIONAL),
    MEMBER_IS(told_checkpoint, suspect, OPTIONAL),   MEMBER_IS(told_checkpoint, unseen, OPTIONAL),
    MEMBER(told_checkpoint, time, OPTIONAL),         {0},
};

MEMBERS_READ(told_checkpoint)
MEMBERS_TO_JSON(told_checkpoint)

json_t *told_checkpoint_reference(const char *path, int64_t step)
{
    const struct told_checkpoint told = {.path = path, .step = step, .bytes = -1};
    return told_checkpoint_to_json(&told);
}

void told_checkpoint_mark(json_t *checkpoint, bool is_suspect)
{
    (void)json_object_set_new(checkpoint, "suspect", json_boolean(is_suspect));
}
