/* A short text that stands for a JSON document: equal documents, however their members are ordered,
 * have the same one, and no others are known to. */
#ifndef PHASED_LIB_FINGERPRINT_H
#define PHASED_LIB_FINGERPRINT_H

#include <jansson.h>

enum { FINGERPRINT_SIZE = 64 + 1 }; /* hexadecimal digits, and a NUL */

void fingerprint_json(const json_t *json, char ret_fingerprint[FINGERPRINT_SIZE]);

#endif
