/* Requests of the owner over TCP, from any host. Each request must carry a code made with the key
 * of the home, under a challenge of its connection, and its body must be encrypted. Then it is a
 * request like those over the Unix socket. */
#include "daemon/api/api_private.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/home.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int owner_key(const struct home *home, struct mac_secret *ret_key, struct error *err)
{
    char text[MAC_SECRET_SIZE];
    int status = mac_secret_read(home->key, ret_key, err);
    if (status != -ENOENT)
        return status;
    mac_random(text, sizeof text);
    status = file_replace(home->key, text, strlen(text), 0600, err);
    return status < 0 ? status : mac_secret_parse(text, ret_key, err);
}

/* Whether the nonce answers the challenge with a number that no request of this connection has had.
 * The code of the request proves that the owner has chosen the nonce. */
static bool owner_answers(const struct challenge *challenge, const char *nonce, uint32_t *ret_count)
{
    enum { TEXT = MAC_CHALLENGE_SIZE - 1, COUNT = 8 };
    char count[COUNT + 1] = "";
    if (!challenge->text[0] || !nonce || !mac_is_hex(nonce, MAC_OWNER_NONCE_SIZE - 1) ||
        memcmp(nonce, challenge->text, TEXT) != 0)
        return false;
    memcpy(count, nonce + TEXT, COUNT);
    *ret_count = (uint32_t)strtoul(count, NULL, 16);
    return *ret_count > challenge->count;
}

static void owner_challenge(struct request *request)
{
    struct challenge *challenge = request_challenge(request);
    if (!challenge->text[0])
        mac_random(challenge->text, sizeof challenge->text);
    request_set_header(request, MAC_CHALLENGE_HEADER, challenge->text);
    request_keep(request);
    request_reply_error(request, API_UNKNOWN_CLIENT, NULL,
                        "the nonce must begin with the challenge of this connection");
}

void owner_look(struct request *request)
{
    const char *length = request_header(request, "Content-Length");
    bool has_body =
        request_header(request, "Transfer-Encoding") || (length && !text_equal(length, "0"));
    uint32_t count;
    /* libmicrohttpd closes the connection after an answer that comes so early. */
    if (has_body && !owner_answers(request_challenge(request),
                                   request_header(request, MAC_NONCE_HEADER), &count))
        owner_challenge(request);
}

/* After a wrong code the connection needs another challenge. Otherwise somebody could hold back a
 * request of the owner, keep the connection open with other requests, and send the owner's request
 * much later. */
static bool owner_refuse(struct request *request)
{
    *request_challenge(request) = (struct challenge){0};
    request_reply_error(request, API_FORBIDDEN, NULL, "not signed by the key of this home");
    return false;
}

bool owner_admit(struct request *request, const struct mac_secret *key)
{
    struct challenge *challenge = request_challenge(request);
    const char *nonce = request_header(request, MAC_NONCE_HEADER);
    char expected[MAC_SIZE];
    uint32_t count;
    size_t size;
    const char *encrypted = request_body(request, &size);
    if (!owner_answers(challenge, nonce, &count)) {
        owner_challenge(request);
        return false;
    }
    mac_request(key, request_method(request), request_target(request), nonce, encrypted, size,
                expected);
    if (!mac_equal(request_header(request, MAC_HEADER), expected))
        return owner_refuse(request);
    char *body = size > 0 ? mac_decrypt(key, encrypted, size, &size) : NULL;
    if (size > 0 && !body)
        return owner_refuse(request);
    challenge->count = count;
    request_prove(request);
    if (body)
        request_replace_body(request, body, size);
    request_sign(request, key, nonce, true);
    return true;
}
