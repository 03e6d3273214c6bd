/* The commands of people for phases. The daemon acts and names the phases. */
#ifndef PHASED_CLI_DECIDE_H
#define PHASED_CLI_DECIDE_H

#include "lib/protocol/words.h"

#include <jansson.h>

struct address;
struct cli;
struct error;
struct text;

/* Who decides or submits, for the record: the user, and the program that asks for the user, if
 * $PHASED_BY names one: "anna by mcp (editor)". The caller frees it. */
char *decide_who(void);

/* Asks the daemon to carry out the command on a workflow or a phase. `from` is the checkpoint that
 * a retry begins from, or NULL. */
int decide_post(struct cli *cli, const struct address *address, enum phase_command command,
                const char *from, json_t **ret_reply, struct error *err);

/* Adds a line for each phase of the answer: "7/train is being held: its run stops". */
void decide_write(enum phase_command command, const json_t *reply, struct text *text);

#endif
