/* The web page: its files, and who may use it.
 *
 * The page is served over TCP on the loopback address, where every user of the machine can connect.
 * Its files hold no secrets. All other requests need the token, which only the owner's socket gives
 * away (`phasectl open`). A browser sends the token as a header and not as a cookie, so pages of
 * other sites cannot use it. Each daemon makes a new token and a new name of its page, and stores
 * both nowhere.
 *
 * While no daemon runs, another user can listen on the port, and show a browser any page there. The
 * origin of such a page has the name of an earlier daemon. So the page gets an old token, and what
 * it leaves in the browser (a service worker, a cached file) does not reach the page of a later
 * daemon. */
#ifndef PHASED_DAEMON_API_PAGE_H
#define PHASED_DAEMON_API_PAGE_H

#include "lib/mac.h"

#include <stddef.h>

struct request;

/* A file of the page. */
struct page_file {
    const char *name, *type;
    const unsigned char *data;
    size_t size;
};

/* All files of web/, and the library that draws curves if phased was built with it. web/embed.sh
 * makes the list. An entry without a name ends the list. */
extern const struct page_file page_files[];

enum { PAGE_NAME_SIZE = 17 };

struct page {
    char token[MAC_SECRET_SIZE];
    char name[PAGE_NAME_SIZE]; /* the address has the host pNAME.localhost */
    unsigned port;
    int reserved_fd; /* keeps the port of [::1] (lib/loopback.h); -1: no port */
};

/* The headers of each reply, as {name, value}. A row of NULL ends the list. */
extern const char *const page_headers[][2];

/* Returns the usual port of this home's page. The page takes this port if it is free, so that a
 * tunnel to the page works again after a restart. */
unsigned page_port(const char *home);

/* Refuses the request if it may not be answered. The context is a struct api. */
void page_admit(struct request *request, void *context);
/* Answers with a file. False: the request is not for a file. */
bool page_serve(struct request *request);

#endif
