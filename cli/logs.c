/* phasectl logs: what the ranks printed. It asks the daemon where the files of the run are, and
 * reads them itself. `--follow` polls, because shared file systems send no notices. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/guard.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "cli/view.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LOGS_POLL_MS = 300,
    LOGS_POLLS_PER_QUESTION = 5, /* the daemon is asked every 1.5 s whether the run has ended */
    LOGS_CHUNK = 65536,
};

struct logs_file {
    long long rank;
    char *path;
    int fd; /* -1: not there yet */
};

struct logs {
    struct cli *cli;
    struct address address; /* as given */
    struct address run;     /* the run whose logs are printed now */
    long long rank;         /* negative: all ranks, with the rank before each line */
    struct logs_file *files;
    size_t file_count;
    long long open_rank; /* the rank whose line has not ended on the screen; -1: no rank */
};

static void logs_close(struct logs *logs)
{
    for (size_t i = 0; i < logs->file_count; i++) {
        if (logs->files[i].fd >= 0)
            (void)close(logs->files[i].fd); /* was only read */
        free(logs->files[i].path);
    }
    free(logs->files);
    logs->files = NULL;
    logs->file_count = 0;
}

static const struct logs_file *logs_find(const struct logs *logs, long long rank)
{
    for (size_t i = 0; i < logs->file_count; i++) {
        if (logs->files[i].rank == rank)
            return &logs->files[i];
    }
    return NULL;
}

/* Adds the files that have appeared since the last look. */
static int logs_look(struct logs *logs, struct error *err)
{
    char buffer[ADDRESS_PATH_SIZE];
    char *path = text_format("%s/logs", address_path(&logs->run, buffer));
    json_t *reply;
    const json_t *log;
    size_t i;
    int code = client_get(logs->cli, path, &reply, err);
    free(path);
    if (code < 0)
        return code;
    json_array_foreach(json_object_get(reply, "logs"), i, log)
    {
        long long rank = field_integer(log, "rank");
        if ((logs->rank >= 0 && rank != logs->rank) || logs_find(logs, rank))
            continue;
        logs->files = xrealloc(logs->files, (logs->file_count + 1) * sizeof logs->files[0]);
        logs->files[logs->file_count++] =
            (struct logs_file){.rank = rank, .path = xstrdup(field_text(log, "path")), .fd = -1};
    }
    json_decref(reply);
    return 0;
}

/* Prints what a rank wrote. If all ranks are printed, each line begins with its rank. */
static void logs_print(struct logs *logs, const struct logs_file *file, const char *data,
                       size_t size)
{
    if (logs->rank >= 0) {
        (void)fwrite(data, 1, size, stdout); /* main() reports failures of standard output */
        return;
    }
    while (size) {
        const char *end = memchr(data, '\n', size);
        size_t line = end ? (size_t)(end - data) + 1 : size;
        if (logs->open_rank >= 0 && logs->open_rank != file->rank)
            printf("\n");
        if (logs->open_rank != file->rank)
            printf("[%lld] ", file->rank);
        (void)fwrite(data, 1, line, stdout); /* as above */
        logs->open_rank = end ? -1 : file->rank;
        data += line;
        size -= line;
    }
}

static int logs_read(struct logs *logs, struct logs_file *file, struct error *err)
{
    char chunk[LOGS_CHUNK];
    ssize_t size;
    if (file->fd < 0)
        file->fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0 && errno == ENOENT)
        return 0;
    if (file->fd < 0) {
        int code = -errno;
        return error_set(err, code, "cannot open %s: %s", file->path, strerror(-code));
    }
    while ((size = read(file->fd, chunk, sizeof chunk)) > 0) {
        logs_print(logs, file, chunk, (size_t)size);
        if (ferror(stdout))
            return -EPIPE;
    }
    if (size < 0) {
        int code = -errno;
        return error_set(err, code, "could not read %s: %s", file->path, strerror(-code));
    }
    return 0;
}

static int logs_read_all(struct logs *logs, struct error *err)
{
    for (size_t i = 0; i < logs->file_count; i++) {
        int code = logs_read(logs, &logs->files[i], err);
        if (code < 0)
            return code;
    }
    return fflush(stdout) < 0 ? -EPIPE : 0;
}

static int logs_run_has_ended(struct logs *logs, struct error *err)
{
    json_t *run;
    int code = client_get_address(logs->cli, &logs->run, &run, err);
    if (code < 0)
        return code;
    bool ended = strcmp(field_text(run, "state"), "ended") == 0;
    json_decref(run);
    return ended;
}

/* Prints until the run has ended and all of its output is printed. */
static int logs_follow_run(struct logs *logs, struct error *err)
{
    for (unsigned poll = 0;; poll++) {
        int ended = 0, code = 0;
        if (poll % LOGS_POLLS_PER_QUESTION == 0) {
            ended = logs_run_has_ended(logs, err);
            code = ended < 0 ? ended : logs_look(logs, err);
        }
        if (code == 0)
            code = logs_read_all(logs, err);
        if (code < 0 || ended)
            return code;
        cli_wait(LOGS_POLL_MS);
    }
}

/* Waits for the run after `logs->run`. Returns 1 when `logs->run` is the next run. Returns 0 when
 * no run follows, because the phase or workflow has ended or is held. */
static int logs_next_run(struct logs *logs, struct error *err)
{
    for (;;) {
        struct address next = logs->address;
        char before[ADDRESS_TEXT_SIZE], after[ADDRESS_TEXT_SIZE];
        json_t *json;
        int code = client_get_address(logs->cli, &logs->address, &json, err);
        if (code < 0)
            return code;
        const char *state = field_text(json, "state");
        bool over = view_is_final(state) || strcmp(state, "held") == 0;
        json_decref(json);
        code = client_find_run(logs->cli, &next, err);
        if (code < 0)
            return code;
        if (strcmp(address_text(&logs->run, before), address_text(&next, after)) != 0) {
            logs->run = next;
            return 1;
        }
        if (over)
            return 0;
        cli_wait(LOGS_POLL_MS * LOGS_POLLS_PER_QUESTION);
    }
}

static int logs_follow(struct logs *logs, struct error *err)
{
    for (;;) {
        char text[ADDRESS_TEXT_SIZE];
        int code = logs_follow_run(logs, err);
        logs_close(logs);
        if (code < 0 || address_kind(&logs->address) == ADDRESS_RUN)
            return code;
        code = logs_next_run(logs, err);
        if (code <= 0)
            return code;
        (void)fprintf(stderr, "phasectl: now %s\n", address_text(&logs->run, text));
    }
}

static int logs_once(struct logs *logs, struct error *err)
{
    char text[ADDRESS_TEXT_SIZE];
    int code = logs_look(logs, err);
    if (code == 0 && logs->file_count == 0 && logs->rank > 0)
        code = error_set(err, -ENOENT, "%s has no log of rank %lld", address_text(&logs->run, text),
                         logs->rank);
    else if (code == 0 && logs->file_count == 0)
        code = error_set(err, -ENOENT, "%s has no logs yet", address_text(&logs->run, text));
    return code < 0 ? code : logs_read_all(logs, err);
}

/* Reads `0`, `1`, ... or `all`. Returns -1 for all, -2 for any other text. */
static long long logs_parse_rank(const char *text)
{
    char *end;
    errno = 0;
    if (strcmp(text, "all") == 0)
        return -1;
    long long rank = strtoll(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno ? rank : -2;
}

int logs_verb(struct cli *cli, char **words)
{
    bool follow = false;
    const char *rank = "0";
    const struct option_rule rules[] = {
        {"follow", 'f', NULL, "print new lines as they come, also of the next runs",
         .flag = &follow},
        {"rank", 0, "N", "print this rank (0), or `all`", .text = &rank},
        {0},
    };
    struct option_arguments arguments = {.min = 1, .max = 1};
    struct error err;
    int status;
    if (!options_parse(cli, words, rules, &arguments, &status))
        return status;
    struct logs logs = {.cli = cli, .rank = logs_parse_rank(rank), .open_rank = -1};
    if (logs.rank == -2)
        return cli_usage(cli, "--rank wants a number from 0, or all, not '%s'", rank);
    if (address_parse(arguments.items[0], &logs.address, &err) < 0)
        return cli_usage(cli, "%s", err.message);
    logs.run = logs.address;
    guard_pass();
    int code = client_find_run(cli, &logs.run, &err);
    if (code == 0)
        code = follow ? logs_follow(&logs, &err) : logs_once(&logs, &err);
    logs_close(&logs);
    if (logs.open_rank >= 0)
        printf("\n");
    if (code == -EPIPE)
        return CLI_FAILED; /* nobody reads any more */
    return code < 0 ? cli_fail(&err) : CLI_OK;
}
