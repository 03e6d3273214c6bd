/* Serving the web page. */
#include "daemon/api/page.h"

#include "daemon/api/api_private.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The page loads nothing from elsewhere, runs only its own scripts, and cannot be part of another
 * page. */
const char *const page_headers[][2] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' "
     "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cache-Control", "no-store"},
    {NULL, NULL},
};

unsigned page_port(const char *home)
{
    enum { PORT_FIRST = 20000, PORT_COUNT = 10000 }; /* below those that the kernel hands out */
    struct stat folder = {0};
    (void)stat(home, &folder); /* if this fails, another home may have the same port */
    return PORT_FIRST + (unsigned)(folder.st_ino % PORT_COUNT);
}

/* Whether this is a name of this machine for itself. The name of another site may lead to this
 * machine: a browser would then take the page for a page of that site. A tab with the name of an
 * earlier daemon is served, because the page then says what to do. */
static bool page_is_loopback(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    static const char below[] = ".localhost";
    size_t whole = host ? strcspn(host, ":") : 0, end = strlen(below);
    if (whole > end && memcmp(host + whole - end, below, end) == 0)
        return true;
    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        size_t size = strlen(names[i]);
        if (strncmp(host, names[i], size) == 0 && (!host[size] || host[size] == ':'))
            return true;
    }
    return false;
}

static bool page_has_token(const struct request *request, const struct page *page)
{
    const char *header = request_header(request, "Authorization");
    bool is_bearer = header && text_starts(header, "Bearer ");
    return is_bearer && mac_equal(header + strlen("Bearer "), page->token);
}

/* NULL: the request is not for a file. */
static const struct page_file *page_file_of(const struct request *request)
{
    const char *path = request_path(request);
    const char *name = text_equal(path, "/") ? "index.html" : path + (*path == '/');
    const struct page_file *file = page_files;
    if (!text_equal(request_method(request), "GET"))
        return NULL;
    while (file->name && !text_equal(file->name, name))
        file++;
    return file->name ? file : NULL;
}

void page_admit(struct request *request, void *context)
{
    const struct api *api = context;
    if (!page_is_loopback(request_header(request, "Host")))
        request_reply_error(request, API_FORBIDDEN, NULL,
                            "the page has the address that `phasectl open` prints");
    else if (page_has_token(request, &api->page))
        request_prove(request);
    else if (!page_file_of(request))
        request_reply_error(request, API_FORBIDDEN, NULL,
                            "this address does not belong to the running daemon: `phasectl open` "
                            "prints the right one");
}

bool page_serve(struct request *request)
{
    const struct page_file *file = page_file_of(request);
    if (!file)
        return false;
    char *copy = xmalloc(file->size + 1);
    memcpy(copy, file->data, file->size);
    request_set_type(request, file->type);
    request_reply_take(request, 200, copy, file->size);
    return true;
}

void page_post(struct call *call)
{
    const struct page *page = &call->api->page;
    char *url = text_format("http://p%s.localhost:%u/#%s", page->name, page->port, page->token);
    char host[256] = "";
    (void)gethostname(host, sizeof host - 1); /* without it the client takes its own */
    json_t *json = json_pack("{s:s, s:i, s:s}", "url", url, "port", (int)page->port, "host", host);
    request_reply_json(call->request, 200, json);
    free(url);
}
