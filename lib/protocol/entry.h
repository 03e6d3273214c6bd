/* One entry of a journal (doc/protocol.md). All types of entries share one struct; each type has
 * only some of the members.
 *
 * The members of these types are JSON here, because other modules make and read them: `checkpoint`
 * (told_checkpoint.h), `ended` (outcome.h), `evidence` (told_evidence.h), `gpus` and `sample`
 * (sampler_line.h), and `guard`'s verdict (lib/expr/check.h). So are the metrics in `values`. */
#ifndef PHASED_LIB_PROTOCOL_ENTRY_H
#define PHASED_LIB_PROTOCOL_ENTRY_H

#include "lib/protocol/words.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { ENTRY_UNKNOWN = ENTRY_TYPE_COUNT };

struct entry {
    enum entry_type type;  /* or ENTRY_UNKNOWN */
    const char *type_name; /* when it was read: as it is in the entry, or NULL */
    int64_t seq;           /* 0: this is not an entry */
    double time;           /* in seconds since 1970 */
    json_t *json;          /* when it was read: the whole entry. Else the members of a type that is
                              JSON here, or NULL */
    /* started */
    int64_t job_id;
    unsigned restarts;
    json_t *nodes;     /* a list of names */
    double end_time;   /* the allocation's limit, in seconds since 1970; 0: no limit */
    json_t *hardware;  /* see hardware.json, or NULL */
    const char *token; /* of the job, or NULL */
    /* ranks, exited */
    json_t *ranks;
    bool is_done; /* exited: the node has done its part */
    /* metric, suspect, pace, and checkpoint when it was read */
    int64_t step; /* -1: no step */
    json_t *values;
    bool is_stepless; /* metric: no metric has come with a step yet */
    int64_t steps;
    double seconds; /* preflight, too */
    json_t *verdict;
    const char *message;
    const char *why; /* stopping: a stop_reason, or a word of another version */
    int64_t from;    /* lost: the first lost number; 0: absent */
    /* preflight */
    const char *level, *outcome, *reason;
    bool is_observe; /* its findings are only reported */
    json_t *rows;
};

/* A process in `ranks`. */
struct entry_rank {
    int64_t rank;
    int64_t local_rank, pid; /* only an entry `ranks` has them */
    int64_t code, signal;    /* only an entry `exited` has them */
};

/* Reads an entry, which may be any JSON. The result borrows from it. */
struct entry entry_read(const json_t *json);

/* Reads the members of an entry that has no number yet: what entry_to_json() gave. */
struct entry entry_of(enum entry_type type, const json_t *members);
/* The first number that an entry stands for. An entry that says what was lost stands for several
 * numbers, any other entry for one. */
int64_t entry_first(const struct entry *entry);
/* All members of an entry that was read, without those that every entry has. A new reference. */
json_t *entry_rest(const struct entry *entry);

/* The members of an entry, without those that every entry has. A new reference; NULL: a text is not
 * UTF-8. */
json_t *entry_to_json(const struct entry *entry);
/* A whole entry, in place of entries from `first` to `last` that were lost. A new reference. */
json_t *entry_lost(int64_t first, int64_t last, double time);

void entry_add_rank(json_t *ranks, enum entry_type type, const struct entry_rank *rank);

#endif
