/* What systemd hears of the daemon, on a real datagram socket. */
#include "tests/unit/unit.h"

#include "daemon/service.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Makes the socket, sets NOTIFY_SOCKET to its name, and returns its descriptor. `name` begins with
 * '@' if the socket is abstract. */
static int listen_at(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, size), 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
    return fd;
}

static void assert_heard(int fd, const char *expected)
{
    char text[512];
    ssize_t size = recv(fd, text, sizeof text - 1, 0);
    assert_true(size >= 0);
    text[size] = '\0';
    assert_string_equal(text, expected);
}

static void each_message_is_one_datagram(void **state)
{
    (void)state;
    char folder[] = "/tmp/phased-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *path = text_format("%s/notify", folder);
    int fd = listen_at(path);
    struct service service;
    service_init(&service);
    service_tell(&service, "READY=1\nWATCHDOG=1", "serves");
    service_tell(&service, "", "beginning anew");
    assert_heard(fd, "READY=1\nWATCHDOG=1\nSTATUS=serves");
    assert_heard(fd, "STATUS=beginning anew");
    service_fini(&service);
    close(fd);
    unlink(path);
    rmdir(folder);
    free(path);
}

static void an_abstract_socket_is_reached(void **state)
{
    (void)state;
    char *name = text_format("@phased-test-%d", (int)getpid());
    int fd = listen_at(name);
    struct service service;
    service_init(&service);
    service_tell(&service, "STOPPING=1", "stopping");
    assert_heard(fd, "STOPPING=1\nSTATUS=stopping");
    service_fini(&service);
    close(fd);
    free(name);
}

static void a_status_of_several_lines_cannot_add_a_message(void **state)
{
    (void)state;
    char *name = text_format("@phased-test-%d", (int)getpid());
    int fd = listen_at(name);
    struct service service;
    service_init(&service);
    service_tell(&service, "WATCHDOG=1", "Slurm says: no\nSTOPPING=1");
    assert_heard(fd, "WATCHDOG=1\nSTATUS=Slurm says: no STOPPING=1");
    service_fini(&service);
    close(fd);
    free(name);
}

static void a_full_socket_does_not_stop_the_daemon(void **state)
{
    (void)state;
    char *name = text_format("@phased-test-%d", (int)getpid());
    int fd = listen_at(name);
    struct service service;
    service_init(&service);
    for (int i = 0; i < 100000; i++) /* more than any socket holds */
        service_tell(&service, "", "again");
    assert_heard(fd, "STATUS=again");
    service_fini(&service);
    close(fd);
    free(name);
}

static void without_a_socket_nothing_is_told(void **state)
{
    (void)state;
    struct service service;
    const char *names[] = {"", "@", "/nowhere/notify", "relative", "vsock:2:1234", NULL};
    unsetenv("NOTIFY_SOCKET");
    service_init(&service);
    assert_int_equal(service_every_ms(&service), 0);
    service_tell(&service, "READY=1", "serves");
    service_fini(&service);
    for (size_t i = 0; names[i]; i++) {
        setenv("NOTIFY_SOCKET", names[i], 1);
        service_init(&service);
        service_tell(&service, "READY=1", "serves");
        service_fini(&service);
    }
    char *longer = text_format("@%0*d", (int)sizeof(struct sockaddr_un), 0);
    setenv("NOTIFY_SOCKET", longer, 1);
    service_init(&service);
    service_tell(&service, "READY=1", "serves");
    service_fini(&service);
    free(longer);
}

/* How often the service tells something, with these variables. */
static uint64_t every_ms(const char *watchdog_us, int pid)
{
    char number[16];
    struct service service;
    (void)snprintf(number, sizeof number, "%d", pid);
    setenv("NOTIFY_SOCKET", "@nobody", 1);
    setenv("WATCHDOG_USEC", watchdog_us, 1);
    setenv("WATCHDOG_PID", number, 1);
    service_init(&service);
    uint64_t result = service_every_ms(&service);
    service_fini(&service);
    return result;
}

static void the_watchdog_hears_the_daemon_twice_in_its_time(void **state)
{
    (void)state;
    assert_int_equal(every_ms("20000000", getpid()), 10000);
    assert_int_equal(every_ms("3000000", getpid()), 1500);
    assert_int_equal(every_ms("1", getpid()), 1);
    assert_int_equal(every_ms("600000000", getpid()), 30000); /* the status is not older */
    assert_int_equal(every_ms("elephant", getpid()), 30000);
    assert_int_equal(every_ms("3000000", getpid() + 1), 30000); /* another process is watched */
}

static void assert_patience(const char *watchdog_us, bool is_patient, const char *expected)
{
    char *name = text_format("@phased-test-%d", (int)getpid());
    int fd = listen_at(name);
    struct service service;
    setenv("WATCHDOG_USEC", watchdog_us, 1);
    unsetenv("WATCHDOG_PID");
    service_init(&service);
    service_be_patient(&service, is_patient, "x");
    service_tell(&service, "", "the end");
    if (*expected)
        assert_heard(fd, expected);
    assert_heard(fd, "STATUS=the end");
    service_fini(&service);
    close(fd);
    free(name);
}

static void the_watchdog_has_patience_while_a_daemon_begins_anew(void **state)
{
    (void)state;
    assert_patience("120000000", true, "WATCHDOG_USEC=600000000\nSTATUS=x");
    assert_patience("120000000", false, "WATCHDOG_USEC=120000000\nSTATUS=x");
    assert_patience("900000000", true, "WATCHDOG_USEC=900000000\nSTATUS=x");
    assert_patience("elephant", true, "");
}

static void only_the_process_that_begins_anew_sees_the_variables(void **state)
{
    (void)state;
    struct service service;
    char *pid = text_format("%d", (int)getpid());
    setenv("NOTIFY_SOCKET", "@nobody", 1);
    setenv("WATCHDOG_USEC", "20000000", 1);
    setenv("WATCHDOG_PID", pid, 1);
    service_init(&service);
    assert_null(getenv("NOTIFY_SOCKET"));
    assert_null(getenv("WATCHDOG_USEC"));
    assert_null(getenv("WATCHDOG_PID"));
    service_hand_on(&service);
    service_fini(&service);
    service_init(&service);
    assert_string_equal(service.socket, "@nobody");
    assert_int_equal(service_every_ms(&service), 10000);
    service_fini(&service);
    free(pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_message_is_one_datagram),
        cmocka_unit_test(an_abstract_socket_is_reached),
        cmocka_unit_test(a_status_of_several_lines_cannot_add_a_message),
        cmocka_unit_test(a_full_socket_does_not_stop_the_daemon),
        cmocka_unit_test(without_a_socket_nothing_is_told),
        cmocka_unit_test(the_watchdog_hears_the_daemon_twice_in_its_time),
        cmocka_unit_test(the_watchdog_has_patience_while_a_daemon_begins_anew),
        cmocka_unit_test(only_the_process_that_begins_anew_sees_the_variables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
