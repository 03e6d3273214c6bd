/* The ranks meet at rank 0, and rank 0 adds their numbers. */
#include "worker/model/ranks.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "worker/model/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HELLO_MS = 5000,      /* a stranger who connects and sends nothing costs no more time */
    CHUNK_FLOATS = 16384, /* so many values of each rank are added at once */
};

static const char hello_magic[8] = {'p', 'h', 'r', 'a', 'n', 'k', 's', '1'};

/* The first message of a rank. Rank 0 answers with the same message and its own rank, or with a
 * refusal. */
struct hello {
    char magic[8];
    uint32_t rank, size;
    uint8_t fingerprint[RANKS_FINGERPRINT];
};

/* Comes before the values of each sum. */
struct sum_head {
    uint64_t number, count;
};

static int read_number(const char *name, unsigned lowest, unsigned highest, unsigned *ret_number,
                       struct error *err)
{
    const char *string = getenv(name);
    if (!string)
        return error_set(err, -EINVAL, "%s is not set although WORLD_SIZE is", name);
    char *end;
    errno = 0;
    unsigned long number = strtoul(string, &end, 10);
    if (errno || end == string || *end || string[0] == '-' || number < lowest || number > highest)
        return error_set(err, -EINVAL, "%s is '%s', not a number from %u to %u", name, string,
                         lowest, highest);
    *ret_number = (unsigned)number;
    return 0;
}

int ranks_place_from_environment(struct ranks_place *ret_place, struct error *err)
{
    struct ranks_place place = {.size = 1};
    if (!getenv("WORLD_SIZE")) {
        *ret_place = place;
        return 0;
    }
    unsigned port;
    int status = read_number("WORLD_SIZE", 1, RANKS_MAX, &place.size, err);
    if (status == 0)
        status = read_number("RANK", 0, place.size - 1, &place.rank, err);
    if (status == 0 && place.size > 1) {
        status = read_number("MASTER_PORT", 1, 65535, &port, err);
        place.port = getenv("MASTER_PORT");
        place.address = getenv("MASTER_ADDR");
        if (status == 0 && (!place.address || !*place.address))
            status = error_set(err, -EINVAL, "MASTER_ADDR is not set although WORLD_SIZE is");
    }
    if (status == 0)
        *ret_place = place;
    return status;
}

/* Reads the hello of a new connection, and takes the socket of its rank. Strangers are disconnected
 * and do not count. Returns 1 if a rank has joined. */
static int seat(struct ranks *ranks, int fd, const struct hello *own, int64_t deadline_ms,
                struct error *err)
{
    struct hello hello;
    int64_t soon_ms = clock_steady_ms() + HELLO_MS;
    int status = wire_receive(fd, &hello, sizeof hello,
                              soon_ms < deadline_ms ? soon_ms : deadline_ms, "a caller", NULL);
    if (status < 0 || memcmp(hello.magic, hello_magic, sizeof hello_magic) != 0) {
        (void)close(fd); /* a stranger */
        return 0;
    }
    if (hello.size != ranks->size || hello.rank == 0 || hello.rank >= ranks->size)
        status = error_set(err, -EINVAL, "rank %u of %u connected, but this run has %u ranks",
                           hello.rank, hello.size, ranks->size);
    else if (ranks->sockets[hello.rank] >= 0)
        status = error_set(err, -EINVAL, "two processes say that they are rank %u", hello.rank);
    else if (memcmp(hello.fingerprint, own->fingerprint, sizeof own->fingerprint) != 0)
        status =
            error_set(err, -EINVAL, "rank %u has other options, another text or another checkpoint",
                      hello.rank);
    if (status < 0) {
        (void)close(fd); /* the other rank notices, and fails too */
        return status;
    }
    ranks->sockets[hello.rank] = fd;
    return 1;
}

static int gather(struct ranks *ranks, const struct ranks_place *place, const struct hello *own,
                  int64_t deadline_ms, struct error *err)
{
    int listener = wire_listen(place->address, place->port, err);
    if (listener < 0)
        return listener;
    int status = 0;
    for (unsigned seated = 1; seated < ranks->size && status >= 0; seated += (unsigned)status) {
        int fd = wire_accept(listener, deadline_ms, err);
        if (fd == -ETIMEDOUT)
            status = error_set(err, fd, "only %u of %u ranks came in time", seated, ranks->size);
        else
            status = fd < 0 ? fd : seat(ranks, fd, own, deadline_ms, err);
        if (status < 0)
            break;
    }
    (void)close(listener); /* nothing that matters is pending */
    for (unsigned i = 1; i < ranks->size && status >= 0; i++)
        status = wire_send(ranks->sockets[i], own, sizeof *own, deadline_ms, "a rank", err);
    return status < 0 ? status : 0;
}

static int report(struct ranks *ranks, const struct ranks_place *place, const struct hello *own,
                  int64_t deadline_ms, struct error *err)
{
    int fd = wire_connect(place->address, place->port, deadline_ms, err);
    if (fd < 0)
        return fd;
    ranks->sockets[0] = fd;
    int status = wire_send(fd, own, sizeof *own, deadline_ms, "rank 0", err);
    struct hello answer;
    if (status == 0)
        status = wire_receive(fd, &answer, sizeof answer, deadline_ms, "rank 0", err);
    bool known = status == 0 && memcmp(answer.magic, hello_magic, sizeof hello_magic) == 0;
    if (status == 0 && (!known || answer.rank != 0))
        status = error_set(err, -EPROTO, "the program at %s port %s is not rank 0", place->address,
                           place->port);
    return status;
}

int ranks_init(struct ranks *ranks, const struct ranks_place *place,
               const uint8_t fingerprint[RANKS_FINGERPRINT], int join_timeout_ms, int timeout_ms,
               struct error *err)
{
    *ranks = (struct ranks){.rank = place->rank, .size = place->size, .timeout_ms = timeout_ms};
    if (place->size == 1)
        return 0;
    ranks->sockets = xmalloc(place->size * sizeof *ranks->sockets);
    for (unsigned i = 0; i < place->size; i++)
        ranks->sockets[i] = -1;
    struct hello own = {.rank = place->rank, .size = place->size};
    memcpy(own.magic, hello_magic, sizeof own.magic);
    memcpy(own.fingerprint, fingerprint, sizeof own.fingerprint);
    int64_t deadline_ms = clock_steady_ms() + join_timeout_ms;
    int status = place->rank == 0 ? gather(ranks, place, &own, deadline_ms, err)
                                  : report(ranks, place, &own, deadline_ms, err);
    if (status < 0)
        ranks_fini(ranks);
    return status;
}

void ranks_fini(struct ranks *ranks)
{
    if (!ranks)
        return;
    for (unsigned i = 0; ranks->sockets && i < ranks->size; i++) {
        if (ranks->sockets[i] >= 0)
            (void)close(ranks->sockets[i]); /* sums have acknowledged everything that matters */
    }
    free(ranks->sockets);
    *ranks = (struct ranks){0};
}

/* Receives what comes before the values of a sum. */
static int take_head(struct ranks *ranks, unsigned from, size_t count, int64_t deadline_ms,
                     struct error *err)
{
    char peer[32];
    (void)snprintf(peer, sizeof peer, "rank %u", from);
    struct sum_head head;
    int status = wire_receive(ranks->sockets[from], &head, sizeof head, deadline_ms, peer, err);
    if (status == 0 && (head.number != ranks->sums || head.count != count))
        status = error_set(err, -EPROTO, "rank %u is out of step with rank 0", from);
    return status;
}

static int take_values(struct ranks *ranks, unsigned from, float *values, size_t count,
                       int64_t deadline_ms, struct error *err)
{
    char peer[32];
    (void)snprintf(peer, sizeof peer, "rank %u", from);
    return wire_receive(ranks->sockets[from], values, count * sizeof *values, deadline_ms, peer,
                        err);
}

/* Makes `sum` the sum of the values of `span` ranks from `first` on. `span` is a power of two, and
 * may go beyond the last rank. The values of rank 0 are in `sum` before. `room` has `count` floats
 * for each half. */
static int add_span(struct ranks *ranks, unsigned first, unsigned span, float *sum, size_t count,
                    float *room, int64_t deadline_ms, struct error *err)
{
    unsigned half = span / 2;
    if (span == 1)
        return first == 0 ? 0 : take_values(ranks, first, sum, count, deadline_ms, err);
    int status = add_span(ranks, first, half, sum, count, room, deadline_ms, err);
    if (status < 0 || first + half >= ranks->size)
        return status;
    status = add_span(ranks, first + half, half, room, count, room + count, deadline_ms, err);
    for (size_t i = 0; i < count && status == 0; i++)
        sum[i] += room[i];
    return status;
}

static int send_values(struct ranks *ranks, unsigned to, const float *values, size_t count,
                       int64_t deadline_ms, struct error *err)
{
    char peer[32];
    (void)snprintf(peer, sizeof peer, "rank %u", to);
    return wire_send(ranks->sockets[to], values, count * sizeof *values, deadline_ms, peer, err);
}

/* Receives values in the place of own values. The head comes first. */
static int take_from(struct ranks *ranks, unsigned from, float *values, size_t count,
                     int64_t deadline_ms, struct error *err)
{
    int status = take_head(ranks, from, count, deadline_ms, err);
    return status < 0 ? status : take_values(ranks, from, values, count, deadline_ms, err);
}

/* Sends values to rank 0, after their head. */
static int give_to_first(struct ranks *ranks, const float *values, size_t count,
                         int64_t deadline_ms, struct error *err)
{
    struct sum_head head = {.number = ranks->sums, .count = count};
    int status = wire_send(ranks->sockets[0], &head, sizeof head, deadline_ms, "rank 0", err);
    return status < 0 ? status : send_values(ranks, 0, values, count, deadline_ms, err);
}

static int add_all(struct ranks *ranks, float *values, size_t count, int64_t deadline_ms,
                   struct error *err)
{
    unsigned span = 1, levels = 0;
    int status = 0;
    for (; span < ranks->size; span *= 2)
        levels++;
    for (unsigned from = 1; from < ranks->size && status == 0; from++)
        status = take_head(ranks, from, count, deadline_ms, err);
    float *room = xmalloc(levels * CHUNK_FLOATS * sizeof *room);
    for (size_t done = 0; done < count && status == 0; done += CHUNK_FLOATS) {
        size_t size = count - done < CHUNK_FLOATS ? count - done : CHUNK_FLOATS;
        status = add_span(ranks, 0, span, values + done, size, room, deadline_ms, err);
    }
    free(room);
    return status;
}

/* Begins a sum or another exchange. Returns its deadline. */
static int64_t begin(struct ranks *ranks)
{
    ranks->sums++;
    return clock_steady_ms() + ranks->timeout_ms;
}

int ranks_sum(struct ranks *ranks, float *values, size_t count, struct error *err)
{
    if (ranks->size == 1)
        return 0;
    int64_t deadline_ms = begin(ranks);
    if (ranks->rank > 0) {
        int status = give_to_first(ranks, values, count, deadline_ms, err);
        return status < 0 ? status : take_values(ranks, 0, values, count, deadline_ms, err);
    }
    int status = add_all(ranks, values, count, deadline_ms, err);
    for (unsigned to = 1; to < ranks->size && status == 0; to++)
        status = send_values(ranks, to, values, count, deadline_ms, err);
    return status;
}

struct ranks_part ranks_part(unsigned rank, unsigned size, size_t count)
{
    enum { UNIT = 64 }; /* parts begin where vectors and transfers of a GPU begin */
    size_t each = ((count + size - 1) / size + UNIT - 1) / UNIT * UNIT;
    size_t first = rank * each < count ? rank * each : count;
    return (struct ranks_part){first, count - first < each ? count - first : each};
}

int ranks_sum_parts(struct ranks *ranks, float *values, size_t count, struct error *err)
{
    if (ranks->size == 1)
        return 0;
    int64_t deadline_ms = begin(ranks);
    if (ranks->rank > 0) {
        struct ranks_part own = ranks_part(ranks->rank, ranks->size, count);
        int status = give_to_first(ranks, values, count, deadline_ms, err);
        if (status < 0)
            return status;
        return take_values(ranks, 0, values + own.first, own.count, deadline_ms, err);
    }
    int status = add_all(ranks, values, count, deadline_ms, err);
    for (unsigned to = 1; to < ranks->size && status == 0; to++) {
        struct ranks_part part = ranks_part(to, ranks->size, count);
        status = send_values(ranks, to, values + part.first, part.count, deadline_ms, err);
    }
    return status;
}

int ranks_gather(struct ranks *ranks, float *values, size_t count, struct error *err)
{
    if (ranks->size == 1)
        return 0;
    int64_t deadline_ms = begin(ranks);
    if (ranks->rank > 0) {
        struct ranks_part own = ranks_part(ranks->rank, ranks->size, count);
        int status = give_to_first(ranks, values + own.first, own.count, deadline_ms, err);
        return status < 0 ? status : take_values(ranks, 0, values, count, deadline_ms, err);
    }
    int status = 0;
    for (unsigned from = 1; from < ranks->size && status == 0; from++) {
        struct ranks_part part = ranks_part(from, ranks->size, count);
        status = take_from(ranks, from, values + part.first, part.count, deadline_ms, err);
    }
    for (unsigned to = 1; to < ranks->size && status == 0; to++)
        status = send_values(ranks, to, values, count, deadline_ms, err);
    return status;
}

int ranks_look(const struct ranks *ranks, struct error *err)
{
    for (unsigned i = 0; ranks->sockets && i < ranks->size; i++) {
        struct pollfd wait = {.fd = ranks->sockets[i], .events = POLLRDHUP};
        if (wait.fd >= 0 && poll(&wait, 1, 0) > 0)
            return error_set(err, -ECONNRESET, "rank %u is gone", i);
    }
    return 0;
}
