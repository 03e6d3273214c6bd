/* Finds the line that shows why a rank failed, in the newest lines of the rank's log.
 *
 * A catalogue entry is of one of three kinds. A *cause* (out of memory) is preferred to a *sign*
 * (an exception, a segmentation fault). A sign is preferred to a *consequence* (what other ranks
 * print when one rank has died). The earliest cause or consequence counts, because later ones
 * follow from it. The newest sign within one rank counts, because programs also print exceptions
 * that they handle. If a rank printed in ten different seconds, more than a minute after a line,
 * the rank has continued, and that line does not count. */
#ifndef PHASED_LIB_FAILURES_RECOGNIZER_H
#define PHASED_LIB_FAILURES_RECOGNIZER_H

#include "lib/clock.h"

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct recognizer;

enum {
    FINDING_LINE_MAX = 300,
    FINDING_ON_S = 60,       /* a rank has continued if it prints later than this after a line, */
    FINDING_ON_SECONDS = 10, /* and in this many different seconds */
};

/* A smaller value is a surer sign. */
enum finding_tells { FINDING_CAUSE, FINDING_SIGN, FINDING_CONSEQUENCE, FINDING_TELLS_COUNT };

struct finding {
    const json_t *entry; /* in the catalogue, borrowed from the recognizer */
    enum finding_tells tells;
    char time[CLOCK_STAMP_SIZE];     /* when the line was printed; empty: unknown */
    char line[FINDING_LINE_MAX + 1]; /* shortened, UTF-8, without control characters */
    int rank;                        /* from the line itself ([rank3]: ...); -1: the line does not
                                      * say it */
};

/* Keeps a reference to the catalogue. Entries that cannot be read are left out. */
struct recognizer *recognizer_new(const json_t *catalogue);
void recognizer_free(struct recognizer *recognizer); /* Accepts NULL. */

/* Searches `lines`. Each line may begin with the time of a rank's log. False: no line matches an
 * entry. The effort is bounded: a pattern has limits, and only the beginning of a long line is
 * matched. */
bool recognizer_look(const struct recognizer *recognizer, const char *lines, size_t size,
                     struct finding *ret_finding);

/* The kind of the entry; FINDING_SIGN if the catalogue's word for it is unknown. */
enum finding_tells finding_tells_of(const json_t *entry);

#endif
