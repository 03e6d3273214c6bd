/* The lines that agents print for the lead. srun passes on up to 1,024 bytes in one piece; a longer
 * line could be torn apart by another node's, so that a report is shortened to fit. What is cut
 * stands in full in the node's journal. */
#ifndef PHASED_WORKER_PROTOCOL_REPORT_H
#define PHASED_WORKER_PROTOCOL_REPORT_H

#include <jansson.h>

enum { REPORT_SIZE_MAX = 1000 }; /* bytes, with the line end */

/* One line with its end, the caller's to free(). Takes over the reference. */
char *report_to_line(json_t *report);

#endif
