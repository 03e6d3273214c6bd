/* Any bytes as the answer on NCCL's port, and as its address. The text must be plain and bounded,
 * and every query must end. */
#include "tests/fuzz/fuzz.h"

#include "worker/health/ras.c" /* so that the connection uses a socket of our own */

#include <assert.h>
#include <sys/socket.h>
#include <unistd.h>

const char fuzz_corpus[] = "ras";

static void fuzz_done(void *context, const char *text)
{
    *(unsigned *)context += 1;
    assert(!text || strlen(text) <= RAS_TEXT_MAX);
    for (; text && *text; text++)
        assert(*text == '\n' || (*text >= ' ' && *text < 127));
}

static void fuzz_address(const uint8_t *data, size_t size)
{
    struct sockaddr_storage address;
    char *text = strndup((const char *)data, size);
    assert(text);
    (void)ras_parse(text, &address); /* either answer is fine */
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uv_loop_t loop;
    int ends[2];
    unsigned done = 0;
    struct ras *ras = calloc(1, sizeof *ras);
    fuzz_address(data, size < 80 ? size : 80);
    assert(ras && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    assert(uv_loop_init(&loop) == 0);
    *ras = (struct ras){.done = fuzz_done, .context = &done, .handles = 2};
    (void)uv_tcp_init(&loop, &ras->stream);
    (void)uv_timer_init(&loop, &ras->deadline);
    ras->stream.data = ras->deadline.data = ras->connection.data = ras->request.data = ras;
    assert(uv_tcp_open(&ras->stream, ends[0]) == 0);
    ras_connected(&ras->connection, 0);
    for (size_t at = 0; at < size;) { /* in pieces; the other side reads in between */
        ssize_t sent = send(ends[1], data + at, size - at < 17 ? size - at : 17, MSG_NOSIGNAL);
        if (sent <= 0)
            break;
        at += (size_t)sent;
        (void)uv_run(&loop, UV_RUN_NOWAIT);
    }
    (void)close(ends[1]);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert(done == 1 && uv_loop_close(&loop) == 0);
    return 0;
}
