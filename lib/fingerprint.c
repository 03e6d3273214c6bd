/* Fingerprints: BLAKE2b of the document as compact text with sorted members. */
#include "lib/fingerprint.h"

#include "lib/json.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

void fingerprint_json(const json_t *json, char ret_fingerprint[FINGERPRINT_SIZE])
{
    unsigned char hash[crypto_generichash_BYTES];
    char *text = json_text(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    _Static_assert(2 * sizeof hash + 1 == FINGERPRINT_SIZE, "two digits for each byte");
    (void)crypto_generichash(hash, sizeof hash, (const unsigned char *)text, strlen(text), NULL,
                             0); /* cannot fail with these sizes */
    (void)sodium_bin2hex(ret_fingerprint, FINGERPRINT_SIZE, hash, sizeof hash);
    free(text);
}
