/* The ranks meet at rank 0, and rank 0 adds their numbers. */
#include "worker/model/ranks.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "worker/model/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HELLO_MS = 5000,      /* a stranger who connects and sends nothing costs no more time */
    CHUNK_FLOATS = 16384, /* so many values of each rank are added at once */
    ANSWER_MS = 5000,     /* how long the others may take to say how far their GPUs are */
    LOOK_MS = 1000,       /* while rank 0 waits for one rank, it looks at the others so often */
    HOST = 64,            /* bytes of the name of a host */
    NAMED_MAX = 3,        /* so many ranks fit into a message */
};

static const char hello_magic[8] = {'p', 'h', 'r', 'a', 'n', 'k', 's', '2'};

/* The first message of a rank. Rank 0 answers with the same message and its own rank, or with a
 * refusal. */
struct hello {
    char magic[8];
    uint32_t rank, size;
    uint8_t fingerprint[RANKS_FINGERPRINT];
};

/* Comes before the values of each sum, in both directions. */
struct sum_head {
    uint64_t number, count;
};

/* The number in the head of a message that belongs to no sum, but to ranks_compare(). Rank 0 asks
 * by a head with the count 0. A rank that waits for its GPU sends a `struct late`, whether it is
 * asked or not. Rank 0 ends with a `struct verdict`. */
static const uint64_t late_number = UINT64_MAX;

struct late {
    struct sum_head head; /* its count is the `next` of the rank */
    char host[HOST];
};

struct verdict {
    struct sum_head head;                             /* its count is 1 */
    char text[sizeof((struct error *)NULL)->message]; /* empty: the numbers do not tell */
};

/* The `next` of a rank that waits in a sum: its GPU is ahead of each GPU that a host waits for. */
static const uint64_t is_ahead = UINT64_MAX;

static int say_unset(const char *name, struct error *err)
{
    return error_set(err, -EINVAL,
                     "%s is not set although WORLD_SIZE is: start a process for each rank, as "
                     "torchrun and `launch: rank` do",
                     name);
}

static int read_number(const char *name, unsigned lowest, unsigned highest, unsigned *ret_number,
                       struct error *err)
{
    const char *string = getenv(name);
    if (!string)
        return say_unset(name, err);
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
    if (status == 0 && (place.size > 1 || getenv("RANK")))
        status = read_number("RANK", 0, place.size - 1, &place.rank, err);
    if (status == 0 && place.size > 1) {
        status = read_number("MASTER_PORT", 1, 65535, &port, err);
        place.port = getenv("MASTER_PORT");
        place.address = getenv("MASTER_ADDR");
        if (status == 0 && (!place.address || !*place.address))
            status = say_unset("MASTER_ADDR", err);
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

static int say_missing(const struct ranks *ranks, unsigned seated, struct error *err)
{
    char names[NAMED_MAX * 16] = "";
    size_t used = 0;
    unsigned missing = 0;
    for (unsigned rank = 1; rank < ranks->size; rank++)
        if (ranks->sockets[rank] < 0 && missing++ < NAMED_MAX)
            used += (size_t)snprintf(names + used, sizeof names - used, "%srank %u",
                                     used > 0 ? ", " : "", rank);
    return error_set(err, -ETIMEDOUT, "only %u of %u ranks came in time, without %s%s", seated,
                     ranks->size, names, missing > NAMED_MAX ? " and others" : "");
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
            status = say_missing(ranks, seated, err);
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

static int take(struct ranks *ranks, unsigned from, void *data, size_t size, int64_t deadline_ms,
                struct error *err)
{
    char peer[32];
    (void)snprintf(peer, sizeof peer, "rank %u", from);
    return wire_receive(ranks->sockets[from], data, size, deadline_ms, peer, err);
}

static int give(struct ranks *ranks, unsigned to, const void *data, size_t size,
                int64_t deadline_ms, struct error *err)
{
    char peer[32];
    (void)snprintf(peer, sizeof peer, "rank %u", to);
    return wire_send(ranks->sockets[to], data, size, deadline_ms, peer, err);
}

static void name_behind(const struct ranks *ranks, const struct late *all, char *text, size_t size)
{
    char names[NAMED_MAX * (HOST + 32)] = "";
    uint64_t next = is_ahead;
    size_t used = 0;
    unsigned behind = 0;
    for (unsigned rank = 0; rank < ranks->size; rank++)
        next = all[rank].head.count < next ? all[rank].head.count : next;
    for (unsigned rank = 0; rank < ranks->size; rank++)
        if (all[rank].head.count == next && behind++ < NAMED_MAX)
            used += (size_t)snprintf(names + used, sizeof names - used, "%srank %u (%s)",
                                     used > 0 ? ", " : "", rank, all[rank].host);
    const char *verb = behind > NAMED_MAX ? "and others are" : behind > 1 ? "are" : "is";
    if (next > 0 && behind == ranks->size)
        (void)snprintf(text, size,
                       "no GPU is behind the others: sum %" PRIu64 " was not reached in time",
                       next);
    else if (next > 0)
        (void)snprintf(text, size,
                       "the GPU%s of %s %s behind the others: sum %" PRIu64
                       " was not reached in time",
                       behind > 1 ? "s" : "", names, verb, next);
}

/* In rank 0: asks the others, and tells them what follows. Ranks before `first` wait in a sum. */
static int compare(struct ranks *ranks, unsigned first, uint64_t next, struct error *err)
{
    const struct sum_head question = {late_number, 0};
    struct verdict verdict = {.head = {late_number, 1}};
    struct late *all = xcalloc(ranks->size, sizeof *all);
    int64_t deadline_ms = clock_steady_ms() + ANSWER_MS;
    struct error lost;
    int status = 0;
    for (unsigned rank = 1; rank < ranks->size; rank++) {
        all[rank].head.count = is_ahead;
        (void)give(ranks, rank, &question, sizeof question, deadline_ms, NULL); /* it may be gone */
    }
    all[0].head.count = next;
    (void)gethostname(all[0].host, HOST - 1); /* the rank is named anyway */
    for (unsigned rank = first; rank < ranks->size && status == 0; rank++) {
        struct sum_head head;
        status = take(ranks, rank, &head, sizeof head, deadline_ms, &lost);
        if (status < 0 || head.number != late_number)
            continue;
        all[rank].head = head;
        status = take(ranks, rank, all[rank].host, HOST, deadline_ms, &lost);
        all[rank].host[HOST - 1] = '\0';
    }
    if (status == 0)
        name_behind(ranks, all, verdict.text, sizeof verdict.text);
    else
        (void)snprintf(verdict.text, sizeof verdict.text, "%s", lost.message); /* it fits */
    free(all);
    for (unsigned rank = 1; rank < ranks->size; rank++)
        (void)give(ranks, rank, &verdict, sizeof verdict, deadline_ms, NULL); /* it may be gone */
    return *verdict.text ? error_set(err, -ETIMEDOUT, "%s", verdict.text) : -ETIMEDOUT;
}

/* In other ranks: receives the verdict of rank 0. `head` may be that of its question. */
static int hear(struct ranks *ranks, struct sum_head head, int64_t deadline_ms, struct error *err)
{
    char text[sizeof((struct verdict *)NULL)->text];
    int status = 0;
    while (status == 0 && head.count == 0)
        status = take(ranks, 0, &head, sizeof head, deadline_ms, err);
    if (status == 0)
        status = take(ranks, 0, text, sizeof text, deadline_ms, err);
    if (status < 0)
        return status;
    text[sizeof text - 1] = '\0';
    return *text ? error_set(err, -ETIMEDOUT, "%s", text) : -ETIMEDOUT;
}

int ranks_compare(struct ranks *ranks, uint64_t next, struct error *err)
{
    struct late own = {.head = {late_number, next}};
    int64_t deadline_ms = clock_steady_ms() + 2 * ANSWER_MS; /* rank 0 may wait for another rank */
    if (!ranks->sockets)
        return err->code;
    if (ranks->failure.code) { /* a connection may be in the middle of a message */
        *err = ranks->failure;
        return err->code;
    }
    (void)gethostname(own.host, HOST - 1); /* the rank is named anyway */
    if (ranks->rank == 0)
        (void)compare(ranks, 1, next, err);
    else if (give(ranks, 0, &own, sizeof own, deadline_ms, err) == 0)
        (void)hear(ranks, (struct sum_head){0}, deadline_ms, err);
    ranks->failure = *err;
    return err->code;
}

/* Whether the next message of a rank belongs to ranks_compare(). */
static bool is_late(int fd)
{
    struct sum_head head;
    return recv(fd, &head, sizeof head, MSG_PEEK) == sizeof head && head.number == late_number;
}

/* In rank 0: waits for a message of the rank `from`. Returns whether it or a later rank is late. */
static bool is_any_late(const struct ranks *ranks, unsigned from, int64_t deadline_ms)
{
    struct pollfd wait = {.fd = ranks->sockets[from], .events = POLLIN};
    while (poll(&wait, 1, LOOK_MS) <= 0 && clock_steady_ms() < deadline_ms)
        for (unsigned rank = from + 1; rank < ranks->size; rank++)
            if (is_late(ranks->sockets[rank]))
                return true;
    return is_late(wait.fd);
}

/* Receives what comes before the values of a sum. */
static int take_head(struct ranks *ranks, unsigned from, size_t count, int64_t deadline_ms,
                     struct error *err)
{
    static const char late[] = "the GPU of another rank was not done in time";
    struct sum_head head;
    if (ranks->rank == 0 && is_any_late(ranks, from, deadline_ms)) {
        (void)error_set(err, -ETIMEDOUT, late);
        return compare(ranks, from, is_ahead, err);
    }
    int status = take(ranks, from, &head, sizeof head, deadline_ms, err);
    if (status == 0 && head.number == late_number) {
        (void)error_set(err, -ETIMEDOUT, late);
        return hear(ranks, head, deadline_ms, err);
    }
    if (status == 0 && (head.number != ranks->sums || head.count != count))
        status = error_set(err, -EPROTO, "rank %u is out of step with rank %u", from, ranks->rank);
    return status;
}

static int take_values(struct ranks *ranks, unsigned from, float *values, size_t count,
                       int64_t deadline_ms, struct error *err)
{
    return take(ranks, from, values, count * sizeof *values, deadline_ms, err);
}

/* Receives values in the place of own values. The head comes first. */
static int take_from(struct ranks *ranks, unsigned from, float *values, size_t count,
                     int64_t deadline_ms, struct error *err)
{
    int status = take_head(ranks, from, count, deadline_ms, err);
    return status < 0 ? status : take_values(ranks, from, values, count, deadline_ms, err);
}

/* Sends values, after their head. */
static int give_to(struct ranks *ranks, unsigned to, const float *values, size_t count,
                   int64_t deadline_ms, struct error *err)
{
    struct sum_head head = {.number = ranks->sums, .count = count};
    int status = give(ranks, to, &head, sizeof head, deadline_ms, err);
    return status < 0 ? status : give(ranks, to, values, count * sizeof *values, deadline_ms, err);
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

/* What the ranks do together with values, after all of them have begun it. */
typedef int exchange(struct ranks *ranks, float *values, size_t count, int64_t deadline_ms,
                     struct error *err);

/* After a failure a connection may be in the middle of a message, so no later exchange begins. A
 * later exchange fails for the same reason: the rest of the message would blame another rank. */
static int run_exchange(struct ranks *ranks, exchange *body, float *values, size_t count,
                        struct error *err)
{
    if (ranks->size == 1)
        return 0;
    ranks->sums++;
    if (!ranks->failure.code)
        (void)body(ranks, values, count, clock_steady_ms() + ranks->timeout_ms, &ranks->failure);
    if (ranks->failure.code && err)
        *err = ranks->failure;
    return ranks->failure.code;
}

static int sum_whole(struct ranks *ranks, float *values, size_t count, int64_t deadline_ms,
                     struct error *err)
{
    if (ranks->rank > 0) {
        int status = give_to(ranks, 0, values, count, deadline_ms, err);
        return status < 0 ? status : take_from(ranks, 0, values, count, deadline_ms, err);
    }
    int status = add_all(ranks, values, count, deadline_ms, err);
    for (unsigned to = 1; to < ranks->size && status == 0; to++)
        status = give_to(ranks, to, values, count, deadline_ms, err);
    return status;
}

int ranks_sum(struct ranks *ranks, float *values, size_t count, struct error *err)
{
    return run_exchange(ranks, sum_whole, values, count, err);
}

struct ranks_part ranks_part(unsigned rank, unsigned size, size_t count)
{
    enum { UNIT = 64 }; /* parts begin where vectors and transfers of a GPU begin */
    size_t each = ((count + size - 1) / size + UNIT - 1) / UNIT * UNIT;
    size_t first = rank * each < count ? rank * each : count;
    return (struct ranks_part){first, count - first < each ? count - first : each};
}

struct ranks_part ranks_overlap(struct ranks_part a, struct ranks_part b)
{
    size_t first = a.first > b.first ? a.first : b.first;
    size_t end = a.first + a.count < b.first + b.count ? a.first + a.count : b.first + b.count;
    return (struct ranks_part){first, first < end ? end - first : 0};
}

static int sum_parts(struct ranks *ranks, float *values, size_t count, int64_t deadline_ms,
                     struct error *err)
{
    if (ranks->rank > 0) {
        struct ranks_part own = ranks_part(ranks->rank, ranks->size, count);
        int status = give_to(ranks, 0, values, count, deadline_ms, err);
        if (status < 0)
            return status;
        return take_from(ranks, 0, values + own.first, own.count, deadline_ms, err);
    }
    int status = add_all(ranks, values, count, deadline_ms, err);
    for (unsigned to = 1; to < ranks->size && status == 0; to++) {
        struct ranks_part part = ranks_part(to, ranks->size, count);
        status = give_to(ranks, to, values + part.first, part.count, deadline_ms, err);
    }
    return status;
}

int ranks_sum_parts(struct ranks *ranks, float *values, size_t count, struct error *err)
{
    return run_exchange(ranks, sum_parts, values, count, err);
}

static int gather_parts(struct ranks *ranks, float *values, size_t count, int64_t deadline_ms,
                        struct error *err)
{
    if (ranks->rank > 0) {
        struct ranks_part own = ranks_part(ranks->rank, ranks->size, count);
        int status = give_to(ranks, 0, values + own.first, own.count, deadline_ms, err);
        return status < 0 ? status : take_from(ranks, 0, values, count, deadline_ms, err);
    }
    int status = 0;
    for (unsigned from = 1; from < ranks->size && status == 0; from++) {
        struct ranks_part part = ranks_part(from, ranks->size, count);
        status = take_from(ranks, from, values + part.first, part.count, deadline_ms, err);
    }
    for (unsigned to = 1; to < ranks->size && status == 0; to++)
        status = give_to(ranks, to, values, count, deadline_ms, err);
    return status;
}

int ranks_gather(struct ranks *ranks, float *values, size_t count, struct error *err)
{
    return run_exchange(ranks, gather_parts, values, count, err);
}

static int collect(struct ranks *ranks, float *values, size_t count, int64_t deadline_ms,
                   struct error *err)
{
    if (ranks->rank > 0)
        return give_to(ranks, 0, values + ranks->rank * count, count, deadline_ms, err);
    int status = 0;
    for (unsigned from = 1; from < ranks->size && status == 0; from++)
        status = take_from(ranks, from, values + from * count, count, deadline_ms, err);
    return status;
}

int ranks_collect(struct ranks *ranks, float *values, size_t count, struct error *err)
{
    return run_exchange(ranks, collect, values, count, err);
}

int ranks_look(const struct ranks *ranks, struct error *err)
{
    for (unsigned i = 0; ranks->sockets && i < ranks->size; i++) {
        struct pollfd wait = {.fd = ranks->sockets[i], .events = POLLIN | POLLRDHUP};
        if (wait.fd < 0 || poll(&wait, 1, 0) <= 0)
            continue;
        if (is_late(wait.fd))
            return RANKS_LATE;
        if (wait.revents & ~POLLIN)
            return error_set(err, -ECONNRESET, "rank %u is gone", i);
    }
    return 0;
}
