/* One signed request to the daemon at a time, in the background of a libcurl multi handle: a
 * transfer is begun, and some later turn of the multi handle finds it done. What comes back is
 * believed only with the right code (lib/mac.h). Reusable; the connection is kept by the multi
 * handle. */
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
/* Aborts what is under way. */
void transfer_fini(struct transfer *transfer);

/* Begins a request; the transfer must not be active. `base` is "http://host:port", `method` a
 * literal. What stands in transfer->request is the body of a POST. */
void transfer_begin(struct transfer *transfer, const struct mac_secret *secret, const char *base,
                    const char *method, const char *path, long timeout_ms);

/* The multi handle says that this transfer ended with `code`: reads the reply. Returns 0 and an
 * object, the caller's; -EBADMSG for a reply without the right code; another negative errno when
 * there was none, or its status is not 200. */
int transfer_end(struct transfer *transfer, const struct mac_secret *secret, CURLcode code,
                 json_t **ret_reply, struct error *err);

#endif
