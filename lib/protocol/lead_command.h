/* A command of the daemon for a lead: the reply to a lead that asks, and control/command.json in
 * the folder of a run whose lead does not reach the daemon. */
#ifndef PHASED_LIB_PROTOCOL_LEAD_COMMAND_H
#define PHASED_LIB_PROTOCOL_LEAD_COMMAND_H

#include "lib/protocol/words.h"

#include <jansson.h>

struct lead_command {
    unsigned number; /* a lead obeys each number once; 0: there is no command */
    enum lead_verb verb;
    enum stop_reason why; /* why STOP is given; STOP_REASON_COUNT: unknown */
    const char *run_dir;  /* the folder of the run that NEXT starts; otherwise NULL */
};

/* A new reference: {} if there is no command. */
json_t *lead_command_to_json(const struct lead_command *command);
/* Reads a command, which may be any JSON. `verb` is LEAD_VERB_COUNT if it is unknown. The result
 * borrows from the JSON. */
struct lead_command lead_command_read(const json_t *json);

#endif
