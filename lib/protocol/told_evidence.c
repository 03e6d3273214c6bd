/* Reads and writes evidence. */
#include "lib/protocol/told_evidence.h"

#include "lib/protocol/members.h"

static const struct member told_evidence_members[] = {
    MEMBER(told_evidence, seconds, ALWAYS),     MEMBER(told_evidence, omitted, ALWAYS),
    MEMBER(told_evidence, processes, OPTIONAL), MEMBER(told_evidence, nccl, OPTIONAL),
    MEMBER(told_evidence, python, OPTIONAL),    MEMBER(told_evidence, nvidia_smi, OPTIONAL),
    MEMBER(told_evidence, gpus, OPTIONAL),      MEMBER(told_evidence, silent, ALWAYS),
    MEMBER(told_evidence, summary, OPTIONAL),   {0},
};

static const struct member told_process_members[] = {
    MEMBER(told_process, pid, ALWAYS),           MEMBER(told_process, parent, ALWAYS),
    MEMBER(told_process, state, OPTIONAL),       MEMBER(told_process, cpu, ALWAYS),
    MEMBER(told_process, threads, ALWAYS),       MEMBER(told_process, sockets, ALWAYS),
    MEMBER_OR(told_process, rank, OPTIONAL, -1), MEMBER_OR(told_process, group, OPTIONAL, -1),
    MEMBER(told_process, does, OPTIONAL),        MEMBER(told_process, name, OPTIONAL),
    MEMBER(told_process, command, OPTIONAL),     MEMBER(told_process, call, OPTIONAL),
    MEMBER(told_process, wait, OPTIONAL),        {0},
};

static const struct member told_inspection_members[] = {
    MEMBER(told_inspection, nvidia_smi, OPTIONAL),
    MEMBER(told_inspection, python, OPTIONAL),
    {0},
};

static const struct member told_stacks_members[] = {
    MEMBER(told_stacks, pid, ALWAYS),
    MEMBER(told_stacks, stacks, OPTIONAL),
    {0},
};

MEMBERS_READ(told_evidence)
MEMBERS_TO_JSON(told_evidence)
MEMBERS_READ(told_process)
MEMBERS_TO_JSON(told_process)
MEMBERS_READ(told_inspection)
MEMBERS_TO_JSON(told_inspection)
MEMBERS_READ(told_stacks)
MEMBERS_TO_JSON(told_stacks)
