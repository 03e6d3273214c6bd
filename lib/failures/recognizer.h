/* Finds, in the newest lines of a rank's log, the one that tells why it failed.
 *
 * A catalogue's entries tell in three ways. A line that tells a *cause* (out of memory) stands
 * before one that is a *sign* (an exception, a segmentation fault), and that before a *consequence*
 * (what other ranks say when one has died). Of causes and consequences the earliest counts, as the
 * later follow from it; of signs within one rank the newest, as programs print exceptions that they
 * live through. A rank that printed in ten different seconds more than a minute after a line has
 * gone on from it: that line does not count. */
#ifndef PHASED_LIB_FAILURES_RECOGNIZER_H
#define PHASED_LIB_FAILURES_RECOGNIZER_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct recognizer;

enum {
    FINDING_LINE_MAX = 300,
    FINDING_TIME_SIZE = 25, /* 2026-11-20T12:00:00.000Z */
};

/* The stronger, the smaller. */
enum finding_tells { FINDING_CAUSE, FINDING_SIGN, FINDING_CONSEQUENCE, FINDING_TELLS_COUNT };

struct finding {
    const json_t *entry; /* of the catalogue, borrowed from the recognizer */
    enum finding_tells tells;
    char time[FINDING_TIME_SIZE];    /* when the line was printed; empty: not known */
    char line[FINDING_LINE_MAX + 1]; /* shortened, UTF-8, without control characters */
    int rank;                        /* as the line itself says ([rank3]: ...); -1: it does not */
};

/* Keeps a reference to the catalogue. Entries that are not understood are left out. */
struct recognizer *recognizer_new(const json_t *catalogue);
void recognizer_free(struct recognizer *recognizer); /* Accepts NULL. */

/* Looks through `lines`, of which each may begin with the time of a rank's log. False: none of them
 * is known. Bounded: what a pattern may try is, and a long line is looked at in its beginning. */
bool recognizer_look(const struct recognizer *recognizer, const char *lines, size_t size,
                     struct finding *ret_finding);

/* How a line tells by the catalogue's word; FINDING_SIGN where that is none. */
enum finding_tells finding_tells_of(const json_t *entry);

#endif
