/* Puts the entries of a journal in order, as somebody reads them.
 *
 * A writer numbers its entries from 1 on, without gaps. Damage to the file may leave a line with a
 * wrong number, or lines in another order. Such a line must not end the reading of the journal. An
 * entry is *overtaken* if a new entry with a lower number comes after it. If the entries before an
 * overtaken entry come within JOURNAL_ORDER_MAX entries, the overtaken entry is put in its place.
 * Otherwise its number is wrong, and it is dropped. If an entry is not overtaken, the entries
 * before it are really missing. */
#ifndef PHASED_LIB_PROTOCOL_JOURNAL_ORDER_H
#define PHASED_LIB_PROTOCOL_JOURNAL_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JOURNAL_ORDER_MAX = 64 };

/* An entry that came before its turn. */
struct journal_early {
    uint64_t number;
    void *item;
    bool is_overtaken;
};

/* A zero-initialised struct has no entries. */
struct journal_order {
    uint64_t last;            /* all entries up to this number have come, or are missing */
    uint64_t stray;           /* the number of a dropped entry; 0: no entry was dropped */
    void (*drop)(void *item); /* frees an item, which may be NULL; or NULL */
    size_t count;
    struct journal_early early[JOURNAL_ORDER_MAX];
};

/* Adds the next entry of the file. Takes over `item`. An entry that has come before is dropped.
 * Call journal_order_next() between two calls until it returns false. */
void journal_order_add(struct journal_order *order, uint64_t number, void *item);

/* Returns the next entry in order, with its item, which the caller takes over. If the number is not
 * the next one, the entries before it are missing. False: more of the file must be read. `is_end`:
 * the file has no more entries. */
bool journal_order_next(struct journal_order *order, bool is_end, uint64_t *ret_number,
                        void **ret_item);

/* Drops the entries that wait for their turn. */
void journal_order_fini(struct journal_order *order);

#endif
