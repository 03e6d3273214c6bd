/* Which rooms the loop of phased has. */
#include "daemon/rooms.h"

#include "daemon/admission/admission.h"
#include "daemon/ingest/ingest.h"
#include "daemon/judge/judge.h"
#include "daemon/launch/launch.h"
#include "daemon/notify/notify.h"
#include "daemon/outlook/outlook.h"

#include <stddef.h>

const struct room *const daemon_rooms[] = {
    &admission_room, /* may a job be submitted now */
    &launch_room,    /* what a run finds, and what Slurm is asked for */
    &secrets_room,   /* removes the secrets of workflows that are over */
    &ingest_room,    /* what workers tell, and what leads are told */
    &outlook_room,   /* what would become of a workflow */
    &judge_room,     /* gates, matrices, remedies */
    &notify_room,    /* tells people */
    NULL,
};
