/* The addresses of workflows, phases and runs: `7`, `7/validate`, `7/validate#2`. A member of a
 * matrix is a phase: `7/ladder.3`.
 *
 * A parsed address names exactly one of the three: it has no phase without a workflow, and no run
 * without a phase. */
#ifndef PHASED_LIB_ADDRESS_H
#define PHASED_LIB_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

struct error;

enum {
    ADDRESS_NAME_MAX = 64, /* bytes of a phase's name; a member of a matrix adds its number */
    ADDRESS_PHASE_SIZE = ADDRESS_NAME_MAX + 1 + 10 + 1,
    ADDRESS_TEXT_SIZE = 20 + 1 + ADDRESS_PHASE_SIZE + 1 + 10,
    ADDRESS_PATH_SIZE = ADDRESS_TEXT_SIZE + 40, /* with the segments that address_path() adds */
};

enum address_kind { ADDRESS_WORKFLOW, ADDRESS_PHASE, ADDRESS_RUN };

struct address {
    uint64_t workflow;              /* from 1; at most INT64_MAX, as the record stores it */
    char phase[ADDRESS_PHASE_SIZE]; /* empty: the address is of the workflow */
    uint32_t attempt;               /* 0: the address is of the phase */
};

/* Reads all of `text`. -EINVAL: `err` says what an address looks like. */
int address_parse(const char *text, struct address *ret_address, struct error *err);

enum address_kind address_kind(const struct address *address);

/* Writes the text that address_parse() reads. Returns `buffer`. */
const char *address_text(const struct address *address, char buffer[ADDRESS_TEXT_SIZE]);

/* Writes the path in the API: `/v1/workflows/7/phases/validate/runs/2`. Returns `buffer`. */
const char *address_path(const struct address *address, char buffer[ADDRESS_PATH_SIZE]);

#endif
