/* What is remembered of a run in memory, beside the core's model: how far its journals were taken.
 * All of it can be had again from the record. */
#ifndef PHASED_DAEMON_LOOP_NOTES_H
#define PHASED_DAEMON_LOOP_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct error;
struct loop;
struct workflow;

struct notes_node {
    char *name;
    uint64_t taken; /* the highest sequence number that was posted; commits follow */
    bool is_warned; /* people were told that its file cannot be right */
};

struct notes {
    uint64_t run;
    bool has_ended;   /* its end was posted */
    bool has_foreign; /* people were told that another job has left an outcome in its folder */
    bool is_late;     /* its workers tell of it though its folder has a tombstone */
    bool is_suspect;  /* something was told to be: the core may not know it yet */
    json_t *outcome;  /* as the lead told it, while entries that it counts are missing */
    int64_t heard_ms; /* when its workers last spoke; 0: never since the daemon's start */
    unsigned written; /* the number of the last command that lies in its folder */
    int64_t step;     /* the highest that was posted; -1: none */
    json_t *saved;    /* entries of checkpoints, which the record may not have yet */
    struct notes_node **nodes;
    size_t node_count;
};

/* The run's notes, which are made when they are first asked for. Borrowed until notes_forget(). */
struct notes *notes_get(struct loop *loop, uint64_t run);
void notes_forget(struct loop *loop, uint64_t run);
/* Whether a worker tells of a run of this workflow that was over: it is told of once. */
bool notes_has_late(const struct loop *loop, const struct workflow *workflow);

/* How far the journal of this node was taken, from the record at first; at most NOTES_NODES_MAX
 * nodes (-E2BIG). Borrowed like the notes. */
enum { NOTES_NODES_MAX = 65536 };
int notes_node(struct loop *loop, struct notes *notes, const char *name,
               struct notes_node **ret_node, struct error *err);

#endif
