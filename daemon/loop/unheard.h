/* Runs whose workers do not reach the daemon, as where a site closes TCP between its nodes. Their
 * journals are read every ten seconds, and what their lead is told lies in a file:
 * control/command.json in the run's folder, which doc/protocol.md specifies. Both are left alone
 * while a run is heard. */
#ifndef PHASED_DAEMON_LOOP_UNHEARD_H
#define PHASED_DAEMON_LOOP_UNHEARD_H

#include <stdint.h>

struct loop;

/* What leads are told has changed. */
void unheard_tell(struct loop *loop, int64_t now_ms);
/* Reads the journals when that is due. */
void unheard_look(struct loop *loop, int64_t now_ms);

#endif
