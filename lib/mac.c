/* Secrets, random texts and message authentication codes, made by libsodium. */
#include "lib/mac.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)MAC_SECRET_BYTES == crypto_auth_hmacsha512256_KEYBYTES,
               "the key of crypto_auth");
_Static_assert((int)MAC_SIZE == 2 * crypto_auth_hmacsha512256_BYTES + 1, "the code of crypto_auth");

/* sodium_init() may be called any number of times and from any thread. */
static void mac_ready(void)
{
    int code = sodium_init();
    assert(code >= 0);
    (void)code; /* a positive value means that it was called before */
}

void mac_random(char *buffer, size_t size)
{
    unsigned char bytes[MAC_SECRET_BYTES];
    assert(size % 2 == 1 && size / 2 <= sizeof bytes);
    mac_ready();
    randombytes_buf(bytes, size / 2);
    sodium_bin2hex(buffer, size, bytes, size / 2);
    sodium_memzero(bytes, sizeof bytes);
}

bool mac_is_hex(const char *text, size_t digits)
{
    size_t count = 0;
    while (isxdigit((unsigned char)text[count]))
        count++;
    return count == digits && text[count] == '\0';
}

int mac_secret_parse(const char *text, struct mac_secret *ret_secret, struct error *err)
{
    struct mac_secret secret;
    size_t size;
    const char *end;
    mac_ready();
    int code = sodium_hex2bin(secret.key, sizeof secret.key, text, strlen(text), NULL, &size, &end);
    if (code != 0 || size != sizeof secret.key || (*end != '\0' && !text_equal(end, "\n")))
        return error_set(err, -EINVAL, "must be a secret of %d hexadecimal digits",
                         MAC_SECRET_SIZE - 1);
    *ret_secret = secret;
    sodium_memzero(&secret, sizeof secret);
    return 0;
}

int mac_secret_read(const char *path, struct mac_secret *ret_secret, struct error *err)
{
    char *text;
    size_t size;
    int status = file_read(path, MAC_SECRET_SIZE, &text, &size, err);
    if (status < 0)
        return status;
    status = mac_secret_parse(text, ret_secret, err);
    if (status < 0)
        error_prefix(err, "cannot use %s", path);
    sodium_memzero(text, size);
    free(text);
    return status;
}

static void mac_add(crypto_auth_hmacsha512256_state *state, const char *line)
{
    crypto_auth_hmacsha512256_update(state, (const unsigned char *)line, strlen(line));
    crypto_auth_hmacsha512256_update(state, (const unsigned char *)"\n", 1);
}

/* Makes the code over some lines, each followed by a newline, and a body. */
static void mac_make(const struct mac_secret *secret, const char *const *lines, size_t count,
                     const void *body, size_t body_size, char ret_mac[MAC_SIZE])
{
    crypto_auth_hmacsha512256_state state;
    unsigned char code[crypto_auth_hmacsha512256_BYTES];
    mac_ready();
    crypto_auth_hmacsha512256_init(&state, secret->key, sizeof secret->key);
    for (size_t i = 0; i < count; i++)
        mac_add(&state, lines[i]);
    if (body_size)
        crypto_auth_hmacsha512256_update(&state, body, body_size);
    crypto_auth_hmacsha512256_final(&state, code);
    sodium_bin2hex(ret_mac, MAC_SIZE, code, sizeof code);
    sodium_memzero(&state, sizeof state);
}

void mac_request(const struct mac_secret *secret, const char *method, const char *path,
                 const char *nonce, const void *body, size_t body_size, char ret_mac[MAC_SIZE])
{
    const char *lines[] = {"request", method, path, nonce};
    mac_make(secret, lines, sizeof lines / sizeof lines[0], body, body_size, ret_mac);
}

void mac_reply(const struct mac_secret *secret, const char *nonce, int status, const void *body,
               size_t body_size, char ret_mac[MAC_SIZE])
{
    char number[16];
    (void)snprintf(number, sizeof number, "%d", status); /* an int always fits */
    const char *lines[] = {"reply", nonce, number};
    mac_make(secret, lines, sizeof lines / sizeof lines[0], body, body_size, ret_mac);
}

bool mac_equal(const char *a, const char *b)
{
    if (!a || !b || !mac_is_hex(a, MAC_SIZE - 1) || !mac_is_hex(b, MAC_SIZE - 1))
        return false;
    return sodium_memcmp(a, b, MAC_SIZE - 1) == 0;
}

/* --- Sealing ---------------------------------------------------------------------------------- */

enum { ENCRYPTION_EXTRA = crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES };

_Static_assert((int)crypto_secretbox_KEYBYTES == crypto_auth_hmacsha512256_BYTES,
               "a code is a key of crypto_secretbox");

/* One key has one use, so the key that encrypts is made from the secret. */
static void seal_key(const struct mac_secret *secret,
                     unsigned char ret_key[crypto_secretbox_KEYBYTES])
{
    static const unsigned char use[] = "seal\n";
    mac_ready();
    (void)crypto_auth_hmacsha512256(ret_key, use, sizeof use - 1, secret->key); /* cannot fail */
}

char *mac_encrypt(const struct mac_secret *secret, const void *body, size_t size, size_t *ret_size)
{
    unsigned char key[crypto_secretbox_KEYBYTES];
    unsigned char *encrypted = xmalloc(size + ENCRYPTION_EXTRA);
    seal_key(secret, key);
    randombytes_buf(encrypted, crypto_secretbox_NONCEBYTES);
    (void)crypto_secretbox_easy(encrypted + crypto_secretbox_NONCEBYTES, body, size, encrypted,
                                key); /* fails only above 256 GiB */
    sodium_memzero(key, sizeof key);
    *ret_size = size + ENCRYPTION_EXTRA;
    return (char *)encrypted;
}

char *mac_decrypt(const struct mac_secret *secret, const void *encrypted, size_t size,
                  size_t *ret_size)
{
    unsigned char key[crypto_secretbox_KEYBYTES];
    const unsigned char *bytes = encrypted;
    if (size < ENCRYPTION_EXTRA)
        return NULL;
    char *body = xmalloc(size - ENCRYPTION_EXTRA + 1);
    seal_key(secret, key);
    int code =
        crypto_secretbox_open_easy((unsigned char *)body, bytes + crypto_secretbox_NONCEBYTES,
                                   size - crypto_secretbox_NONCEBYTES, bytes, key);
    sodium_memzero(key, sizeof key);
    if (code != 0) {
        free(body);
        return NULL;
    }
    body[size - ENCRYPTION_EXTRA] = '\0';
    *ret_size = size - ENCRYPTION_EXTRA;
    return body;
}
