/* One signed request to the daemon at a time, in the background of a libcurl multi handle. A
 * transfer is begun, and a later turn of the multi handle finds it done. A reply counts only with
 * the right code (lib/mac.h). A transfer can be used again, and the multi handle keeps the
 * connection. */
#ifndef PHASED_WORKER_PROTOCOL_TRANSFER_H
#define PHASED_WORKER_PROTOCOL_TRANSFER_H

#include "lib/mac.h"
#include "lib/text.h"

#include <curl/curl.h>
#include <jansson.h>
#include <stdbool.h>

struct error;

struct transfer {
    CURL *curl;
    CURLM *multi; /* borrowed */
    bool is_active;
    const char *method; /* static */
    char *path;
    char nonce[MAC_NONCE_SIZE];
    struct text request;
    struct text reply;
    char reply_mac[MAC_SIZE];
    struct curl_slist *headers;
};

void transfer_init(struct transfer *transfer, CURLM *multi);
/* Aborts a running transfer. */
void transfer_fini(struct transfer *transfer);

/* Begins a request. The transfer must not be active. `base` is "http://host:port", and `method` is
 * a literal. transfer->request has the body of a POST. */
void transfer_begin(struct transfer *transfer, const struct mac_secret *secret, const char *base,
                    const char *method, const char *path, long timeout_ms);

/* The multi handle says that this transfer ended with `code`. Reads the reply. Returns 0 and a new
 * object; -EBADMSG for a reply without the right code; another negative errno if there is no reply
 * or its status is not 200. */
int transfer_end(struct transfer *transfer, const struct mac_secret *secret, CURLcode code,
                 json_t **ret_reply, struct error *err);

#endif
