/* The blocking HTTP client, over libcurl's easy interface. */
#include "lib/http.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    HTTP_REPLY_MAX = 64 * 1024 * 1024,
    HTTP_CONNECT_MS = 5000,
    HTTP_TOTAL_MS = 60000,
    HTTP_TRIES = 3,        /* a connection may break between two requests */
    HTTP_CHALLENGED = 401, /* statuses of the daemon's replies to a client that it does not know */
    HTTP_FORBIDDEN = 403,
};

#define HTTP_PING "/v1/ping" /* what a client asks to make itself known */

struct http_client {
    CURL *curl;
    char *peer;    /* name of the peer, for messages */
    char *address; /* path or host:port of the peer, for messages */
    char *base;    /* beginning of each URL */
    char *socket_path;
    long connect_ms, total_ms;
    bool is_signed, is_encrypted;
    struct mac_secret secret;
    char challenge[MAC_CHALLENGE_SIZE]; /* of the connection, if requests are encrypted; empty: not
                                         * known yet */
    uint32_t count;                     /* of requests that have answered the challenge */
    bool has_proxy;                     /* the environment may name one */
    struct curl_slist *headers;         /* in addition to those of every request */
};

/* The data that a transfer in progress has received. */
struct http_receiver {
    struct text body;
    char mac[MAC_SIZE], challenge[MAC_CHALLENGE_SIZE];
    bool is_too_large;
};

static pthread_once_t http_once = PTHREAD_ONCE_INIT;

static void http_start(void)
{
    CURLcode code = curl_global_init(CURL_GLOBAL_NOTHING); /* libcurl starts TLS itself */
    assert(code == CURLE_OK);
    (void)code; /* fails only without memory */
}

void http_reply_fini(struct http_reply *reply)
{
    free(reply->body);
    *reply = (struct http_reply){0};
}

static struct http_client *http_client_new(const char *peer, char *address, char *base)
{
    int code = pthread_once(&http_once, http_start);
    assert(code == 0);
    (void)code; /* cannot fail for a static control */
    struct http_client *client = xcalloc(1, sizeof *client);
    client->curl = curl_easy_init();
    if (!client->curl)
        abort();
    client->peer = xstrdup(peer);
    client->address = address;
    client->base = base;
    client->connect_ms = HTTP_CONNECT_MS;
    client->total_ms = HTTP_TOTAL_MS;
    return client;
}

struct http_client *http_client_new_unix(const char *peer, const char *socket_path)
{
    struct http_client *client =
        http_client_new(peer, xstrdup(socket_path), text_format("http://localhost"));
    client->socket_path = xstrdup(socket_path);
    return client;
}

struct http_client *http_client_new_tcp(const char *peer, const char *host, unsigned port)
{
    bool is_ipv6 = strchr(host, ':') != NULL;
    char *address = text_format(is_ipv6 ? "[%s]:%u" : "%s:%u", host, port);
    return http_client_new(peer, address, text_format("http://%s", address));
}

/* Returns the URL without the parts that may be secret. The caller frees it. */
static char *http_public_url(const char *url)
{
    static const CURLUPart secrets[] = {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS,
                                        CURLUPART_QUERY, CURLUPART_FRAGMENT};
    char *text = NULL, *result = NULL;
    CURLU *parts = curl_url();
    if (!parts)
        abort();
    if (curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK) {
        for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
            (void)curl_url_set(parts, secrets[i], NULL, 0); /* cannot fail: removes the part */
        (void)curl_url_get(parts, CURLUPART_URL, &text, 0);
    }
    result = xstrdup(text ? text : "an address that is not valid");
    curl_free(text);
    curl_url_cleanup(parts);
    return result;
}

struct http_client *http_client_new_url(const char *peer, const char *url)
{
    struct http_client *client = http_client_new(peer, http_public_url(url), xstrdup(url));
    client->has_proxy = true;
    return client;
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    curl_easy_cleanup(client->curl);
    curl_slist_free_all(client->headers);
    free(client->peer);
    free(client->address);
    free(client->base);
    free(client->socket_path);
    free(client);
}

const char *http_client_address(const struct http_client *client)
{
    return client->address;
}

void http_client_set_timeouts(struct http_client *client, long connect_ms, long total_ms)
{
    client->connect_ms = connect_ms ? connect_ms : HTTP_CONNECT_MS;
    client->total_ms = total_ms ? total_ms : HTTP_TOTAL_MS;
}

static struct curl_slist *http_add_line(struct curl_slist *headers, const char *line)
{
    struct curl_slist *more = curl_slist_append(headers, line);
    if (!more)
        abort();
    return more;
}

static struct curl_slist *http_add_header(struct curl_slist *headers, const char *name,
                                          const char *value)
{
    char *line = text_format("%s: %s", name, value);
    struct curl_slist *more = http_add_line(headers, line);
    free(line);
    return more;
}

void http_client_add_header(struct http_client *client, const char *name, const char *value)
{
    client->headers = http_add_header(client->headers, name, value);
}

void http_client_sign(struct http_client *client, const struct mac_secret *secret)
{
    client->secret = *secret;
    client->is_signed = true;
}

void http_client_encrypt(struct http_client *client, const struct mac_secret *key)
{
    http_client_sign(client, key);
    client->is_encrypted = true;
}

static size_t http_receive_body(char *data, size_t size, size_t count, void *context)
{
    struct http_receiver *receiver = context;
    if (receiver->body.size + size * count > HTTP_REPLY_MAX) {
        receiver->is_too_large = true;
        return 0;
    }
    text_add_bytes(&receiver->body, data, size * count);
    return size * count;
}

/* Copies the value of the header into `buffer` if the line has this name, `name:`. A value that is
 * too long is left out. */
static void http_take_header(const char *line, size_t length, const char *name, char *buffer,
                             size_t size)
{
    size_t at = strlen(name), end = length;
    if (length <= at || strncasecmp(line, name, at) != 0)
        return;
    while (at < end && isspace((unsigned char)line[at]))
        at++;
    while (end > at && isspace((unsigned char)line[end - 1]))
        end--;
    if (end - at < size) {
        memcpy(buffer, line + at, end - at);
        buffer[end - at] = '\0';
    }
}

/* Keeps the values of our headers. A new status line (after "100 Continue") discards them. */
static size_t http_receive_header(char *data, size_t size, size_t count, void *context)
{
    struct http_receiver *receiver = context;
    size_t length = size * count;
    if (length >= 5 && memcmp(data, "HTTP/", 5) == 0)
        receiver->mac[0] = receiver->challenge[0] = '\0';
    http_take_header(data, length, MAC_HEADER ":", receiver->mac, sizeof receiver->mac);
    http_take_header(data, length, MAC_CHALLENGE_HEADER ":", receiver->challenge,
                     sizeof receiver->challenge);
    return length;
}

/* Turns libcurl's error into an errno, with the system's words if there is an errno. */
static int http_fail(const struct http_client *client, CURLcode code, struct error *err)
{
    long number = 0;
    char reason[128];
    (void)curl_easy_getinfo(client->curl, CURLINFO_OS_ERRNO, &number); /* 0: no system error */
    if (code == CURLE_OPERATION_TIMEDOUT)
        number = ETIMEDOUT;
    else if (code == CURLE_COULDNT_RESOLVE_HOST)
        number = EHOSTUNREACH;
    else if (code != CURLE_COULDNT_CONNECT)
        number = 0;
    bool has_ended =
        code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR || code == CURLE_GOT_NOTHING;
    const char *words = number      ? strerror((int)number)
                        : has_ended ? "it ended, or closed the connection, without an answer"
                                    : curl_easy_strerror(code);
    size_t length = strnlen(words, sizeof reason - 1);
    memcpy(reason, words, length);
    reason[length] = '\0';
    if (!isupper((unsigned char)reason[1])) /* not "sSL connect error" */
        reason[0] = (char)tolower((unsigned char)reason[0]);
    return error_set(err, number ? -(int)number : -EIO, "cannot reach %s at %s: %s", client->peer,
                     client->address, reason);
}

/* Returns the file with the certificates that this machine trusts; NULL if libcurl knows the file
 * itself, or if there is no such file. libcurl knows the place of the machine where libcurl was
 * built. */
static const char *http_certificates(void)
{
    static const char *const places[] = {
        "/etc/pki/tls/certs/ca-bundle.crt",   /* Red Hat and its like */
        "/etc/ssl/certs/ca-certificates.crt", /* Debian and its like */
        "/etc/ssl/ca-bundle.pem",             /* SUSE */
    };
    const char *known = curl_version_info(CURLVERSION_NOW)->cainfo;
    if (!known || access(known, R_OK) == 0)
        return NULL;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (access(places[i], R_OK) == 0)
            return places[i];
    return NULL;
}

static void http_prepare(struct http_client *client, const char *method, const char *url,
                         const void *body, size_t body_size, struct curl_slist *headers,
                         struct http_receiver *receiver)
{
    CURL *curl = client->curl;
    const char *certificates = http_certificates();
    curl_easy_reset(curl); /* keeps the connection */
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, client->socket_path);
    if (!client->has_proxy)
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
    if (certificates)
        curl_easy_setopt(curl, CURLOPT_CAINFO, certificates);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, client->connect_ms);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, client->total_ms);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, http_receive_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, receiver);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, http_receive_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, receiver);
    if (body || text_equal(method, "POST")) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body ? body : "");
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body_size);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
}

/* Refuses a reply without the right code for `nonce` under the client's secret. */
static int http_check_reply(const struct http_client *client, const char *nonce,
                            const struct http_reply *reply, struct error *err)
{
    char mac[MAC_SIZE];
    mac_reply(&client->secret, nonce, reply->status, reply->body, reply->body_size, mac);
    if (mac_equal(mac, reply->mac))
        return 0;
    return error_set(
        err, -EBADMSG,
        "the reply from %s (HTTP status %d) does not carry the right code: another program "
        "answers there, or the daemon has another key",
        client->address, reply->status);
}

/* Sends one request and takes its reply. Does not check the code of the reply. `nonce` is NULL if
 * the client does not sign. */
static int http_exchange(struct http_client *client, const char *method, const char *path,
                         const char *nonce, const void *body, size_t body_size,
                         struct http_reply *ret_reply, struct error *err)
{
    int result = 0;
    struct http_receiver receiver = {0};
    struct curl_slist *headers = NULL;
    char mac[MAC_SIZE];
    char *url = text_format("%s%s", client->base, path);
    /* "Expect: 100-continue" would cost a round trip for each large body. */
    headers = http_add_header(headers, "Content-Type", "application/json");
    headers = http_add_header(headers, "Expect", "");
    for (const struct curl_slist *own = client->headers; own; own = own->next)
        headers = http_add_line(headers, own->data);
    if (nonce) {
        mac_request(&client->secret, method, path, nonce, body, body_size, mac);
        headers = http_add_header(headers, MAC_NONCE_HEADER, nonce);
        headers = http_add_header(headers, MAC_HEADER, mac);
    }
    http_prepare(client, method, url, body, body_size, headers, &receiver);
    CURLcode code = curl_easy_perform(client->curl);
    if (receiver.is_too_large) {
        result = error_set(err, -EFBIG, "the reply from %s is larger than %d bytes",
                           client->address, HTTP_REPLY_MAX);
        goto out;
    }
    if (code != CURLE_OK) {
        result = http_fail(client, code, err);
        goto out;
    }
    long status = 0;
    (void)curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status); /* always known here */
    *ret_reply = (struct http_reply){.status = (int)status, .body_size = receiver.body.size};
    ret_reply->body = text_steal(&receiver.body);
    memcpy(ret_reply->mac, receiver.mac, sizeof ret_reply->mac);
    if (mac_is_hex(receiver.challenge, MAC_CHALLENGE_SIZE - 1)) {
        memcpy(client->challenge, receiver.challenge, sizeof client->challenge);
        client->count = 0;
    }
out:
    curl_slist_free_all(headers);
    text_fini(&receiver.body);
    free(url);
    return result;
}

/* --- Sealed requests --------------------------------------------------------------------------
 *
 * The daemon has a challenge for each connection. A nonce is this challenge with a number, and the
 * daemon takes each number once. So nobody can use a recorded request again, and neither side needs
 * a clock. */

/* Opens the body of a reply whose code is right. */
static int http_open_reply(const struct http_client *client, struct http_reply *reply,
                           struct error *err)
{
    size_t size;
    char *body = mac_decrypt(&client->secret, reply->body, reply->body_size, &size);
    if (!body)
        return error_set(err, -EBADMSG, "the reply from %s is not encrypted with the right key",
                         client->address);
    free(reply->body);
    reply->body = body;
    reply->body_size = size;
    return 0;
}

/* Sends one request under the challenge that is known. Status 401: the daemon has not taken the
 * request, because the connection has another challenge. The client keeps this challenge from the
 * reply. */
static int http_ask_sealed(struct http_client *client, const char *method, const char *path,
                           const void *body, size_t body_size, struct http_reply *ret_reply,
                           struct error *err)
{
    char nonce[MAC_OWNER_NONCE_SIZE], own[17];
    size_t size = 0;
    char *encrypted = body ? mac_encrypt(&client->secret, body, body_size, &size) : NULL;
    mac_random(own, sizeof own); /* so that no recorded reply fits */
    (void)snprintf(nonce, sizeof nonce, "%s%08" PRIx32 "%s", client->challenge, ++client->count,
                   own); /* fits */
    int status = http_exchange(client, method, path, nonce, encrypted, size, ret_reply, err);
    free(encrypted);
    if (status < 0 || ret_reply->status == HTTP_CHALLENGED)
        return status;
    if (ret_reply->status == HTTP_FORBIDDEN && !ret_reply->mac[0])
        status = error_set(err, -EACCES,
                           "the daemon at %s refuses the key of this home: it serves another home, "
                           "or the file 'key' was replaced since it started",
                           client->address);
    if (status == 0)
        status = http_check_reply(client, nonce, ret_reply, err);
    if (status == 0)
        status = http_open_reply(client, ret_reply, err);
    if (status < 0)
        http_reply_fini(ret_reply);
    return status;
}

/* Asks until the daemon knows this connection: a first time for its challenge, a second time to
 * answer it. */
static int http_ask_until_known(struct http_client *client, const char *path,
                                struct http_reply *ret_reply, struct error *err)
{
    for (int try = 0; try < HTTP_TRIES; try++) {
        int status = http_ask_sealed(client, "GET", path, NULL, 0, ret_reply, err);
        if (status < 0 || ret_reply->status != HTTP_CHALLENGED)
            return status;
        http_reply_fini(ret_reply);
    }
    return error_set(err, -EIO, "the daemon at %s does not keep a connection", client->address);
}

/* A request that changes something is sent once. The connection is made known before it, because
 * the daemon does not read a large body of a client that it does not know. */
static int http_request_sealed(struct http_client *client, const char *method, const char *path,
                               const void *body, size_t body_size, struct http_reply *ret_reply,
                               struct error *err)
{
    if (text_equal(method, "GET"))
        return http_ask_until_known(client, path, ret_reply, err);
    int status = http_ask_until_known(client, HTTP_PING, ret_reply, err);
    if (status < 0)
        return status;
    http_reply_fini(ret_reply);
    status = http_ask_sealed(client, method, path, body, body_size, ret_reply, err);
    if (status < 0 || ret_reply->status != HTTP_CHALLENGED)
        return status;
    http_reply_fini(ret_reply);
    return error_set(err, -EIO,
                     "the connection to %s broke, and the daemon may have carried out %s %s: look "
                     "with 'phasectl status' before you repeat the command",
                     client->address, method, path);
}

/* --- Requests --------------------------------------------------------------------------------- */

int http_request(struct http_client *client, const char *method, const char *path, const void *body,
                 size_t body_size, struct http_reply *ret_reply, struct error *err)
{
    char nonce[MAC_NONCE_SIZE];
    if (client->is_encrypted)
        return http_request_sealed(client, method, path, body, body_size, ret_reply, err);
    if (!client->is_signed)
        return http_exchange(client, method, path, NULL, body, body_size, ret_reply, err);
    mac_random(nonce, sizeof nonce);
    int status = http_exchange(client, method, path, nonce, body, body_size, ret_reply, err);
    if (status < 0)
        return status;
    status = http_check_reply(client, nonce, ret_reply, err);
    if (status < 0)
        http_reply_fini(ret_reply);
    return status;
}
