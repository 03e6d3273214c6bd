/* How people name a workflow, a phase or a run: `7`, `7/validate`, `7/validate#2`; a member of a
 * matrix is a phase: `7/ladder.3`.
 *
 * An address that was parsed names exactly one of the three: a phase without a workflow, or a run
 * without a phase, does not exist. */
#ifndef PHASED_LIB_ADDRESS_H
#define PHASED_LIB_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

struct error;

enum {
    ADDRESS_NAME_MAX = 64, /* bytes of a phase's name; a member of a matrix adds its number */
    ADDRESS_PHASE_SIZE = ADDRESS_NAME_MAX + 1 + 10 + 1,
    ADDRESS_TEXT_SIZE = 20 + 1 + ADDRESS_PHASE_SIZE + 1 + 10,
    ADDRESS_PATH_SIZE = ADDRESS_TEXT_SIZE + 40, /* with what address_path() puts between */
};

enum address_kind { ADDRESS_WORKFLOW, ADDRESS_PHASE, ADDRESS_RUN };

struct address {
    uint64_t workflow;              /* from 1; at most INT64_MAX, as the record stores it */
    char phase[ADDRESS_PHASE_SIZE]; /* empty: the workflow is meant */
    uint32_t attempt;               /* 0: the phase is meant */
};

/* Reads `text`, all of it. -EINVAL says what an address looks like. */
int address_parse(const char *text, struct address *ret_address, struct error *err);

enum address_kind address_kind(const struct address *address);

/* The text that address_parse() reads. Returns `buffer`. */
const char *address_text(const struct address *address, char buffer[ADDRESS_TEXT_SIZE]);

/* The API's path: `/v1/workflows/7/phases/validate/runs/2`. Returns `buffer`. */
const char *address_path(const struct address *address, char buffer[ADDRESS_PATH_SIZE]);

#endif
