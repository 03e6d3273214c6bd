/* Requests to the daemon, and its errors as struct error. */
#include "cli/client.h"

#include "cli/cli.h"
#include "cli/daemon_job.h"
#include "cli/field.h"
#include "cli/filter.h"
#include "cli/phrases.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/http.h"
#include "lib/json.h"
#include "lib/mac.h"
#include "lib/protocol/daemon_file.h"
#include "lib/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLIENT_HAND_OVER_MS = 4000, /* for a job that takes over from the job before it */
    CLIENT_AGAIN_MS = 200,
    CLIENT_PING_MS = 10000, /* a daemon that works answers a ping at once */
};

static int client_open(struct cli *cli, struct error *err)
{
    char address[HOME_SOCKET_ADDRESS_SIZE];
    if (cli->client)
        return 0;
    int status = home_socket_address(&cli->home, address, err);
    if (status == 0)
        cli->client = http_client_new_unix("the daemon", address);
    return status;
}

/* The next request looks again where the daemon is. */
static void client_close(struct cli *cli)
{
    http_client_free(cli->client);
    cli->client = NULL;
    cli->is_remote = false;
}

/* Makes the client for the daemon that the file names: over TCP, with the key of the home. */
static int client_open_remote(struct cli *cli, const struct daemon_file *file, struct error *err)
{
    struct mac_secret key;
    int status = mac_secret_read(cli->home.key, &key, err);
    if (status == 0) {
        client_close(cli);
        cli->client = http_client_new_tcp("the daemon", file->host, file->port);
        http_client_encrypt(cli->client, &key);
        cli->is_remote = true;
    }
    return status;
}

/* Nothing was sent, because no daemon listens. */
static bool client_is_away(int status)
{
    return status == -ENOENT || status == -ECONNREFUSED;
}

/* Says why a daemon of this host took the request and did not answer. Returns -ETIMEDOUT. */
static int client_silent(const struct cli *cli, struct error *err)
{
    struct daemon_file file;
    char path[64], state = ' ';
    if (daemon_file_read(cli->home.daemon_file, &file, NULL) < 0)
        return -ETIMEDOUT; /* `err` says that the daemon could not be reached */
    long long pid = file.pid;
    daemon_file_fini(&file);
    (void)snprintf(path, sizeof path, "/proc/%lld/stat", pid); /* fits */
    FILE *stat = fopen(path, "re");
    if (stat) {
        if (fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
            state = ' '; /* the daemon has ended meanwhile */
        (void)fclose(stat);
    }
    if (state == 'T')
        return error_set(err, -ETIMEDOUT,
                         "phased (pid %lld) does not answer, because its process is stopped; "
                         "'kill -CONT %lld' lets it go on",
                         pid, pid);
    if (state == 'D')
        return error_set(err, -ETIMEDOUT,
                         "phased (pid %lld) does not answer, because it waits for the file system "
                         "of %s",
                         pid, cli->home.path);
    return error_set(err, -ETIMEDOUT, "phased (pid %lld) does not answer; its log is %s", pid,
                     cli->home.log);
}

static int client_request(struct cli *cli, const char *method, const char *path, const char *body,
                          struct http_reply *ret_reply, struct error *err)
{
    http_client_set_timeouts(cli->client, 0, cli->limit_ms);
    return http_request(cli->client, method, path, body, body ? strlen(body) : 0, ret_reply, err);
}

/* Sends the request to a daemon on another host. Returns -ENOENT if no daemon serves the home: a
 * daemon on any host holds the lock of the home. A daemon of this host that has just started may be
 * the one that the file names. It listens at its socket before it writes the file, so the socket is
 * asked again before TCP. */
static int client_send_remote(struct cli *cli, const char *method, const char *path,
                              const char *body, struct http_reply *ret_reply, struct error *err)
{
    struct daemon_file file;
    if (home_is_locked(&cli->home) == 0)
        return error_set(err, -ENOENT, "no process holds %s", cli->home.lock);
    int status = daemon_file_read(cli->home.daemon_file, &file, err);
    if (status < 0)
        return status;
    status = client_request(cli, method, path, body, ret_reply, err);
    if (client_is_away(status)) {
        status = client_open_remote(cli, &file, err);
        if (status == 0)
            status = client_request(cli, method, path, body, ret_reply, err);
    }
    daemon_file_fini(&file);
    return status;
}

/* Sends the request over the Unix socket, or over TCP if no daemon listens at the socket. */
static int client_send(struct cli *cli, const char *method, const char *path, const char *body,
                       struct http_reply *ret_reply, struct error *err)
{
    int status = client_open(cli, err);
    if (status < 0)
        return status;
    status = client_request(cli, method, path, body, ret_reply, err);
    if (!cli->is_remote && client_is_away(status))
        status = client_send_remote(cli, method, path, body, ret_reply, err);
    if (status == -ETIMEDOUT && !cli->is_remote)
        status = client_silent(cli, err);
    if (status < 0)
        client_close(cli);
    return status;
}

static int client_away(const struct cli *cli, struct error *err)
{
    if (daemon_job_is_wanted(cli))
        return error_set(err, -ECONNREFUSED,
                         "no daemon serves %s now; 'phasectl daemon status' says where its job is",
                         cli->home.path);
    if (home_is_locked(&cli->home) > 0)
        return error_set(err, -ENOTCONN,
                         "the daemon of %s is starting or ending, or does not answer on its host",
                         cli->home.path);
    return error_set(err, -ECONNREFUSED,
                     "no daemon is running for %s; start it with 'phasectl daemon start'",
                     cli->home.path);
}

/* Fills `err` from the daemon's `{"error": ...}` and returns its code. */
static int client_refused(int status, const json_t *reply, struct error *err)
{
    static const struct {
        const char *name;
        int code;
    } codes[] = {
        {"bad_request", -EINVAL}, {"bad_spec", -EINVAL},    {"not_found", -ENOENT},
        {"conflict", -EBUSY},     {"unavailable", -EAGAIN}, {"internal", -EPROTO},
    };
    const json_t *error = json_object_get(reply, "error");
    const char *name = field_text(error, "code"), *message = field_text(error, "message");
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (text_equal(codes[i].name, name))
            return error_set(err, codes[i].code, "%s", message);
    }
    return error_set(err, -EPROTO, "the daemon answered with HTTP status %d%s%s", status,
                     message[0] ? ": " : "", message);
}

static int client_ask(struct cli *cli, const char *method, const char *path, const char *body,
                      json_t **ret_json, json_t **ret_problems, struct error *err)
{
    struct http_reply reply = {0};
    json_t *json = NULL;
    int status;
    unsigned waited_ms = 0;
    while (status = client_send(cli, method, path, body, &reply, err),
           client_is_away(status) && waited_ms < CLIENT_HAND_OVER_MS && daemon_job_is_wanted(cli)) {
        cli_wait(CLIENT_AGAIN_MS);
        waited_ms += CLIENT_AGAIN_MS;
    }
    if (client_is_away(status))
        return client_away(cli, err);
    if (status < 0)
        return status;
    json = json_loadb(reply.body, reply.body_size, 0, NULL);
    if (reply.status < 200 || reply.status > 299) {
        status = client_refused(reply.status, json, err);
        json_t *problems = json_object_get(json_object_get(json, "error"), "problems");
        if (ret_problems && json_array_size(problems))
            *ret_problems = json_incref(problems);
    } else if (!json) {
        status = error_set(err, -EPROTO, "the daemon's answer to %s is not JSON", path);
    } else {
        status = 0;
        *ret_json = json_incref(json);
    }
    json_decref(json);
    http_reply_fini(&reply);
    return status;
}

int client_get(struct cli *cli, json_t **ret_json, struct error *err, const char *format, ...)
{
    struct text path = {0};
    va_list args;
    va_start(args, format);
    text_addv(&path, format, args);
    va_end(args);
    int status = client_ask(cli, "GET", text_string(&path), NULL, ret_json, NULL, err);
    text_fini(&path);
    return status;
}

int client_ping(struct cli *cli, json_t **ret_json, struct error *err)
{
    cli->limit_ms = CLIENT_PING_MS;
    int status = client_get(cli, ret_json, err, "/v1/ping");
    cli->limit_ms = 0;
    return status;
}

int client_post(struct cli *cli, const char *path, const json_t *body, json_t **ret_json,
                json_t **ret_problems, struct error *err)
{
    char *data = body ? json_text(body, JSON_COMPACT) : NULL;
    int status = client_ask(cli, "POST", path, data, ret_json, ret_problems, err);
    free(data);
    return status;
}

int client_delete(struct cli *cli, const char *path, json_t **ret_json, struct error *err)
{
    return client_ask(cli, "DELETE", path, NULL, ret_json, NULL, err);
}

int client_get_address(struct cli *cli, const struct address *address, json_t **ret_json,
                       struct error *err)
{
    return client_get_part(cli, address, "", ret_json, err);
}

int client_check_address(struct cli *cli, const struct address *address, struct error *err)
{
    json_t *json;
    int status = client_get_address(cli, address, &json, err);
    if (status == 0)
        json_decref(json);
    return status;
}

int client_get_part(struct cli *cli, const struct address *address, const char *part,
                    json_t **ret_json, struct error *err)
{
    char path[ADDRESS_PATH_SIZE];
    return client_get(cli, ret_json, err, "%s%s", address_path(address, path), part);
}

int client_get_part_of(struct cli *cli, const json_t *object, const char *part, json_t **ret_json,
                       struct error *err)
{
    struct address address;
    int status = address_parse(field_text(object, "address"), &address, err);
    return status < 0 ? status : client_get_part(cli, &address, part, ret_json, err);
}

/* Returns the newest run of a phase, or of all phases of a workflow. `json` is the phase or the
 * workflow. */
static const json_t *client_newest_run(const json_t *json)
{
    const json_t *phases = json_object_get(json, "phases"), *phase, *newest = NULL;
    size_t i;
    if (!phases)
        return json_object_get(json, "run");
    json_array_foreach(phases, i, phase)
    {
        const json_t *run = json_object_get(phase, "run");
        if (json_is_object(run) &&
            (!newest || field_integer(run, "run") > field_integer(newest, "run")))
            newest = run;
    }
    return newest;
}

int client_find_run(struct cli *cli, struct address *address, struct error *err)
{
    char text[ADDRESS_TEXT_SIZE];
    if (address_kind(address) == ADDRESS_RUN)
        return 0;
    json_t *json;
    int status = client_get_address(cli, address, &json, err);
    if (status < 0)
        return status;
    const json_t *run = client_newest_run(json);
    const char *best = field_text(json, "best");
    if (json_is_object(run))
        status = address_parse(field_text(run, "address"), address, err);
    else if (members_is_matrix(json) && best[0])
        status =
            error_set(err, -ENOENT, "a matrix has no runs of its own; its best member is %llu/%s",
                      (unsigned long long)address->workflow, best);
    else if (members_is_matrix(json))
        status = error_set(err, -ENOENT,
                           "a matrix has no runs of its own; ask for a member, such as %s.1",
                           address_text(address, text));
    else
        status =
            error_set(err, -ENOENT, "%s has no run yet: `phasectl why %s` says what it waits for",
                      address_text(address, text), text);
    json_decref(json);
    return status;
}

json_t *client_workdir(struct error *err)
{
    char *folder;
    if (file_find_current(&folder, err) < 0)
        return NULL;
    json_t *json = json_string(folder);
    if (!json)
        (void)error_set(err, -EINVAL, "the current folder is not UTF-8 text: %s", folder);
    free(folder);
    return json;
}

bool client_may_retry(int status)
{
    return status == -ECONNREFUSED || status == -ENOTCONN || status == -ETIMEDOUT ||
           status == -EHOSTUNREACH || status == -EIO || status == -EAGAIN;
}

void client_print_json(const json_t *json)
{
    filter_pass();
    /* 15 digits: 129.36, not 129.36000000000001. main() reports failures of standard output. */
    (void)json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    (void)putchar('\n');
}

int client_take_answer(const struct cli *cli, json_t *answer, struct text *text)
{
    if (cli->as_json)
        client_print_json(answer);
    cli_print(text);
    json_decref(answer);
    return CLI_OK;
}
