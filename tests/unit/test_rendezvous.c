/* Where ranks meet: the place itself, and that an old place is never read. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/text.h"
#include "worker/node/rendezvous.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char folder[] = "/tmp/phased-test-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static void write_file(const char *name, const char *content)
{
    char *path = text_format("%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
    free(path);
}

static void remove_file(const char *name)
{
    char *path = text_format("%s/%s", folder, name);
    assert_int_equal(unlink(path), 0);
    free(path);
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void only_the_same_start_of_a_job_finds_its_place(void **state)
{
    (void)state;
    const struct rendezvous published = {.address = "10.1.2.3", .port = 40123};
    struct rendezvous found = {.port = 99};
    struct error err;
    assert_int_equal(rendezvous_publish(&published, folder, 1, NULL), 0);
    assert_int_equal(rendezvous_read(folder, 0, &found, &err), -ENOENT);
    assert_int_equal(rendezvous_read(folder, 2, &found, &err), -ENOENT);
    assert_int_equal(found.port, 99);
    assert_int_equal(rendezvous_read(folder, 1, &found, NULL), 0);
    assert_string_equal(found.address, "10.1.2.3");
    assert_int_equal(found.port, 40123);
    remove_file("rendezvous-1.json");
}

static void a_damaged_place_is_refused(void **state)
{
    (void)state;
    static const char *const contents[] = {
        "", "{}", "{\"address\": \"10.1.2.3\"}", "{\"address\": 1, \"port\": 1}", "[",
    };
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        struct rendezvous found = {.port = 99};
        struct error err;
        write_file("rendezvous-0.json", contents[i]);
        assert_int_equal(rendezvous_read(folder, 0, &found, &err), -EINVAL);
        assert_non_null(strstr(err.message, "rendezvous-0.json"));
        assert_int_equal(found.port, 99);
    }
    remove_file("rendezvous-0.json");
}

/* Whether another machine can reach this one. */
static bool has_network(void)
{
    struct ifaddrs *list = NULL;
    bool has = false;
    assert_int_equal(getifaddrs(&list), 0);
    for (struct ifaddrs *item = list; item; item = item->ifa_next)
        has |= item->ifa_addr && item->ifa_addr->sa_family == AF_INET &&
               (item->ifa_flags & IFF_UP) && !(item->ifa_flags & IFF_LOOPBACK);
    freeifaddrs(list);
    return has;
}

/* Whether the kernel gives this port to programs that ask for any port. */
static bool is_given_to_anyone(unsigned port)
{
    unsigned first = 0, last = 0;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%u %u", &first, &last), 2);
    assert_int_equal(fclose(file), 0);
    return first > 11000 && port >= first && port <= last;
}

static void only_a_single_node_meets_at_localhost(void **state)
{
    (void)state;
    struct rendezvous rendezvous;
    assert_int_equal(rendezvous_pick("localhost", 1, &rendezvous, NULL), 0);
    assert_string_equal(rendezvous.address, "127.0.0.1");
    assert_in_range(rendezvous.port, 1024, 65535);
    assert_false(is_given_to_anyone(rendezvous.port));
    /* A node may be localhost to itself, as many an /etc/hosts says, but not to other nodes. */
    assert_int_equal(rendezvous_pick("localhost", 2, &rendezvous, NULL), 0);
    assert_in_range(rendezvous.port, 1024, 65535);
    if (has_network())
        assert_true(strncmp(rendezvous.address, "127.", 4) != 0);
}

static void groups_of_a_node_get_ports_of_their_own(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    unsigned ports[COUNT];
    assert_int_equal(rendezvous_pick_local(ports, COUNT, NULL), 0);
    for (size_t i = 0; i < COUNT; i++) {
        assert_in_range(ports[i], 1024, 65535);
        assert_false(is_given_to_anyone(ports[i]));
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(ports[i], ports[j]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_same_start_of_a_job_finds_its_place),
        cmocka_unit_test(a_damaged_place_is_refused),
        cmocka_unit_test(only_a_single_node_meets_at_localhost),
        cmocka_unit_test(groups_of_a_node_get_ports_of_their_own),
    };
    return cmocka_run_group_tests_name("rendezvous", tests, make_folder, remove_folder);
}
