/* Sends signed requests in the background. */
#include "worker/protocol/transfer.h"

#include "lib/error.h"
#include "lib/memory.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TRANSFER_REPLY_MAX = 1024 * 1024, TRANSFER_CONNECT_MS = 5000 };

static size_t transfer_receive_body(char *data, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    if (transfer->reply.size + size * count > TRANSFER_REPLY_MAX)
        return 0;
    text_add_bytes(&transfer->reply, data, size * count);
    return size * count;
}

static size_t transfer_receive_header(char *data, size_t size, size_t count, void *context)
{
    static const char name[] = MAC_HEADER ":";
    struct transfer *transfer = context;
    size_t length = size * count, at = sizeof name - 1, end = length;
    if (length <= at || strncasecmp(data, name, at) != 0)
        return length;
    while (at < end && isspace((unsigned char)data[at]))
        at++;
    while (end > at && isspace((unsigned char)data[end - 1]))
        end--;
    if (end - at == MAC_SIZE - 1) {
        memcpy(transfer->reply_mac, data + at, end - at);
        transfer->reply_mac[end - at] = '\0';
    }
    return length;
}

void transfer_init(struct transfer *transfer, CURLM *multi)
{
    *transfer = (struct transfer){.multi = multi, .curl = curl_easy_init()};
    if (!transfer->curl)
        abort();
}

static void transfer_detach(struct transfer *transfer)
{
    if (!transfer->is_active)
        return;
    curl_multi_remove_handle(transfer->multi, transfer->curl);
    curl_slist_free_all(transfer->headers);
    transfer->headers = NULL;
    transfer->is_active = false;
}

void transfer_fini(struct transfer *transfer)
{
    transfer_detach(transfer);
    curl_easy_cleanup(transfer->curl);
    text_fini(&transfer->request);
    text_fini(&transfer->reply);
    free(transfer->path);
}

static void transfer_header(struct transfer *transfer, const char *name, const char *value)
{
    char *line = text_format("%s: %s", name, value);
    struct curl_slist *more = curl_slist_append(transfer->headers, line);
    if (!more)
        abort();
    transfer->headers = more;
    free(line);
}

void transfer_begin(struct transfer *transfer, const struct mac_secret *secret, const char *base,
                    const char *method, const char *path, long timeout_ms)
{
    CURL *curl = transfer->curl;
    char mac[MAC_SIZE], *url = text_format("%s%s", base, path);
    bool is_post = text_equal(method, "POST");
    size_t body_size = is_post ? transfer->request.size : 0;
    assert(!transfer->is_active);
    free(transfer->path);
    transfer->path = xstrdup(path);
    transfer->method = method;
    transfer->reply_mac[0] = '\0';
    text_clear(&transfer->reply);
    mac_random(transfer->nonce, sizeof transfer->nonce);
    mac_request(secret, method, path, transfer->nonce, transfer->request.data, body_size, mac);
    transfer_header(transfer, MAC_NONCE_HEADER, transfer->nonce);
    transfer_header(transfer, MAC_HEADER, mac);
    transfer_header(transfer, "Content-Type", "application/json");
    transfer_header(transfer, "Expect", ""); /* "100-continue" would cost a round trip */
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)TRANSFER_CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, transfer->headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, transfer_receive_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, transfer_receive_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
    if (is_post) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, text_string(&transfer->request));
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body_size);
    }
    CURLMcode code = curl_multi_add_handle(transfer->multi, curl);
    assert(code == CURLM_OK);
    (void)code; /* fails only for a handle in use */
    transfer->is_active = true;
    free(url);
}

int transfer_end(struct transfer *transfer, const struct mac_secret *secret, CURLcode code,
                 json_t **ret_reply, struct error *err)
{
    long status = 0;
    char mac[MAC_SIZE];
    (void)curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status); /* 0: no reply */
    transfer_detach(transfer);
    if (code != CURLE_OK)
        return error_set(err, -EIO, "could not reach the daemon: %s", curl_easy_strerror(code));
    mac_reply(secret, transfer->nonce, (int)status, transfer->reply.data, transfer->reply.size,
              mac);
    if (!mac_equal(mac, transfer->reply_mac))
        return error_set(err, -EBADMSG, "a reply to %s %s (HTTP status %ld) has a wrong code",
                         transfer->method, transfer->path, status);
    if (status != 200)
        return error_set(err, -EPROTO, "the daemon answered %s %s with HTTP status %ld: %s",
                         transfer->method, transfer->path, status, text_string(&transfer->reply));
    json_t *reply = json_loadb(text_string(&transfer->reply), transfer->reply.size, 0, NULL);
    if (!json_is_object(reply)) {
        json_decref(reply);
        return error_set(err, -EPROTO, "the daemon's reply to %s %s is not a JSON object",
                         transfer->method, transfer->path);
    }
    *ret_reply = reply;
    return 0;
}
