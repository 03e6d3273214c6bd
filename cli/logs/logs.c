/* phasectl logs: what the ranks printed. The files are read here; the daemon only says which run is
 * the newest, and whether it has ended. `--follow` polls, because shared file systems send no
 * notices. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/filter.h"
#include "cli/logs/lines.h"
#include "cli/logs/stream.h"
#include "cli/options.h"
#include "cli/reader/folder.h"
#include "cli/reader/reader.h"
#include "cli/verbs.h"
#include "cli/view.h"
#include "lib/address.h"
#include "lib/clock.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    LOGS_POLL_MS = 300,
    LOGS_POLLS_PER_QUESTION = 5, /* the daemon is asked every 1.5 s whether the run has ended */
    LOGS_AWAY_MAX_S = 120,       /* a daemon that restarts is back long before */
    LOGS_CHUNK = 65536,
    LOGS_TAIL_MAX = 1000000,
    LOGS_ALL = UINT_MAX, /* --tail is not given */
};

enum logs_state { LOGS_READS, LOGS_WAITS, LOGS_OVER };

/* An address, and its run whose logs are printed now. */
struct logs_target {
    struct address address; /* as given */
    struct address run;
    enum logs_state state; /* waiting means: for the next run */
    double away_since_s;   /* of clock_steady_s(); 0: the daemon answers */
    unsigned tail;         /* only the last lines of what is there; LOGS_ALL: everything */
    struct stream *streams;
    size_t stream_count;
};

struct logs {
    struct cli *cli;
    long long rank; /* negative: all ranks, with the rank before each line */
    unsigned tail;
    struct lines_filter filter;
    bool follows, without_time;
    struct logs_target targets[OPTION_ARGUMENTS_MAX];
    size_t target_count;
};

static void logs_close(struct logs_target *target)
{
    for (size_t i = 0; i < target->stream_count; i++)
        stream_fini(&target->streams[i]);
    free(target->streams);
    target->streams = NULL;
    target->stream_count = 0;
}

/* --- Printing --------------------------------------------------------------------------------- */

/* Prints the line as an object. Bytes that are not UTF-8 are made visible. */
static void logs_print_json(const char *run, long long rank, const char *line, size_t size)
{
    size_t time_size = clock_stamp_size(line, size);
    double time_s = clock_stamp_s(line, size);
    json_t *text = json_stringn(line + time_size, size - time_size);
    if (!text) {
        struct text visible = {0};
        text_add_visible(&visible, line + time_size, size - time_size, "\t\x1b");
        text = json_string(text_string(&visible));
        text_fini(&visible);
    }
    json_t *json = json_pack("{s:s, s:I, s:o, s:o}", "run", run, "rank", (json_int_t)rank, "time",
                             isnan(time_s) ? json_null() : json_real(time_s), "line", text);
    (void)json_dumpf(json, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15)); /* as logs_print() */
    (void)putchar('\n');
    json_decref(json);
}

/* Prints a line if it is wanted. The line comes without its end. main() reports failures of
 * standard output. */
static void logs_print(const struct logs *logs, const struct logs_target *target, long long rank,
                       const char *line, size_t size)
{
    char run[ADDRESS_TEXT_SIZE];
    if (!lines_pass(&logs->filter, line, size))
        return;
    (void)address_text(&target->run, run);
    if (logs->cli->as_json) {
        logs_print_json(run, rank, line, size);
        return;
    }
    size_t skipped = logs->without_time ? clock_stamp_size(line, size) : 0;
    bool names_run = logs->cli->has_several && logs->follows;
    if (names_run && logs->rank < 0)
        printf("[%s %lld] ", run, rank);
    else if (names_run)
        printf("[%s] ", run);
    else if (logs->rank < 0)
        printf("[%lld] ", rank);
    (void)fwrite(line + skipped, 1, size - skipped, stdout);
    (void)putchar('\n');
}

/* Prints the whole lines among the new bytes, and keeps the rest. */
static void logs_feed(const struct logs *logs, const struct logs_target *target,
                      struct stream *stream, const char *data, size_t size)
{
    const char *end;
    while ((end = memchr(data, '\n', size))) {
        size_t part = (size_t)(end - data);
        if (stream->rest.size) {
            text_add_bytes(&stream->rest, data, part);
            logs_print(logs, target, stream->rank, stream->rest.data, stream->rest.size);
            text_clear(&stream->rest);
        } else {
            logs_print(logs, target, stream->rank, data, part);
        }
        data += part + 1;
        size -= part + 1;
    }
    text_add_bytes(&stream->rest, data, size);
}

/* Says once that a long log may have lost its middle. After only two renames, no line is lost
 * yet. */
static void logs_note_gap(const struct logs *logs, const struct logs_target *target,
                          struct stream *stream)
{
    char run[ADDRESS_TEXT_SIZE];
    if (stream->has_gap && !logs->filter.since[0])
        (void)fprintf(stderr,
                      "phasectl: %s: the log of rank %lld is long: lines between its beginning "
                      "and its newest part may be missing\n",
                      address_text(&target->run, run), stream->rank);
    stream->has_gap = false;
}

/* --- Reading ---------------------------------------------------------------------------------- */

static bool logs_has_rank(const struct logs_target *target, long long rank)
{
    for (size_t i = 0; i < target->stream_count; i++) {
        if (target->streams[i].rank == rank)
            return true;
    }
    return false;
}

/* Adds the logs that have appeared since the last look. */
static void logs_look(const struct logs *logs, struct logs_target *target)
{
    char *folder = folder_path(logs->cli->home.runs, &target->run, "log");
    long long *ranks;
    int count = log_files_ranks(folder, &ranks);
    for (int i = 0; i < count; i++) {
        if ((logs->rank >= 0 && ranks[i] != logs->rank) || logs_has_rank(target, ranks[i]))
            continue;
        target->streams =
            xreallocarray(target->streams, target->stream_count + 1, sizeof target->streams[0]);
        stream_init(&target->streams[target->stream_count++], folder, ranks[i]);
    }
    free(ranks);
    free(folder);
}

static int logs_read(const struct logs *logs, struct logs_target *target, struct stream *stream,
                     struct error *err)
{
    char chunk[LOGS_CHUNK];
    ssize_t size = 0;
    if (stream->fd < 0 && target->tail != LOGS_ALL)
        size = stream_seek_last(stream, &logs->filter, target->tail, err);
    if (size < 0)
        return (int)size;
    while ((size = stream_read(stream, chunk, sizeof chunk, err)) > 0) {
        logs_note_gap(logs, target, stream);
        logs_feed(logs, target, stream, chunk, (size_t)size);
        if (ferror(stdout))
            return -EPIPE;
    }
    return (int)size;
}

/* Prints all that is there now. `is_all`: nothing more will come, so lines without an end count. */
static int logs_read_all(const struct logs *logs, struct logs_target *target, bool is_all,
                         struct error *err)
{
    for (size_t i = 0; i < target->stream_count; i++) {
        struct stream *stream = &target->streams[i];
        int status = logs_read(logs, target, stream, err);
        if (status < 0)
            return status;
        if (is_all && stream->rest.size)
            logs_print(logs, target, stream->rank, stream->rest.data, stream->rest.size);
        if (is_all)
            text_clear(&stream->rest);
    }
    return fflush(stdout) < 0 ? -EPIPE : 0;
}

static bool logs_has_any(const struct logs *logs, const struct address *run)
{
    char *folder = folder_path(logs->cli->home.runs, run, "log");
    long long *ranks;
    int count = log_files_ranks(folder, &ranks);
    free(ranks);
    free(folder);
    return count > 0;
}

/* After a preemption, the newest run waits in the queue and has no logs yet. If the user named no
 * run, takes the newest run with logs. */
static void logs_take_earlier(const struct logs *logs, struct logs_target *target)
{
    struct address run = target->run;
    if (address_kind(&target->address) == ADDRESS_RUN)
        return;
    while (run.attempt > 0 && !logs_has_any(logs, &run))
        run.attempt--;
    if (run.attempt == 0)
        return;
    cli_note_earlier(&target->run, &run, "logs");
    target->run = run;
}

static int logs_once(const struct logs *logs, struct logs_target *target, struct error *err)
{
    char text[ADDRESS_TEXT_SIZE];
    logs_look(logs, target);
    (void)address_text(&target->run, text);
    if (target->stream_count == 0 && logs->rank > 0)
        return error_set(
            err, -ENOENT,
            "%s has no log of rank %lld: `phasectl logs %s --rank all` shows all ranks", text,
            logs->rank, text);
    if (target->stream_count == 0)
        return error_set(err, -ENOENT, "%s has no logs yet", text);
    if (logs->cli->has_several && !logs->cli->as_json)
        printf("==> %s <==\n", text);
    return logs_read_all(logs, target, true, err);
}

/* --- Following -------------------------------------------------------------------------------- */

/* `next` is the newest run. Several runs may have begun since the followed run: takes the first of
 * them, or the newest if no daemon can list them. */
static int logs_first_after(const struct logs *logs, const struct logs_target *target,
                            struct address *next, struct error *err)
{
    char before[ADDRESS_TEXT_SIZE];
    const json_t *run, *first = NULL;
    json_t *json;
    bool is_listed = false; /* not if too many runs have begun since */
    size_t i;
    if (address_kind(&target->address) == ADDRESS_PHASE) {
        next->attempt = target->run.attempt + 1;
        return 0;
    }
    int status = client_get(logs->cli, &json, err, "/v1/runs?workflow=%llu",
                            (unsigned long long)next->workflow);
    if (status < 0)
        return client_may_retry(status) ? 0 : status;
    (void)address_text(&target->run, before);
    json_array_foreach(json_object_get(json, "runs"), i, run) /* the newest first */
    {
        is_listed = text_equal(field_text(run, "address"), before);
        if (is_listed)
            break;
        first = run;
    }
    if (is_listed && first)
        status = address_parse(field_text(first, "address"), next, err);
    json_decref(json);
    return status;
}

/* Looks for the run after the one that has ended. No run follows if the phase or workflow has ended
 * or is held. */
static int logs_next_run(const struct logs *logs, struct logs_target *target, struct error *err)
{
    struct address next = target->address;
    char before[ADDRESS_TEXT_SIZE], after[ADDRESS_TEXT_SIZE];
    json_t *json = NULL;
    bool is_over = false;
    int status = reader_ping(logs->cli, err);
    if (status == 0)
        status = client_get_address(logs->cli, &target->address, &json, err);
    if (status == 0) {
        is_over = view_is_final(field_text(json, "state")) || field_phase_state(json) == PHASE_HELD;
        target->away_since_s = 0;
        json_decref(json);
    } else if (client_may_retry(status)) {
        double now_s = clock_steady_s();
        target->away_since_s = target->away_since_s > 0 ? target->away_since_s : now_s;
        if (now_s - target->away_since_s > LOGS_AWAY_MAX_S)
            return error_prefix(err, "stopped following");
    } else {
        return status;
    }
    status = reader_find_run(logs->cli, &next, err);
    bool is_other =
        status == 0 && !text_equal(address_text(&target->run, before), address_text(&next, after));
    if (is_other)
        status = logs_first_after(logs, target, &next, err);
    if (status < 0 && !client_may_retry(status))
        return status;
    if (status == 0 && is_other) {
        (void)fprintf(stderr, "phasectl: now %s\n", address_text(&next, after));
        target->run = next;
        target->state = LOGS_READS;
        target->away_since_s = 0; /* each wait for a run has its own time */
    } else if (is_over && !is_other) {
        target->state = LOGS_OVER;
    }
    return 0;
}

/* Prints what is new. `asks`: also looks for new logs, and whether the run has ended. */
static int logs_turn(const struct logs *logs, struct logs_target *target, bool asks,
                     struct error *err)
{
    int ended = 0;
    if (target->state == LOGS_WAITS)
        return asks ? logs_next_run(logs, target, err) : 0;
    if (asks) {
        ended = reader_has_ended(logs->cli, &target->run, err);
        if (ended < 0 && !client_may_retry(ended))
            return ended;
        logs_look(logs, target);
    }
    for (size_t i = 0; ended == 1 && i < target->stream_count; i++)
        stream_refresh(&target->streams[i]);
    int status = logs_read_all(logs, target, ended == 1, err);
    target->tail = LOGS_ALL; /* logs that appear later are printed whole */
    if (ended == 1) {
        logs_close(target);
        target->state = address_kind(&target->address) == ADDRESS_RUN ? LOGS_OVER : LOGS_WAITS;
    }
    return status;
}

/* Prints until the runs have ended, and no further run follows. */
static int logs_follow(struct logs *logs)
{
    int exit_code = CLI_OK;
    bool is_over = false;
    for (unsigned poll = 0; !is_over; poll++) {
        if (cli_is_unread())
            return CLI_FAILED; /* also while there are no new lines */
        is_over = true;
        for (size_t i = 0; i < logs->target_count; i++) {
            struct logs_target *target = &logs->targets[i];
            struct error err;
            if (target->state == LOGS_OVER)
                continue;
            int status = logs_turn(logs, target, poll % LOGS_POLLS_PER_QUESTION == 0, &err);
            if (status == -EPIPE)
                return CLI_FAILED; /* nobody reads any more */
            if (status < 0) {
                exit_code = cli_fail(&err);
                target->state = LOGS_OVER;
            }
            is_over = is_over && target->state == LOGS_OVER;
        }
        if (!is_over)
            cli_wait(LOGS_POLL_MS);
    }
    return exit_code;
}

/* --- The verb --------------------------------------------------------------------------------- */

/* Prints the logs of an address, or adds the address to those that are followed. */
static int logs_one(struct cli *cli, const struct address *address, const void *context)
{
    struct logs *logs = *(struct logs *const *)context;
    struct logs_target target = {.address = *address, .run = *address, .tail = logs->tail};
    struct error err;
    int status = reader_find_run(cli, &target.run, &err);
    if (status == 0)
        logs_take_earlier(logs, &target);
    if (status == 0 && logs->follows)
        logs->targets[logs->target_count++] = target;
    else if (status == 0)
        status = logs_once(logs, &target, &err);
    if (!logs->follows)
        logs_close(&target);
    if (status == -EPIPE)
        return CLI_FAILED; /* nobody reads any more */
    return status < 0 ? cli_fail(&err) : CLI_OK;
}

/* Reads `0`, `1`, ... or `all`. Returns -1 for all, -2 for any other text. */
static long long logs_parse_rank(const char *text)
{
    char *end;
    errno = 0;
    if (text_equal(text, "all"))
        return -1;
    long long rank = strtoll(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno ? rank : -2;
}

static int logs_run(struct logs *logs, const struct option_arguments *arguments)
{
    filter_pass();
    int exit_code = options_each_address(logs->cli, arguments, logs_one, &logs);
    if (logs->follows && logs->target_count) {
        int followed = logs_follow(logs);
        exit_code = exit_code == CLI_OK ? followed : exit_code;
    }
    for (size_t i = 0; i < logs->target_count; i++)
        logs_close(&logs->targets[i]);
    return exit_code;
}

int logs_verb(struct cli *cli, char **words)
{
    struct logs logs = {.cli = cli, .tail = LOGS_ALL};
    const char *rank = "0", *since = NULL, *pattern = NULL;
    const struct option_rule rules[] = {
        {"follow", 'f', NULL, "print new lines as they come, also of the next runs",
         .flag = &logs.follows},
        {"rank", 0, "N", "print this rank (0), or `all`", .text = &rank},
        {"tail", 'n', "N", "print only the last N lines of each rank", .number = &logs.tail,
         .most = LOGS_TAIL_MAX},
        {"since", 0, "TIME", "print lines from this time on, such as 10m (ago) or 14:05",
         .text = &since},
        {"grep", 'e', "PATTERN", "print lines that match, as `grep -E`", .text = &pattern},
        {"no-time", 0, NULL, "leave out the times before the lines", .flag = &logs.without_time},
        {"json", 0, NULL, "print an object for each line", .flag = &cli->as_json},
        {0},
    };
    struct option_arguments arguments = {.min = 1, .max = OPTION_ARGUMENTS_MAX};
    struct error err;
    int exit_code;
    if (!options_parse(cli, words, rules, &arguments, &exit_code))
        return exit_code;
    logs.rank = logs_parse_rank(rank);
    if (logs.rank == -2)
        return cli_usage(cli, "--rank wants a number from 0, or all, not '%s'", rank);
    if ((since && lines_since(&logs.filter, since, time(NULL), &err) < 0) ||
        (pattern && lines_grep(&logs.filter, pattern, &err) < 0))
        return cli_usage(cli, "%s", err.message);
    exit_code = logs_run(&logs, &arguments);
    lines_filter_fini(&logs.filter);
    return exit_code;
}
