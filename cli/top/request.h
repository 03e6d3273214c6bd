/* What the live view asks for, and the answers. fetch.h carries requests out. */
#ifndef PHASED_CLI_TOP_REQUEST_H
#define PHASED_CLI_TOP_REQUEST_H

#include "lib/address.h"
#include "lib/error.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <jansson.h>

enum request_kind {
    REQUEST_GET,    /* of the API */
    REQUEST_DECIDE, /* promote, hold, ... */
    REQUEST_READ,   /* of a file */
};

enum {
    REQUEST_PATH_SIZE = 4096,                  /* PATH_MAX */
    REQUEST_READ_MAX = 1024 * 1024,            /* bytes of a file in one reply */
    REQUEST_READ_TAIL = 16 * REQUEST_READ_MAX, /* how much of the end of a long file is read */
};

struct request {
    enum request_kind kind;
    char path[REQUEST_PATH_SIZE]; /* the path in the API, or the path of the file */
    enum phase_command command;   /* what a decision asks for */
    struct address address;       /* what a decision is about */
    long long offset;             /* where to read in a file; negative: begin with its tail */
};

struct reply {
    struct request request;
    struct error error; /* its code is 0 if all went well */
    json_t *json;       /* the answer to GET, or to a decision */
    struct text bytes;  /* what was read of a file */
    long long offset;   /* where in the file the bytes begin */
    double took_s;
};

#endif
