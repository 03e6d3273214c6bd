/* The lines that agents print for the lead. srun passes on up to 1,024 bytes in one piece. A line
 * of another node could tear a longer line apart, so a report is shortened to fit. The journal of
 * the node has the full text. */
#ifndef PHASED_WORKER_PROTOCOL_REPORT_H
#define PHASED_WORKER_PROTOCOL_REPORT_H

#include <jansson.h>

enum { REPORT_SIZE_MAX = 1000 }; /* bytes, with the line end */

/* Returns the enum agent_report of a report, or -1 if the report has no known name. */
int report_kind(const json_t *report);

/* Returns one line with its end; the caller frees it. Takes over the reference. */
char *report_to_line(json_t *report);

#endif
