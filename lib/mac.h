/* Authentication: the secret of a run, the key of a home, and the codes (MAC) that requests and
 * replies carry.
 *
 * A request carries `Phased-Nonce`, 32 random hex digits, and `Phased-MAC`, 64 hex digits of
 * crypto_auth (HMAC-SHA-512-256) under the run's secret, over
 *     request\n<method>\n<path with query>\n<nonce>\n<body>
 * Its reply carries a `Phased-MAC` over
 *     reply\n<nonce of the request>\n<status>\n<body>
 * The first word keeps a request from being taken for a reply. The nonce ties a reply to its
 * request. All texts are lower-case hex and NUL-terminated.
 *
 * The owner of a home uses the same form with the key of the home. The nonce is then longer, and
 * begins with a challenge of the daemon, and bodies are encrypted (mac_encrypt). */
#ifndef PHASED_LIB_MAC_H
#define PHASED_LIB_MAC_H

#include <stdbool.h>
#include <stddef.h>

struct error;

enum {
    MAC_SECRET_BYTES = 32,
    MAC_SECRET_SIZE = 65, /* buffer for the secret as text, with its NUL */
    MAC_NONCE_SIZE = 33,
    MAC_TOKEN_SIZE = 33,
    MAC_SIZE = 65,
    MAC_CHALLENGE_SIZE = 25,
    MAC_OWNER_NONCE_SIZE = 49, /* the challenge, a number of 8 hex digits, and 16 random ones */
};

#define MAC_HEADER           "Phased-MAC"
#define MAC_NONCE_HEADER     "Phased-Nonce"
#define MAC_CHALLENGE_HEADER "Phased-Challenge"

struct mac_secret {
    unsigned char key[MAC_SECRET_BYTES];
};

/* Fills `buffer` with random hex digits and a NUL, `size` bytes together. With the sizes above this
 * makes a secret, a nonce or a token. */
void mac_random(char *buffer, size_t size);

/* Whether `text` is exactly `digits` hex digits (either case). */
bool mac_is_hex(const char *text, size_t digits);

/* Returns -EINVAL if `text` is not 64 hex digits. A newline at the end is allowed. */
int mac_secret_parse(const char *text, struct mac_secret *ret_secret, struct error *err);
/* Reads the secret from the file at `path`. */
int mac_secret_read(const char *path, struct mac_secret *ret_secret, struct error *err);

/* Makes the code of a request, and of its reply. `body` may be NULL if `body_size` is 0. */
void mac_request(const struct mac_secret *secret, const char *method, const char *path,
                 const char *nonce, const void *body, size_t body_size, char ret_mac[MAC_SIZE]);
void mac_reply(const struct mac_secret *secret, const char *nonce, int status, const void *body,
               size_t body_size, char ret_mac[MAC_SIZE]);

/* Compares two codes in a time that does not depend on their difference. False if either is not a
 * MAC or is NULL. */
bool mac_equal(const char *a, const char *b);

/* Encrypts `body` by crypto_secretbox under a key that is made from the secret. The result begins
 * with random bytes. The encrypted body follows. The caller frees it.
 */
char *mac_encrypt(const struct mac_secret *secret, const void *body, size_t size, size_t *ret_size);
/* Returns the body of an encrypted form with a NUL at its end. NULL: it was not encrypted with this
 * secret. The caller frees it. */
char *mac_decrypt(const struct mac_secret *secret, const void *encrypted, size_t size,
                  size_t *ret_size);

#endif
