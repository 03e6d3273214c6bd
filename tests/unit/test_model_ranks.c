/* Ranks: here, each rank is a process of its own, as in a run. */
#include "tests/unit/unit.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "worker/model/ranks.h"
#include "worker/model/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    VALUES = 40000, /* more than one chunk */
    PATIENCE_MS = 30000,
    GIVE_UP_MS = 300, /* for tests in which the wait must end */
};

/* What a rank does after it has started. The result is the exit code of the process. */
typedef int rank_body(struct ranks_place place);

static char port[8];

/* Picks a free port. While the result, a socket, is open, no other program gets the port. */
static int pick_port(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(port, sizeof port, "%u", ntohs(address.sin_port));
    return fd;
}

/* Runs `body` as `size` ranks, and asserts that each exits with 0. */
static void assert_ranks(rank_body *body, unsigned size)
{
    pid_t children[8];
    int picked = pick_port();
    for (unsigned rank = 0; rank < size; rank++) {
        children[rank] = fork();
        assert_true(children[rank] >= 0);
        if (children[rank] == 0)
            _exit(body((struct ranks_place){rank, size, "127.0.0.1", port}));
    }
    for (unsigned rank = 0; rank < size; rank++) {
        int status;
        assert_int_equal(waitpid(children[rank], &status, 0), children[rank]);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("rank %u ended with wait status %#x", rank, (unsigned)status);
    }
    (void)close(picked); /* nothing was sent */
}

static const uint8_t fingerprint[RANKS_FINGERPRINT] = {1, 2, 3};

/* Values whose sum depends on the order of adding. */
static float value_of(unsigned rank, size_t i)
{
    static const float parts[] = {1.0f, 1e8f, -1e8f, 0.3f};
    return parts[rank % 4] * (float)(i % 7);
}

/* The sum of `count` ranks from `first` on, in a tree: the first half has a power of two. */
static float sum_of(unsigned first, unsigned count, size_t i)
{
    unsigned half = 1;
    if (count == 1)
        return value_of(first, i);
    while (2 * half < count)
        half *= 2;
    return sum_of(first, half, i) + sum_of(first + half, count - half, i);
}

static int sum_in_tree(struct ranks_place place)
{
    struct ranks ranks;
    struct error err;
    if (ranks_init(&ranks, &place, fingerprint, PATIENCE_MS, PATIENCE_MS, &err) < 0)
        return 1;
    static float values[VALUES];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < VALUES; i++)
            values[i] = value_of(place.rank, i);
        if (ranks_sum(&ranks, values, VALUES, &err) < 0)
            return 2;
        for (size_t i = 0; i < VALUES; i++) {
            float expected = sum_of(0, place.size, i);
            if (memcmp(&values[i], &expected, sizeof expected) != 0)
                return 3;
        }
    }
    ranks_fini(&ranks);
    return 0;
}

static void every_rank_gets_the_sum_in_a_tree_over_the_ranks(void **state)
{
    (void)state;
    assert_ranks(sum_in_tree, 1);
    assert_ranks(sum_in_tree, 2);
    assert_ranks(sum_in_tree, 4);
    assert_ranks(sum_in_tree, 7);
}

/* Sums the own part, and then gathers the parts of all ranks. The last rank may own nothing. */
static int sum_parts_and_gather(struct ranks_place place)
{
    struct ranks ranks;
    struct error err;
    if (ranks_init(&ranks, &place, fingerprint, PATIENCE_MS, PATIENCE_MS, &err) < 0)
        return 1;
    static float values[VALUES];
    static const size_t counts[] = {VALUES, 100, 1};
    for (size_t round = 0; round < sizeof counts / sizeof *counts; round++) {
        size_t count = counts[round];
        struct ranks_part own = ranks_part(place.rank, place.size, count);
        for (size_t i = 0; i < count; i++)
            values[i] = value_of(place.rank, i);
        if (ranks_sum_parts(&ranks, values, count, &err) < 0)
            return 2;
        for (size_t i = 0; i < count; i++) {
            float expected = sum_of(0, place.size, i);
            if (i >= own.first && i - own.first < own.count &&
                memcmp(&values[i], &expected, sizeof expected) != 0)
                return 3;
            values[i] = i >= own.first && i - own.first < own.count ? (float)i : -1;
        }
        if (ranks_gather(&ranks, values, count, &err) < 0)
            return 4;
        for (size_t i = 0; i < count; i++)
            if (values[i] != (float)i)
                return 5;
    }
    ranks_fini(&ranks);
    return 0;
}

/* Rank 0 gets the values of all ranks, and each rank keeps its own. */
static int collect(struct ranks_place place)
{
    struct ranks ranks;
    struct error err;
    if (ranks_init(&ranks, &place, fingerprint, PATIENCE_MS, PATIENCE_MS, &err) < 0)
        return 1;
    static float values[4 * VALUES];
    static const size_t counts[] = {VALUES, 1};
    for (size_t round = 0; round < sizeof counts / sizeof *counts; round++) {
        size_t count = counts[round];
        memset(values, 0, sizeof values);
        for (size_t i = 0; i < count; i++)
            values[place.rank * count + i] = value_of(place.rank, i) + 1;
        if (ranks_collect(&ranks, values, count, &err) < 0)
            return 2;
        for (unsigned rank = 0; rank < place.size; rank++)
            for (size_t i = 0; i < count && (place.rank == 0 || rank == place.rank); i++)
                if (values[rank * count + i] != value_of(rank, i) + 1)
                    return 3;
    }
    ranks_fini(&ranks);
    return 0;
}

static void the_first_rank_gets_the_values_of_all(void **state)
{
    (void)state;
    assert_ranks(collect, 1);
    assert_ranks(collect, 4);
}

static void every_rank_gets_the_sum_of_its_part_and_then_the_parts_of_all(void **state)
{
    (void)state;
    assert_ranks(sum_parts_and_gather, 1);
    assert_ranks(sum_parts_and_gather, 2);
    assert_ranks(sum_parts_and_gather, 3);
}

static void the_parts_of_the_ranks_lie_side_by_side(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 63, 64, 65, 1000, 12345};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (unsigned size = 1; size <= 9; size++) {
            size_t next = 0;
            for (unsigned rank = 0; rank < size; rank++) {
                struct ranks_part part = ranks_part(rank, size, counts[c]);
                assert_int_equal(part.first, next);
                assert_true(part.count == 0 || part.first % 64 == 0);
                next += part.count;
            }
            assert_int_equal(next, counts[c]);
        }
}

static int lose_one(struct ranks_place place)
{
    struct ranks ranks;
    struct error err;
    if (ranks_init(&ranks, &place, fingerprint, PATIENCE_MS, PATIENCE_MS, &err) < 0)
        return 1;
    float value = 1;
    if (ranks_sum(&ranks, &value, 1, &err) < 0)
        return 2;
    if (place.rank == 2)
        return 0; /* as if it were killed: the kernel closes its sockets */
    int result = ranks_sum(&ranks, &value, 1, &err);
    if (result != -ECONNRESET || !strstr(err.message, "is gone"))
        return 3;
    /* Whatever comes later fails for the same reason. */
    struct error later = {0}, compared = {0};
    int sum = ranks_gather(&ranks, &value, 1, &later),
        compare = ranks_compare(&ranks, 1, &compared);
    ranks_fini(&ranks);
    return sum == result && compare == result && strcmp(later.message, err.message) == 0 &&
                   strcmp(compared.message, err.message) == 0
               ? 0
               : 4;
}

static void a_rank_that_ends_fails_the_others(void **state)
{
    (void)state;
    assert_ranks(lose_one, 4);
}

static int look_for_others(struct ranks_place place)
{
    struct ranks ranks;
    struct error err;
    float value = 1;
    if (ranks_init(&ranks, &place, fingerprint, PATIENCE_MS, PATIENCE_MS, &err) < 0)
        return 1;
    if (place.rank == 2)
        return ranks_sum(&ranks, &value, 1, &err) == 0 ? 0 : 2; /* and then it is gone */
    if (place.rank == 0 && ranks_look(&ranks, &err) < 0)
        return 3;
    if (ranks_sum(&ranks, &value, 1, &err) < 0)
        return 4;
    struct pollfd wait = {.fd = ranks.sockets[place.rank == 0 ? 2 : 0], .events = POLLRDHUP};
    if (poll(&wait, 1, PATIENCE_MS) != 1 || ranks_look(&ranks, &err) != -ECONNRESET)
        return 5;
    const char *reason = place.rank == 0 ? "rank 2 is gone" : "rank 0 is gone";
    return strstr(err.message, reason) ? 0 : 6;
}

static void a_look_finds_the_rank_that_is_gone(void **state)
{
    (void)state;
    assert_ranks(look_for_others, 3);
}

static int differ(struct ranks_place place)
{
    struct ranks ranks;
    struct error err;
    const uint8_t other[RANKS_FINGERPRINT] = {4, 5, 6};
    int result = ranks_init(&ranks, &place, place.rank == 1 ? other : fingerprint, PATIENCE_MS,
                            PATIENCE_MS, &err);
    const char *reason = place.rank == 0 ? "rank 1 has other options" : "rank 0 is gone";
    return result < 0 && strstr(err.message, reason) ? 0 : 1;
}

static void ranks_with_different_options_refuse_each_other(void **state)
{
    (void)state;
    assert_ranks(differ, 2);
}

static int wait_for_a_rank_that_never_comes(struct ranks_place place)
{
    struct ranks ranks;
    struct error err;
    place.size = 3; /* the last rank never starts */
    if (place.rank == 1)
        place.port = "1"; /* nobody listens there */
    int result = ranks_init(&ranks, &place, fingerprint, GIVE_UP_MS, PATIENCE_MS, &err);
    const char *reason = place.rank == 0 ? "only 1 of 3 ranks came in time, without rank 1, rank 2"
                                         : "could not connect to rank 0";
    return result == -ETIMEDOUT && strstr(err.message, reason) ? 0 : 1;
}

static void the_wait_for_a_missing_rank_ends(void **state)
{
    (void)state;
    assert_ranks(wait_for_a_rank_that_never_comes, 2);
}

static int hang(struct ranks_place place)
{
    struct ranks ranks;
    struct error err;
    int timeout_ms = place.rank == 0 ? GIVE_UP_MS : PATIENCE_MS;
    if (ranks_init(&ranks, &place, fingerprint, PATIENCE_MS, timeout_ms, &err) < 0)
        return 1;
    float value = 1;
    if (place.rank == 0)
        return ranks_sum(&ranks, &value, 1, &err) == -ETIMEDOUT ? 0 : 2;
    /* This rank takes part in no sum, and waits until the other gives up. */
    struct pollfd wait = {.fd = ranks.sockets[0], .events = POLLIN};
    return poll(&wait, 1, PATIENCE_MS) == 1 ? 0 : 3;
}

static void a_rank_that_hangs_fails_the_sum(void **state)
{
    (void)state;
    assert_ranks(hang, 2);
}

/* What the ranks do: 'l' is late, 'w' waits until another rank is late, 's' waits in a sum. `next`
 * is the sum that the GPU of each rank has not reached. */
static const struct late_case {
    const char *ranks;
    uint64_t next[4];
    const char *message; /* begins so on all ranks; @ is the host */
} late_cases[] = {
    {"llll", {5, 5, 3, 5}, "the GPU of rank 2 (@) is behind the others: sum 3 was not"},
    {"llll", {3, 5, 5, 5}, "the GPU of rank 0 (@) is behind the others: sum 3 was not"},
    {"llll", {1, 5, 1, 5}, "the GPUs of rank 0 (@), rank 2 (@) are behind the others: sum 1"},
    {"llll", {4, 4, 4, 4}, "no GPU is behind the others: sum 4 was not reached in time"},
    {"llll", {0, 0, 0, 0}, "own words"},
    {"wwlw", {7, 7, 6, 7}, "the GPU of rank 2 (@) is behind"},
    {"lwww", {7, 7, 6, 7}, "the GPU of rank 2 (@) is behind"},
    {"ssls", {0, 0, 8, 0}, "the GPU of rank 2 (@) is behind"},
    {"lsss", {8, 0, 0, 0}, "the GPU of rank 0 (@) is behind"},
    {"lsws", {8, 0, 9, 0}, "the GPU of rank 0 (@) is behind"},
    {"swls", {0, 8, 9, 0}, "the GPU of rank 1 (@) is behind"},
};
static const struct late_case *late_case;

/* Whether `message` begins with `wanted`. */
static bool begins(const char *message, const char *wanted)
{
    char host[64] = "";
    (void)gethostname(host, sizeof host - 1); /* the product does the same */
    for (; *wanted; wanted++) {
        size_t size = *wanted == '@' ? strlen(host) : 1;
        if (strncmp(message, *wanted == '@' ? host : wanted, size) != 0)
            return false;
        message += size;
    }
    return true;
}

static int be_late(struct ranks_place place)
{
    struct ranks ranks;
    struct error err;
    float value = 1;
    int64_t deadline_ms = clock_steady_ms() + PATIENCE_MS;
    char role = late_case->ranks[place.rank];
    if (ranks_init(&ranks, &place, fingerprint, PATIENCE_MS, PATIENCE_MS, &err) < 0 ||
        ranks_sum(&ranks, &value, 1, &err) < 0)
        return 1;
    while (role == 'w' && ranks_look(&ranks, &err) != RANKS_LATE)
        if (clock_steady_ms() > deadline_ms || poll(NULL, 0, 1) < 0)
            return 2;
    (void)error_set(&err, -ETIMEDOUT, "own words");
    int result = role == 's' ? ranks_sum(&ranks, &value, 1, &err)
                             : ranks_compare(&ranks, late_case->next[place.rank], &err);
    ranks_fini(&ranks);
    return result == -ETIMEDOUT && begins(err.message, late_case->message) ? 0 : 3;
}

static void all_ranks_name_the_GPU_that_is_behind(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof late_cases / sizeof *late_cases; i++) {
        late_case = &late_cases[i];
        assert_ranks(be_late, 4);
    }
}

static int meet_a_stranger(struct ranks_place place)
{
    if (place.rank == 1) {
        struct error err;
        int fd = wire_connect(place.address, place.port, clock_steady_ms() + PATIENCE_MS, &err);
        static const char request[] = "GET / HTTP/1.1\r\nHost: rank-zero.example.com\r\n\r\n";
        if (fd < 0 || send(fd, request, sizeof request, MSG_NOSIGNAL) < 0)
            return 1;
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (poll(&wait, 1, PATIENCE_MS) != 1) /* rank 0 has disconnected it */
            return 2;
        (void)close(fd); /* nothing more is needed from it */
    }
    return sum_in_tree(place);
}

static void a_stranger_is_disconnected_and_not_counted(void **state)
{
    (void)state;
    assert_ranks(meet_a_stranger, 2);
}

/* With TCP_USER_TIMEOUT the kernel would end the connection to a rank that evaluates meanwhile. */
static int look_for_a_user_timeout(struct ranks_place place)
{
    if (place.rank == 1) {
        struct error err;
        unsigned timeout_ms = 1;
        socklen_t size = sizeof timeout_ms;
        int fd = wire_connect(place.address, place.port, clock_steady_ms() + PATIENCE_MS, &err);
        if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, &size) < 0)
            return 1;
        (void)close(fd); /* nothing was sent */
        if (timeout_ms != 0)
            return 2;
    }
    return sum_in_tree(place);
}

static void connections_have_no_user_timeout(void **state)
{
    (void)state;
    assert_ranks(look_for_a_user_timeout, 2);
}

static void the_message_about_a_wrong_environment_names_the_variable(void **state)
{
    (void)state;
    static const struct {
        const char *size, *rank, *address, *port;
        const char *reason; /* NULL: no error */
    } rows[] = {
        {NULL, NULL, NULL, NULL, NULL},
        {NULL, "7", "x", "y", NULL}, /* without WORLD_SIZE, the others belong to somebody else */
        {"1", "0", NULL, NULL, NULL},
        {"1", NULL, NULL, NULL, NULL}, /* `launch: node` with one GPU */
        {"1", "1", NULL, NULL, "RANK is '1'"},
        {"2", "1", "10.0.0.1", "29500", NULL},
        {"2", NULL, "10.0.0.1", "29500", "RANK is not set"},
        {"2", "2", "10.0.0.1", "29500", "RANK is '2'"},
        {"2", "-1", "10.0.0.1", "29500", "RANK is '-1'"},
        {"0", "0", "10.0.0.1", "29500", "WORLD_SIZE is '0'"},
        {"two", "0", "10.0.0.1", "29500", "WORLD_SIZE is 'two'"},
        {"2", "0", NULL, "29500", "MASTER_ADDR is not set"},
        {"2", "0", "10.0.0.1", NULL, "MASTER_PORT is not set"},
        {"2", "0", "10.0.0.1", "70000", "MASTER_PORT is '70000'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const pairs[][2] = {{"WORLD_SIZE", rows[i].size},
                                        {"RANK", rows[i].rank},
                                        {"MASTER_ADDR", rows[i].address},
                                        {"MASTER_PORT", rows[i].port}};
        for (size_t p = 0; p < 4; p++)
            assert_int_equal(
                pairs[p][1] ? setenv(pairs[p][0], pairs[p][1], 1) : unsetenv(pairs[p][0]), 0);
        struct ranks_place place;
        struct error err = {0};
        int result = ranks_place_from_environment(&place, &err);
        if (rows[i].reason ? result == 0 || !strstr(err.message, rows[i].reason) : result < 0)
            fail_msg("row %zu: %d '%s'", i, result, err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_gets_the_sum_in_a_tree_over_the_ranks),
        cmocka_unit_test(every_rank_gets_the_sum_of_its_part_and_then_the_parts_of_all),
        cmocka_unit_test(the_first_rank_gets_the_values_of_all),
        cmocka_unit_test(the_parts_of_the_ranks_lie_side_by_side),
        cmocka_unit_test(a_rank_that_ends_fails_the_others),
        cmocka_unit_test(a_look_finds_the_rank_that_is_gone),
        cmocka_unit_test(ranks_with_different_options_refuse_each_other),
        cmocka_unit_test(the_wait_for_a_missing_rank_ends),
        cmocka_unit_test(a_rank_that_hangs_fails_the_sum),
        cmocka_unit_test(all_ranks_name_the_GPU_that_is_behind),
        cmocka_unit_test(a_stranger_is_disconnected_and_not_counted),
        cmocka_unit_test(connections_have_no_user_timeout),
        cmocka_unit_test(the_message_about_a_wrong_environment_names_the_variable),
    };
    return cmocka_run_group_tests_name("model ranks", tests, NULL, NULL);
}
