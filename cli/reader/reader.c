/* The daemon's answers, or the files. */
#include "cli/reader/reader.h"

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/reader/folder.h"
#include "cli/reader/record.h"
#include "cli/view.h"
#include "lib/address.h"
#include "lib/clock.h"
#include "lib/error.h"
#include "lib/expr/metrics.h"
#include "lib/metrics/columns.h"
#include "lib/option.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    READER_ALIVE_MS = 5000,   /* the reader does not ping for this long after an answer */
    READER_SILENT_MS = 60000, /* nor for this long after a ping without an answer */
};

/* After a ping that failed, no question is needed: a job that takes over was waited for. */
int reader_ping(struct cli *cli, struct error *err)
{
    json_t *ping;
    if (clock_steady_ms() < cli->ping_ms)
        return cli->is_silent ? error_set(err, -ETIMEDOUT, "the daemon does not answer") : 0;
    int status = client_ping(cli, &ping, err);
    if (status == 0)
        json_decref(ping);
    cli->is_silent = status == -ETIMEDOUT;
    if (status == 0 || cli->is_silent)
        cli->ping_ms = clock_steady_ms() + (cli->is_silent ? READER_SILENT_MS : READER_ALIVE_MS);
    return status;
}

/* Switches to reading the files if `status` says that no daemon runs, or that it is starting or
 * does not answer, and the home has a record. Says so once; `err` says why a daemon does not
 * answer. Returns whether the files must answer. */
static bool reader_turns_to_files(struct cli *cli, int status, const struct error *err)
{
    if ((status != -ECONNREFUSED && status != -ENOTCONN && status != -ETIMEDOUT) ||
        access(cli->home.database, F_OK) < 0)
        return false;
    if (!cli->reads_files && status == -ETIMEDOUT)
        (void)fprintf(stderr, "phasectl: %s; reading the files of runs\n", err->message);
    else if (!cli->reads_files)
        (void)fprintf(stderr, "phasectl: %s for %s; reading the files of runs\n",
                      status == -ENOTCONN ? "no daemon answers" : "no daemon is running",
                      cli->home.path);
    cli->reads_files = true;
    return true;
}

static bool reader_is_of(const struct address *address, const json_t *run)
{
    enum address_kind kind = address_kind(address);
    return (kind == ADDRESS_WORKFLOW || text_equal(field_text(run, "phase"), address->phase)) &&
           (kind != ADDRESS_RUN || field_integer(run, "attempt") == address->attempt);
}

/* Folders come first: they also have the runs that began while no daemon ran. */
static int reader_find_alone(const struct cli *cli, struct address *address, struct error *err)
{
    char text[ADDRESS_TEXT_SIZE], *name = NULL;
    const char *key;
    struct address found = {0};
    if (folder_find_run(cli->home.runs, address, NULL) == 0)
        return 0;
    json_t *runs = json_object(), *run;
    int status = record_add_runs(cli->home.database, address, runs, &name, err);
    json_object_foreach(runs, key, run)
    {
        if (!found.attempt && reader_is_of(address, run))
            (void)address_parse(key, &found, NULL); /* the record's addresses are good */
    }
    if (status == 0 && !found.attempt)
        status = error_set(err, -ENOENT, "no run of %s is known", address_text(address, text));
    if (status == 0)
        *address = found;
    json_decref(runs);
    free(name);
    return status;
}

int reader_find_run(struct cli *cli, struct address *address, struct error *err)
{
    bool is_run = address_kind(address) == ADDRESS_RUN;
    int status = reader_ping(cli, err);
    if (status == 0)
        status =
            is_run ? client_check_address(cli, address, err) : client_find_run(cli, address, err);
    return reader_turns_to_files(cli, status, err) ? reader_find_alone(cli, address, err) : status;
}

int reader_has_ended(struct cli *cli, const struct address *run, struct error *err)
{
    json_t *json;
    int status = reader_ping(cli, err);
    if (status == 0)
        status = client_get_address(cli, run, &json, err);
    if (reader_turns_to_files(cli, status, err))
        return folder_has_ended(cli->home.runs, run);
    if (status < 0)
        return status;
    bool has_ended = field_run_state(json) == RUN_ENDED;
    json_decref(json);
    return has_ended;
}

/* --- History ---------------------------------------------------------------------------------- */

static int reader_ask_history(struct cli *cli, const struct address *address, json_t **ret_json,
                              struct error *err)
{
    unsigned long long workflow = address->workflow;
    bool is_workflow = address_kind(address) == ADDRESS_WORKFLOW;
    json_t *shown = NULL, *answer = NULL, *runs;
    int status = client_get_address(cli, address, &shown, err);
    if (status == 0)
        status =
            client_get(cli, &answer, err,
                       is_workflow ? "/v1/runs?workflow=%llu" : "/v1/workflows/%llu", workflow);
    if (status == 0) {
        bool is_over =
            field_run_state(shown) == RUN_ENDED || view_is_final(field_text(shown, "state"));
        if (address_kind(address) == ADDRESS_RUN)
            runs = json_pack("[O]", shown);
        else
            runs = json_incref(json_object_get(is_workflow ? answer : shown, "runs"));
        *ret_json =
            json_pack("{s:s, s:b, s:o*}", "name", field_text(is_workflow ? shown : answer, "name"),
                      "is_over", is_over, "runs", runs);
    }
    json_decref(shown);
    json_decref(answer);
    return status;
}

/* Folders come last and replace what the record says. On a network file system, a daemon that does
 * not answer may hold the record: then only the folders answer. */
static int reader_find_history(const struct cli *cli, const struct address *address,
                               json_t **ret_json, struct error *err)
{
    char text[ADDRESS_TEXT_SIZE];
    char *name = NULL;
    const char *key;
    json_t *by_address = json_object(), *runs = json_array(), *run;
    int status = record_add_runs(cli->home.database, address, by_address, &name, err);
    bool is_known = name && address_kind(address) != ADDRESS_RUN; /* a phase may have no run yet */
    if (status == 0 || cli->is_silent) {
        folder_add_runs(cli->home.runs, address->workflow, by_address, &name);
        json_object_foreach(by_address, key, run)
        {
            if (reader_is_of(address, run))
                (void)json_array_append(runs, run);
        }
        if (json_array_size(runs) || is_known) {
            status = 0;
            *ret_json = json_pack("{s:s, s:b, s:O}", "name", name ? name : "workflow", "is_over",
                                  address_kind(address) == ADDRESS_RUN &&
                                      folder_has_ended(cli->home.runs, address),
                                  "runs", runs);
        } else if (status == 0) {
            status = error_set(err, -ENOENT, "no run of %s is known", address_text(address, text));
        }
    }
    json_decref(by_address);
    json_decref(runs);
    free(name);
    return status;
}

int reader_get_history(struct cli *cli, const struct address *address, json_t **ret_json,
                       struct error *err)
{
    int status = reader_ping(cli, err);
    if (status == 0)
        status = reader_ask_history(cli, address, ret_json, err);
    return reader_turns_to_files(cli, status, err)
               ? reader_find_history(cli, address, ret_json, err)
               : status;
}

/* --- Metrics ---------------------------------------------------------------------------------- */

/* `part`: which steps of the run, as the API has it: last=20. */
static int reader_ask_metrics(struct cli *cli, const struct address *run,
                              const struct option_list *names, const char *part, json_t **ret_json,
                              struct error *err)
{
    char buffer[ADDRESS_PATH_SIZE];
    struct text path = {0};
    text_addf(&path, "%s/metrics?%s", address_path(run, buffer), part);
    for (size_t i = 0; i < names->count; i++)
        text_addf(&path, "&name=%s", names->items[i]);
    int status = client_get(cli, ret_json, err, "%s", text_string(&path));
    text_fini(&path);
    return status;
}

/* Asks for the first step of the run, or for its last step. */
static int reader_ask_end(struct cli *cli, const struct address *run,
                          const struct option_list *names, bool is_last, int64_t *ret_step,
                          struct error *err)
{
    json_t *columns;
    int status =
        reader_ask_metrics(cli, run, names, is_last ? "last=1" : "buckets=1", &columns, err);
    if (status < 0)
        return status;
    const json_t *steps = json_object_get(columns, "steps");
    *ret_step = json_integer_value(json_array_get(steps, is_last ? json_array_size(steps) - 1 : 0));
    json_decref(columns);
    return 0;
}

static int reader_add_halves(struct cli *cli, const struct address *run,
                             const struct option_list *names, int64_t from, int64_t to,
                             struct metrics *metrics, struct error *err);

/* Adds the metrics of some steps. Asks for them in two parts if one answer cannot hold them. */
static int reader_add_steps(struct cli *cli, const struct address *run,
                            const struct option_list *names, int64_t from, int64_t to,
                            struct metrics *metrics, struct error *err)
{
    char part[64];
    json_t *columns;
    (void)snprintf(part, sizeof part, "from=%lld&to=%lld", (long long)from, (long long)to);
    int status = reader_ask_metrics(cli, run, names, part, &columns, err);
    if (status == -EFBIG)
        return reader_add_halves(cli, run, names, from, to, metrics, err);
    if (status < 0)
        return status;
    columns_add(columns, INT64_MAX, metrics);
    json_decref(columns);
    return 0;
}

/* Asks for steps in two halves, because one answer cannot hold them; `err` says so already. One
 * step has no halves: returns -EFBIG. */
static int reader_add_halves(struct cli *cli, const struct address *run,
                             const struct option_list *names, int64_t from, int64_t to,
                             struct metrics *metrics, struct error *err)
{
    if (from >= to)
        return -EFBIG;
    int64_t middle = from + (to - from) / 2;
    int status = reader_add_steps(cli, run, names, from, middle, metrics, err);
    return status < 0 ? status : reader_add_steps(cli, run, names, middle + 1, to, metrics, err);
}

/* Asks for metrics in parts, because one answer cannot hold them; `err` says so already. The record
 * is not read: on a network file system, only the daemon can open it while the daemon runs. */
static int reader_ask_in_parts(struct cli *cli, const struct address *run,
                               const struct option_list *names, unsigned last, json_t **ret_json,
                               struct error *err)
{
    int64_t from = 0, to = 0;
    struct metrics *metrics = metrics_new();
    int status = reader_ask_end(cli, run, names, false, &from, err);
    if (status == 0)
        status = reader_ask_end(cli, run, names, true, &to, err);
    if (status == 0)
        status = reader_add_halves(cli, run, names, from, to, metrics, err);
    if (status == 0)
        *ret_json = columns_json(metrics, names->items, names->count, last);
    metrics_free(metrics);
    return status;
}

int reader_get_metrics(struct cli *cli, const struct address *run, const struct option_list *names,
                       unsigned last, json_t **ret_json, struct error *err)
{
    char part[32];
    (void)snprintf(part, sizeof part, "last=%u", last);
    int status = reader_ping(cli, err);
    if (status == 0)
        status = reader_ask_metrics(cli, run, names, part, ret_json, err);
    if (status == -EFBIG)
        return reader_ask_in_parts(cli, run, names, last, ret_json, err);
    if (!reader_turns_to_files(cli, status, err))
        return status;
    struct metrics *metrics = metrics_new();
    status = record_add_metrics(cli->home.database, run, metrics, err);
    if (status == 0 || cli->is_silent) { /* as in reader_find_history() */
        status = 0;
        folder_add_metrics(cli->home.runs, run, metrics);
        *ret_json = columns_json(metrics, names->items, names->count, last);
    }
    metrics_free(metrics);
    return status;
}

int reader_find_metrics(struct cli *cli, struct address *run, struct error *err)
{
    static const struct option_list all = {.count = 0};
    bool has_metrics = false;
    for (struct address earlier = *run; earlier.attempt > 0 && !has_metrics; earlier.attempt--) {
        json_t *newest;
        int status = reader_get_metrics(cli, &earlier, &all, 1, &newest, err);
        if (status < 0)
            return status;
        has_metrics = json_array_size(json_object_get(newest, "steps")) > 0;
        json_decref(newest);
        if (has_metrics)
            *run = earlier;
    }
    return 0;
}
