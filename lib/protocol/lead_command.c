/* Writes and reads commands. */
#include "lib/protocol/lead_command.h"

#include "lib/protocol/members.h"

static const struct member lead_command_members[] = {
    MEMBER(lead_command, number, OPTIONAL),
    MEMBER_OF_WORDS(lead_command, verb, "verb", OPTIONAL, lead_verb_names, LEAD_VERB_COUNT,
                    LEAD_VERB_COUNT),
    MEMBER_OF_WORDS(lead_command, why, "why", OPTIONAL, stop_reason_names, STOP_REASON_COUNT,
                    STOP_REASON_COUNT),
    MEMBER(lead_command, run_dir, OPTIONAL),
    {0},
};

json_t *lead_command_to_json(const struct lead_command *command)
{
    struct lead_command told = *command;
    if (told.verb != VERB_STOP)
        told.why = STOP_REASON_COUNT;
    return told.number ? members_write(lead_command_members, &told, NULL) : json_object();
}

MEMBERS_READ(lead_command)
