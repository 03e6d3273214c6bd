/* What an agent tells its lead: one line of JSON on its standard output, which srun passes on. All
 * kinds of reports share one struct; each kind has only some of the members.
 *
 * srun passes on up to 1,024 bytes in one piece. A line of another node could tear a longer line
 * apart, so a report is shortened to fit. The journal of the node has the full text. */
#ifndef PHASED_LIB_PROTOCOL_REPORT_H
#define PHASED_LIB_PROTOCOL_REPORT_H

#include "lib/protocol/words.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { REPORT_SIZE_MAX = 1000 }; /* bytes, with the line end */

/* A rank that failed. */
struct rank_failure {
    int64_t code, signal; /* signal 0: it exited with the code */
    const char *line;     /* the last line that it printed */
    int64_t rank, group;  /* its number; -1: it is not a rank, or not a group */
    bool is_join;         /* it is the join */
};

/* What a node has recognised of a failure (worker/health/failure.h). */
struct found_failure {
    const char *name; /* of the entry in the catalogue; NULL: this is not a failure */
    const char *line; /* the line that was printed */
    int64_t rank;     /* -1: the process has no rank */
    const char *time; /* when the line was printed, as text: earlier is smaller; empty: unknown */
};

/*   READY         the agent runs
 *   TERMINATED    Slurm has sent SIGTERM to the step
 *   PREFLIGHT     what the preflight of the node has found
 *   STARTED       the first rank was executed
 *   CANNOT_START  no rank runs here, and no rank will
 *   FAILED        the first failure on this node
 *   GUARD         the first node has found a reason to stop the run
 *   SILENT        repeated while a silence is longer than allowed (worker/node/watchdog.h)
 *   EXAMINED      the answer to the command `examine`
 *   PACE          how fast the steps of this node come
 *   GONE          no process of the run is left on this node
 *   ENDED         the run has ended on this node
 *   SUPERSEDED    the run was ended without this node, or another job has claimed its phase */
struct report {
    enum agent_report kind;
    const char *node;
    int64_t index;        /* the number of the node within the job */
    int64_t start_number; /* the lead's number for the run; 0: the report is not about a run */
    double time;          /* STARTED: in seconds since 1970 */
    bool is_all; /* TERMINATED: Slurm has sent the signal to all processes of the job step */
    /* ENDED */
    int64_t final;       /* the last sequence number in the journal of the node */
    double ended;        /* in seconds since 1970 */
    int64_t last_step;   /* -1: no step */
    int64_t checkpoint;  /* the highest step of a checkpoint that the run has saved; -1: no step */
    bool is_idle;        /* the run had no ranks on this node */
    int64_t shards;      /* how many shards the run has done */
    int64_t shards_over; /* how many shards needed no work: earlier runs have done them */
    /* ENDED, FAILED */
    json_t *failed;  /* a rank_failure, or NULL */
    json_t *failure; /* a found_failure, or NULL */
    /* SILENT, EXAMINED */
    double seconds, limit;
    bool has_steps;               /* the node has printed steps */
    const char *summary;          /* what its processes do */
    json_t *counts;               /* see worker/health/outlier.h */
    json_t *ras;                  /* see worker/health/ras_status.h, or NULL */
    double steps_per_s;           /* PACE */
    const char *outcome, *reason; /* PREFLIGHT */
    /* GUARD, CANNOT_START */
    enum stop_reason cause; /* STOP_REASON_COUNT: unknown. STOP_HELD of a guard: the next checkpoint
                               does not fit, so the phase must be held */
    const char *message;
    json_t *verdict; /* see lib/expr/check.h, or NULL */
};

/* Reads a report, which may be any JSON. False: it is not a report. The result borrows from it. */
bool report_read(const json_t *json, struct report *ret_report);
/* Returns one line with its end; the caller frees it. All texts must be UTF-8. */
char *report_to_line(const struct report *report);

json_t *rank_failure_to_json(const struct rank_failure *failure);
struct rank_failure rank_failure_read(const json_t *json);
json_t *found_failure_to_json(const struct found_failure *failure);
struct found_failure found_failure_read(const json_t *json);

#endif
