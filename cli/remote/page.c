/* A session keeps the shared connection until this program ends. Without the session, the
 * connection would end after a while, because nobody uses it. */
#include "cli/remote/page.h"

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/open.h"
#include "cli/remote/command.h"
#include "cli/remote/connection.h"
#include "cli/remote/session.h"
#include "lib/command.h"
#include "lib/error.h"
#include "lib/loopback.h"
#include "lib/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAGE_ANSWER_S = 60, PAGE_RETRY_MS = 5000 };

/* Asks the host for the address of the page. */
static int page_ask(const struct connection *connection, const char *script, json_t **ret_page,
                    struct error *err)
{
    char *words[] = {(char[]){"open"}, (char[]){"--json"}, NULL};
    char *remote = remote_command(script, words);
    char *command = connection_command(connection, "-T", remote);
    const char *const shell[] = {"sh", "-c", command, NULL};
    struct command_result result;
    int status = command_run(shell, NULL, PAGE_ANSWER_S, &result, err);
    free(command);
    free(remote);
    if (status < 0)
        return status;
    *ret_page = json_loadb(text_string(&result.out), result.out.size, 0, NULL);
    if (result.exit_code != 0 || field_integer(*ret_page, "port") == 0) {
        char *said = command_complaint(&result);
        const char *own = text_starts(said, "phasectl: ") ? said + strlen("phasectl: ") : said;
        status = error_set(err, -EIO, "%s: %s", connection->login, *own ? own : "no answer");
        free(said);
        json_decref(*ret_page);
    }
    command_fini(&result);
    return status;
}

/* Returns a port of this machine's loopback that nobody uses now; 0: there is no such port. */
static int page_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = 0;
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &size) == 0)
        port = ntohs(address.sin_port);
    if (fd >= 0)
        (void)close(fd);
    return port;
}

/* Forwards this port to the host, and reserves it on [::1] until this program ends. */
static int page_forward_from(const struct connection *connection, int port, int host_port,
                             struct error *err)
{
    int reserved_fd;
    int status = loopback_reserve((unsigned)port, &reserved_fd);
    if (status == -EADDRINUSE)
        return error_set(err, status, "another program has port %d of [::1]", port);
    if (status < 0)
        return error_set(err, status, "cannot reserve port %d of [::1]: %s", port,
                         strerror(-status));
    status = connection_forward(connection, port, host_port, err);
    if (status < 0 && reserved_fd >= 0)
        (void)close(reserved_fd); /* it was never connected */
    return status;
}

/* Forwards the page. The port here is the port on the host, so that the address is the same, or
 * another port if this port is in use here. `*port` is 0, or the port of an earlier forward. */
static int page_forward(const struct connection *connection, int *port, int host_port,
                        struct error *err)
{
    if (*port)
        return connection_forward(connection, *port, host_port, err);
    *port = host_port;
    int status = page_forward_from(connection, *port, host_port, err);
    if (status < 0 && (*port = page_free_port()) != 0)
        status = page_forward_from(connection, *port, host_port, err);
    return status;
}

/* Prints the address with our port in place of the host's. */
static void page_show(struct cli *cli, json_t *page, int port, const char *login)
{
    const char *url = field_text(page, "url"), *host = strstr(url, "//");
    host = host ? host + strlen("//") : "";
    const char *path = strchr(host, '/');
    char *own =
        text_format("http://%.*s:%d%s", (int)strcspn(host, ":/"), host, port, path ? path : "/");
    (void)json_object_set_new(page, "url", json_string(own));
    (void)json_object_set_new(page, "port", json_integer(port));
    if (cli->as_json) {
        client_print_json(page);
    } else {
        printf("%s\n\nWhoever has this address can do what you can on %s. Ctrl-C ends this.\n", own,
               login);
        open_browser(cli, own);
    }
    (void)fflush(stdout); /* main() reports failures of standard output */
    free(own);
}

/* Keeps the forwarded port until Ctrl-C. Returns CLI_OK then. */
static int page_keep(struct connection *connection, int port, int host_port)
{
    struct error err;
    bool is_told = false;
    for (;;) {
        int exit_code =
            session_run(connection, "exec sleep infinity\n", NULL, SESSION_NOTHING, &err);
        if (exit_code >= 0) { /* the script itself never ends */
            connection_unforward(connection, port, host_port);
            if (exit_code == 128 + SIGINT)
                return CLI_OK;
            (void)error_set(&err, -EIO, "the process that held the connection has ended on %s",
                            connection->login);
            return cli_fail(&err);
        }
        if (!is_told)
            (void)fprintf(stderr, "phasectl: the connection to %s was lost; connecting again\n",
                          connection->login);
        is_told = true;
        const char *login = connection->login;
        connection_fini(connection);
        if (connection_open(connection, login, &err) < 0 ||
            page_forward(connection, &port, host_port, &err) < 0)
            cli_wait(PAGE_RETRY_MS);
        else
            is_told = false;
    }
}

int page_keep_open(struct cli *cli, struct connection *connection, const char *script)
{
    struct error err;
    json_t *page = NULL;
    int port = 0;
    if (page_ask(connection, script, &page, &err) < 0)
        return cli_fail(&err);
    int host_port = (int)field_integer(page, "port");
    int exit_code = CLI_OK;
    if (page_forward(connection, &port, host_port, &err) < 0) {
        exit_code = cli_fail(&err);
    } else {
        page_show(cli, page, port, connection->login);
        exit_code = page_keep(connection, port, host_port);
    }
    json_decref(page);
    return exit_code;
}
