/* The ids of metrics' names, kept in memory so that a row costs no look-up of its name in SQL.
 *
 * It must be cleared when a transaction is rolled back, since names that it brought are gone. */
#ifndef PHASED_DAEMON_STORE_NAMES_H
#define PHASED_DAEMON_STORE_NAMES_H

#include <stddef.h>
#include <stdint.h>

enum {
    NAMES_SLOTS = 8192,     /* a power of two */
    NAMES_COUNT_MAX = 4096, /* of names kept; beyond it all are forgotten, and looked up again */
};

struct names {
    struct names_entry {
        char *name; /* NULL: free */
        int64_t id;
    } * entries;
    size_t count;
};

void names_fini(struct names *names);
void names_clear(struct names *names);
/* 0: not known. */
int64_t names_find(const struct names *names, const char *name);
/* Adds a name that is not there. */
void names_add(struct names *names, const char *name, int64_t id);

#endif
