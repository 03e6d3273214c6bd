/* Phases that are held: why, and the commands that let them go on. */
#ifndef PHASED_CLI_HELD_H
#define PHASED_CLI_HELD_H

#include <jansson.h>

struct terminal;
struct text;

/* The commands that a person can give about a phase that is held, has failed or was cancelled. */
void held_ways_out(const struct terminal *terminal, const json_t *phase, struct text *text);

/* The same for the live view: one line says what its keys do about the phase. The commands without
 * a key follow. */
void held_keys(const struct terminal *terminal, const json_t *phase, struct text *text);

/* Which phases of a workflow are held and why, with their commands. Adds nothing when no phase is
 * held. */
void held_write(const struct terminal *terminal, const json_t *workflow, struct text *text);

/* Which phases of a workflow are held and may be released now, with the command. Adds nothing if
 * there is no such phase. */
void held_write_releasable(const json_t *workflow, struct text *text);

#endif
