/* A short text that stands for a JSON document. Equal documents have the same fingerprint, whatever
 * the order of their members. In practice, different documents have different fingerprints. */
#ifndef PHASED_LIB_FINGERPRINT_H
#define PHASED_LIB_FINGERPRINT_H

#include <jansson.h>

enum { FINGERPRINT_SIZE = 64 + 1 }; /* hexadecimal digits, and a NUL */

void fingerprint_json(const json_t *json, char ret_fingerprint[FINGERPRINT_SIZE]);

#endif
