/* Reserving a port of [::1]. */
#include "tests/unit/unit.h"

#include "lib/loopback.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static void a_reserved_port_is_not_given_twice(void **state)
{
    (void)state;
    struct sockaddr_in6 address;
    socklen_t size = sizeof address;
    int fd, other;
    assert_int_equal(loopback_reserve(0, &fd), 0); /* any port */
    if (fd < 0)
        skip(); /* this machine has no [::1] */
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(loopback_reserve(ntohs(address.sin6_port), &other), -EADDRINUSE);
    assert_int_equal(other, -1);
    close(fd);
}

/* Another program may have the port. */
static void a_failure_does_not_mean_that_there_is_no_such_address(void **state)
{
    (void)state;
    struct rlimit before, none;
    int fd;
    assert_int_equal(loopback_reserve(0, &fd), 0);
    if (fd < 0)
        skip();
    close(fd);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int status = loopback_reserve(0, &fd);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, -EMFILE);
    assert_int_equal(fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reserved_port_is_not_given_twice),
        cmocka_unit_test(a_failure_does_not_mean_that_there_is_no_such_address),
    };
    return cmocka_run_group_tests_name("loopback", tests, NULL, NULL);
}
