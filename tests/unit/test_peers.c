/* The limits for strangers: their number for one address and in all, and their bodies. */
#include "tests/unit/unit.h"

#include "daemon/api/peers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* A connection: the daemon has fds[0], the client fds[1]. */
struct client {
    struct peer *peer;
    int fds[2];
};

static void client_connect(struct client *client, struct peers *peers, uint32_t host)
{
    const struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(host)};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, client->fds), 0);
    client->peer = peer_new(peers, client->fds[0], (const struct sockaddr *)&address, 0);
}

static void client_end(struct client *client)
{
    peer_free(client->peer);
    close(client->fds[0]);
    close(client->fds[1]);
}

/* The client sees the end of its connection exactly if the peer is dropped. */
static bool client_is_dropped(const struct client *client)
{
    char byte;
    bool is_at_end = recv(client->fds[1], &byte, 1, MSG_DONTWAIT) == 0;
    assert_int_equal(client->peer->is_dropped, is_at_end);
    return is_at_end;
}

enum { HERE = 0x7f000001, THERE = 0x7f000002 };

static void an_address_with_its_share_loses_its_oldest_connection(void **state)
{
    (void)state;
    enum { MAX = 8, PART = 4, MORE = 3 };
    struct peers peers = {.strangers_max = MAX};
    struct client other, clients[PART + MORE];
    client_connect(&other, &peers, THERE); /* the oldest connection of all */
    for (int i = 0; i < PART; i++)
        client_connect(&clients[i], &peers, HERE);
    for (int i = 0; i < PART; i++)
        assert_false(client_is_dropped(&clients[i]));
    assert_int_equal(peers.stranger_count, PART + 1);
    for (int i = 0; i < MORE; i++) {
        client_connect(&clients[PART + i], &peers, HERE);
        for (int j = 0; j <= PART + i; j++)
            assert_int_equal(client_is_dropped(&clients[j]), j <= i);
        assert_false(client_is_dropped(&other));
        assert_int_equal(peers.stranger_count, PART + 1);
    }
    for (int i = 0; i < PART + MORE; i++)
        client_end(&clients[i]);
    client_end(&other);
    assert_int_equal(peers.stranger_count, 0);
    assert_null(peers.first);
    assert_null(peers.last);
}

static void many_addresses_lose_the_oldest_connection_of_all(void **state)
{
    (void)state;
    enum { MAX = 8 };
    struct peers peers = {.strangers_max = MAX};
    struct client clients[MAX + 1];
    for (int i = 0; i < MAX; i++)
        client_connect(&clients[i], &peers, HERE + (uint32_t)i);
    assert_false(client_is_dropped(&clients[0]));
    client_connect(&clients[MAX], &peers, HERE + MAX);
    for (int i = 0; i <= MAX; i++)
        assert_int_equal(client_is_dropped(&clients[i]), i == 0);
    assert_int_equal(peers.stranger_count, MAX);
    for (int i = 0; i <= MAX; i++)
        client_end(&clients[i]);
    assert_int_equal(peers.stranger_count, 0);
}

static void an_authenticated_peer_needs_no_place(void **state)
{
    (void)state;
    enum { MAX = 2 };
    struct peers peers = {.strangers_max = MAX};
    struct client proven, clients[MAX];
    client_connect(&proven, &peers, HERE);
    peer_prove(proven.peer);
    client_connect(&clients[0], &peers, HERE);
    assert_false(client_is_dropped(&clients[0]));
    client_connect(&clients[1], &peers, HERE);
    assert_true(client_is_dropped(&clients[0]));
    assert_false(client_is_dropped(&proven));
    for (int i = 0; i < MAX; i++)
        client_end(&clients[i]);
    client_end(&proven);
    assert_int_equal(peers.stranger_count, 0);
}

/* --- Bodies ----------------------------------------------------------------------------------- */

enum { PIECES = 16, PIECE = PEERS_BODIES_MAX / PIECES };

static void bodies_beyond_the_budget_drop_the_oldest_connection_with_a_body(void **state)
{
    (void)state;
    _Static_assert(PIECE * PIECES == PEERS_BODIES_MAX, "the pieces fill the budget");
    struct peers peers = {.strangers_max = PEERS_STRANGERS_MAX};
    struct client idle, clients[PIECES];
    char *piece = calloc(1, PIECE);
    assert_non_null(piece);
    client_connect(&idle, &peers, HERE); /* the oldest connection of all, without a body */
    for (int i = 0; i < PIECES; i++) {
        client_connect(&clients[i], &peers, HERE);
        assert_true(peer_add(clients[i].peer, piece, PIECE));
    }
    assert_int_equal(peers.body_bytes, PEERS_BODIES_MAX);
    for (int i = 0; i < PIECES; i++)
        assert_false(client_is_dropped(&clients[i]));
    assert_true(peer_add(clients[PIECES - 1].peer, piece, 1));
    assert_int_equal(peers.body_bytes, PEERS_BODIES_MAX - PIECE + 1);
    for (int i = 0; i < PIECES; i++)
        assert_int_equal(client_is_dropped(&clients[i]), i == 0);
    assert_false(client_is_dropped(&idle));
    assert_false(peer_add(clients[0].peer, piece, 1));
    assert_int_equal(clients[0].peer->body.size, 0);
    peer_clear(clients[1].peer);
    assert_int_equal(peers.body_bytes, PEERS_BODIES_MAX - 2 * PIECE + 1);
    for (int i = 0; i < PIECES; i++)
        client_end(&clients[i]);
    client_end(&idle);
    assert_int_equal(peers.body_bytes, 0);
    free(piece);
}

static void a_peer_whose_body_alone_is_beyond_the_budget_is_dropped(void **state)
{
    (void)state;
    struct peers peers = {.strangers_max = PEERS_STRANGERS_MAX};
    struct client client;
    char *body = calloc(1, PEERS_BODIES_MAX);
    assert_non_null(body);
    client_connect(&client, &peers, HERE);
    assert_true(peer_add(client.peer, body, PEERS_BODIES_MAX));
    assert_false(peer_add(client.peer, body, 1));
    assert_true(client_is_dropped(&client));
    assert_int_equal(peers.body_bytes, 0);
    client_end(&client);
    assert_int_equal(peers.body_bytes, 0);
    free(body);
}

static void the_body_of_an_authenticated_peer_does_not_count(void **state)
{
    (void)state;
    struct peers peers = {.strangers_max = PEERS_STRANGERS_MAX};
    struct client client;
    client_connect(&client, &peers, HERE);
    assert_true(peer_add(client.peer, "abc", 3));
    assert_int_equal(peers.body_bytes, 3);
    peer_prove(client.peer);
    assert_int_equal(peers.body_bytes, 0);
    assert_true(peer_add(client.peer, "def", 3));
    assert_int_equal(peers.body_bytes, 0);
    peer_clear(client.peer);
    assert_int_equal(peers.body_bytes, 0);
    client_end(&client);
    assert_int_equal(peers.body_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_with_its_share_loses_its_oldest_connection),
        cmocka_unit_test(many_addresses_lose_the_oldest_connection_of_all),
        cmocka_unit_test(an_authenticated_peer_needs_no_place),
        cmocka_unit_test(bodies_beyond_the_budget_drop_the_oldest_connection_with_a_body),
        cmocka_unit_test(a_peer_whose_body_alone_is_beyond_the_budget_is_dropped),
        cmocka_unit_test(the_body_of_an_authenticated_peer_does_not_count),
    };
    return cmocka_run_group_tests_name("peers", tests, NULL, NULL);
}
