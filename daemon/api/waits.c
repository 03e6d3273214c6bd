/* What Slurm's reasons mean, and what is added to runs that wait. */
#include "daemon/api/waits.h"

#include "daemon/admission/admission.h"
#include "daemon/launch/launch.h"
#include "daemon/loop/loop.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <string.h>

#define WAITS_FOR_ITS_ACCOUNT                                                                      \
    "a limit of the site on its account; the job begins when others have ended"
#define WAITS_FOR_ITS_QOS   "a limit of the site on its QOS; the job begins when others have ended"
#define TIME_OF_ITS_ACCOUNT "the time that the site gives its account is used up"
#define TIME_OF_ITS_QOS     "the time that the site gives its QOS is used up"

/* Explains reasons by how they begin and what they contain; the first row that fits counts. Limits
 * on RunMinutes count running jobs alone. Limits on other minutes and on Wall count all jobs. */
static const struct {
    const char *begin, *part, *meaning;
} reasons[] = {
    {"Resources", "", "no nodes that fit are free"},
    {"Priority", "", "jobs of a higher priority come first"},
    {"BeginTime", "", "its begin time has not come yet"},
    {"DependencyNeverSatisfied", "",
     "a job that this job depends on has ended in a way that this job does not wait for; the job"
     " does not start as it is"},
    {"Dependency", "", "a job that this job depends on has not ended"},
    {"ReservationDeleted", "", "its reservation has been deleted; the job does not start as it is"},
    {"Reservation", "", "its reservation has not begun"},
    {"ReqNodeNotAvail", "", "nodes that the job asks for are not available"},
    {"Nodes required for job are DOWN", "", "nodes that the job needs are not available"},
    {"PartitionTimeLimit", "", "the job asks for more time than its partition allows"},
    {"PartitionNodeLimit", "", "the job asks for more nodes than its partition allows"},
    {"PartitionDown", "", "its partition starts no jobs at present"},
    {"PartitionInactive", "", "its partition starts no jobs at present"},
    {"JobHeldUser", "", "the job is held in Slurm, by its owner"},
    {"JobHeldAdmin", "", "the job is held in Slurm, by an administrator"},
    {"Assoc", "PerJob", "the job asks for more than the site allows one job"},
    {"QOS", "PerJob", "the job asks for more than the site allows one job"},
    {"Max", "PerJob", "the job asks for more than the site allows one job"},
    {"Assoc", "PerNode", "the job asks for more than the site allows on one node"},
    {"QOS", "PerNode", "the job asks for more than the site allows on one node"},
    {"QOSMin", "", "the job asks for less than its QOS demands; it does not start as it is"},
    {"QOSNotAllowed", "",
     "its account or its partition does not allow its QOS; the job does not start as it is"},
    {"QOSUsageThreshold", "",
     "its fair share is below what its QOS demands; the job waits until the share has grown"},
    {"Assoc", "RunMinutes", WAITS_FOR_ITS_ACCOUNT},
    {"QOS", "RunMinutes", WAITS_FOR_ITS_QOS},
    {"AssociationTimeLimit", "", TIME_OF_ITS_ACCOUNT},
    {"QOSTimeLimit", "", TIME_OF_ITS_QOS},
    {"AssocGrpWall", "", TIME_OF_ITS_ACCOUNT},
    {"QOSGrpWall", "", TIME_OF_ITS_QOS},
    {"Assoc", "Minutes", TIME_OF_ITS_ACCOUNT},
    {"QOS", "Minutes", TIME_OF_ITS_QOS},
    {"Assoc", "", WAITS_FOR_ITS_ACCOUNT},
    {"QOS", "", WAITS_FOR_ITS_QOS},
    {"Max", "PerAccount", WAITS_FOR_ITS_ACCOUNT},
};

char *waits_explain(const char *reason)
{
    if (!*reason)
        return xstrdup("Slurm has not looked at the job yet");
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (text_starts(reason, reasons[i].begin) && strstr(reason, reasons[i].part))
            return text_format("%s (%s)", reasons[i].meaning, reason);
    }
    return xstrdup(reason);
}

/* The record does not have what is added here: it changes whenever another job starts. */
static void waits_add_to_run(struct loop *loop, json_t *json)
{
    const char *state = json_string_value(json_object_get(json, "job_state"));
    const char *reason = json_string_value(json_object_get(json, "job_reason"));
    uint64_t id = (uint64_t)json_integer_value(json_object_get(json, "run"));
    const struct run *run = id && !state ? loop_run(loop, id) : NULL;
    unsigned position =
        run && run->seat->allocation ? admission_position(loop, run->seat->allocation->id) : 0;
    if (position)
        (void)json_object_set_new(json, "job_turn", json_integer(position));
    if (cluster_job_state_parse(state) != CLUSTER_JOB_PENDING)
        return;
    if (reason) {
        char *meaning = waits_explain(reason);
        (void)json_object_set_new(json, "job_waits_for", json_string(meaning));
        free(meaning);
    }
    json_int_t job = json_integer_value(json_object_get(json, "job_id"));
    int64_t start_s = launch_expected_start(loop, (uint32_t)job);
    if (start_s)
        (void)json_object_set_new(json, "job_start", json_integer(start_s));
}

void waits_add(struct loop *loop, json_t *json)
{
    static const char *const lists[] = {"phases", "members", "runs"};
    json_t *item;
    size_t i;
    waits_add_to_run(loop, json);
    /* The run may have ended since the record was last written. */
    if (loop_trouble(loop) && json_object_get(json, "eta_s"))
        (void)json_object_set_new(json, "eta_s", json_null());
    if (json_is_object(json_object_get(json, "run")))
        waits_add(loop, json_object_get(json, "run"));
    for (size_t list = 0; list < sizeof lists / sizeof lists[0]; list++)
        json_array_foreach(json_object_get(json, lists[list]), i, item) waits_add(loop, item);
}
