/* phasectl submit: sends the files, and what the programs of the phases need from this shell. */
#include "cli/submit.h"

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/decide.h"
#include "cli/field.h"
#include "cli/options.h"
#include "cli/provenance.h"
#include "cli/source.h"
#include "cli/verbs.h"
#include "cli/watch.h"
#include "lib/address.h"
#include "lib/clock.h"
#include "lib/error.h"
#include "lib/limits.h"
#include "lib/mac.h"
#include "lib/memory.h"
#include "lib/spec/queue_limits.h"
#include "lib/text.h"
#include "lib/units.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SUBMIT_TRIES = 5,          /* the waits between the tries are 4.5 s together */
    SUBMIT_WAIT_MS = 300,      /* and twice as much after each try; a daemon restarts in 1 s */
    SUBMIT_SILENT_MS = 180000, /* for a daemon that takes the connection and does not answer */
};

/* The options of a submission. */
struct submit_options {
    const struct source_words *given;
    json_t *set, *provenance; /* the params of --set; the code */
    bool hold;
    unsigned rehearsal_steps; /* 0: not a rehearsal */
    int64_t priority;
    unsigned after;     /* 0: not given */
    const char *window; /* NULL: not given */
};

/* Returns `environ` as an object. Slurm and JSON carry text only, so a variable that is not UTF-8
 * is left out with a warning. PHASED_BY and PHASED_CODE are about this submission only. */
static json_t *submit_environment(void)
{
    json_t *object = json_object();
    for (char **at = environ; *at; at++) {
        size_t size = strcspn(*at, "=");
        if (size == 0 || (*at)[size] == '\0')
            continue;
        char *name = xstrndup(*at, size);
        if (!text_equal(name, "PHASED_BY") && !text_equal(name, PROVENANCE_FOLDER) &&
            json_object_set_new(object, name, json_string(*at + size + 1)) < 0)
            (void)fprintf(
                stderr, "phasectl: warning: the variable %s is not UTF-8 and is left out\n", name);
        free(name);
    }
    return object;
}

static json_t *submit_limits(void)
{
    json_t *array = json_array();
    char **limits = limits_capture();
    for (char **at = limits; *at; at++)
        (void)json_array_append_new(array, json_string(*at)); /* fails only without memory */
    limits_free(limits);
    return array;
}

static mode_t submit_umask(void)
{
    mode_t mask = umask(0);
    (void)umask(mask); /* the umask can only be read by setting it */
    return mask;
}

/* Waits for a daemon that does not answer. Nothing is sent meanwhile, so a person who interrupts
 * knows that nothing is queued. Returns -ETIMEDOUT if the daemon stays silent, and -ECONNREFUSED if
 * no daemon runs. Other failures are left to the request. */
static int submit_await(struct cli *cli, struct error *err)
{
    json_t *ping;
    bool is_told = false;
    int64_t deadline_ms = clock_steady_ms() + SUBMIT_SILENT_MS;
    while (clock_steady_ms() < deadline_ms) {
        int status = client_ping(cli, &ping, err);
        if (status == 0)
            json_decref(ping);
        if (status != -ETIMEDOUT)
            return status == -ECONNREFUSED ? status : 0;
        if (!is_told)
            (void)fprintf(stderr,
                          "phasectl: %s; waiting for it at most 3 minutes (nothing is submitted "
                          "before the daemon answers, so you may interrupt)\n",
                          err->message);
        is_told = true;
    }
    return error_prefix(err, "nothing was submitted");
}

/* Sends the submission until an answer comes. The daemon recognises a repetition by the key.
 * `ret_may_be_queued`: no answer came, and a daemon may have taken the submission. */
static int submit_send(struct cli *cli, const json_t *body, json_t **ret_reply,
                       json_t **ret_problems, bool *ret_may_be_queued, struct error *err)
{
    unsigned wait_ms = SUBMIT_WAIT_MS;
    *ret_may_be_queued = false;
    int awaited = submit_await(cli, err);
    if (awaited < 0)
        return awaited;
    for (int try = 1;; try++) {
        int status = client_post(cli, "/v1/workflows", body, ret_reply, ret_problems, err);
        if (!client_may_retry(status)) {
            *ret_may_be_queued = false;
            return status;
        }
        if (status == -ETIMEDOUT || status == -EIO) /* otherwise nobody took it */
            *ret_may_be_queued = true;
        if (try == SUBMIT_TRIES || (status == -ECONNREFUSED && !*ret_may_be_queued))
            return status;
        cli_wait(wait_ms);
        wait_ms *= 2;
    }
}

/* Adds the options that say when jobs may be submitted. */
static int submit_queue(json_t *body, const struct submit_options *options, struct error *err)
{
    unsigned from, to;
    (void)json_object_set_new(body, "priority", json_integer(options->priority));
    if (options->after)
        (void)json_object_set_new(body, "after", json_integer(options->after));
    if (!options->window)
        return 0;
    (void)json_object_set_new(body, "window", json_string(options->window));
    return units_parse_window(options->window, &from, &to, err);
}

/* The request without its workflows. NULL: `err` says which value of this shell cannot be sent. */
static json_t *submit_body(const struct submit_options *options, struct error *err)
{
    char host[HOST_NAME_MAX + 1] = "";
    json_t *workdir = client_workdir(err);
    if (!workdir)
        return NULL;
    (void)gethostname(host, sizeof host - 1); /* if it fails, the name is empty */
    json_t *body = json_pack("{s:O, s:O, s:O, s:b, s:o, s:o, s:i, s:o, s:s, s:[]}", "set",
                             options->set, "with", options->given->overrides.variants, "provenance",
                             options->provenance, "hold", options->hold, "workdir", workdir,
                             "environment", submit_environment(), "umask", (int)submit_umask(),
                             "limits", submit_limits(), "host", host, "workflows");
    if (!body) {
        (void)error_set(err, -EINVAL, "the name of this host is not UTF-8 text: %s", host);
        return NULL;
    }
    if (options->rehearsal_steps)
        (void)json_object_set_new(body, "rehearse", json_integer(options->rehearsal_steps));
    if (getenv("PHASED_BY")) {
        char *who = decide_who();
        (void)json_object_set_new(body, "who", json_string(who));
        free(who);
    }
    return body;
}

/* Copies the code. The programs start in the copy, as if submit had been called there. */
static int submit_freeze(const struct cli *cli, const json_t *body, json_t *item, struct error *err)
{
    char *workdir;
    json_t *provenance = json_object_get(body, "provenance");
    int status = provenance_snapshot(cli, provenance, field_text(body, "workdir"),
                                     field_text(item, "key"), &workdir, err);
    if (status < 0)
        return status;
    provenance = json_copy(provenance);
    (void)json_object_set_new(provenance, "snapshot", json_string(workdir));
    (void)json_object_set(provenance, "from", json_object_get(body, "workdir"));
    (void)json_object_set_new(item, "provenance", provenance);
    (void)json_object_set_new(item, "workdir", json_string(workdir));
    free(workdir);
    return 0;
}

/* source_fini() frees `ret_source`, also after a failure. */
static int submit_add_file(const struct cli *cli, const struct submit_options *options,
                           json_t *body, const char *file, struct source *ret_source,
                           struct error *err)
{
    char key[MAC_TOKEN_SIZE];
    int status = source_read(file, options->given, ret_source, err);
    if (status < 0)
        return status;
    mac_random(key, sizeof key);
    json_t *item = json_pack("{s:s, s:s%, s:s}", "file", ret_source->name, "spec", ret_source->text,
                             ret_source->size, "key", key);
    if (!item)
        return error_set_at(err, -EINVAL, file, 0, 0, "cannot be sent: it is not UTF-8 text");
    /* The daemon, which checks the rest, may run on another machine. */
    json_t *workflow;
    bool is_good = probe_print(ret_source, &options->given->overrides, &workflow);
    bool is_frozen = is_good && text_equal(field_text(workflow, "code"), "snapshot");
    json_decref(workflow);
    if (!is_good) {
        json_decref(item);
        return error_set_at(err, -EINVAL, file, 0, 0, "has problems (see above)");
    }
    if (is_frozen && (status = submit_freeze(cli, body, item, err)) < 0) {
        json_decref(item);
        return status;
    }
    (void)json_array_append_new(json_object_get(body, "workflows"), item);
    return 0;
}

/* Prints a line for each workflow, after its warnings. `ret_addresses` has room for all. */
static void submit_print(const struct cli *cli, const struct option_arguments *files,
                         const struct source *sources, const json_t *reply,
                         const struct submit_options *options, struct address *ret_addresses)
{
    const json_t *workflow, *workflows = json_object_get(reply, "workflows");
    size_t i;
    bool prints_reply = cli->as_json && !options->rehearsal_steps;
    for (i = 0; i < files->count; i++)
        source_place_json(&sources[i], json_object_get(json_array_get(workflows, i), "warnings"));
    if (prints_reply)
        client_print_json(reply);
    json_array_foreach(workflows, i, workflow)
    {
        char text[ADDRESS_TEXT_SIZE];
        if (i == files->count)
            break;
        ret_addresses[i] =
            (struct address){.workflow = (uint64_t)field_integer(workflow, "workflow")};
        if (prints_reply)
            continue;
        problems_print(files->items[i], json_object_get(workflow, "warnings"));
        if (!cli->as_json)
            printf("workflow %s %s\n", address_text(&ret_addresses[i], text),
                   field_text(workflow, "name"));
    }
}

/* Removes the copies of code when no workflow is queued. */
static void submit_discard(const struct cli *cli, const json_t *body)
{
    const json_t *item;
    size_t i;
    json_array_foreach(json_object_get(body, "workflows"), i, item)
    {
        if (json_object_get(json_object_get(item, "provenance"), "snapshot"))
            provenance_discard(cli, field_text(item, "key"));
    }
}

/* Queues all workflows or none. `ret_addresses` has room for all. */
static int submit_files(struct cli *cli, const struct option_arguments *files,
                        const struct submit_options *options, struct address *ret_addresses)
{
    struct error err;
    struct source *sources = xcalloc(files->count, sizeof *sources);
    json_t *body = submit_body(options, &err), *reply = NULL, *problems = NULL;
    int exit_code = !body || submit_queue(body, options, &err) < 0 ? cli_fail(&err) : CLI_OK;
    for (size_t i = 0; body && i < files->count; i++)
        if (submit_add_file(cli, options, body, files->items[i], &sources[i], &err) < 0)
            exit_code = cli_fail(&err);
    bool may_be_queued = false;
    int status = exit_code == CLI_OK
                     ? submit_send(cli, body, &reply, &problems, &may_be_queued, &err)
                     : -EINVAL;
    if (status < 0 && !may_be_queued)
        submit_discard(cli, body);
    if (exit_code != CLI_OK)
        goto out;
    if (status < 0) {
        for (size_t i = 0; i < files->count; i++)
            source_place_json(&sources[i], problems);
        problems_print(files->items[0], problems);
        exit_code = cli_fail(&err);
        if (may_be_queued)
            (void)fprintf(
                stderr, "phasectl: the submission may be queued nevertheless; look with 'phasectl "
                        "status' before you submit again\n");
        goto out;
    }
    submit_print(cli, files, sources, reply, options, ret_addresses);
out:
    for (size_t i = 0; i < files->count; i++)
        source_fini(&sources[i]);
    free(sources);
    json_decref(problems);
    json_decref(reply);
    json_decref(body);
    return exit_code;
}

/* Reads the params and the code, and queues the files. */
static int submit_all(struct cli *cli, const struct option_arguments *files,
                      struct submit_options *options, struct address *ret_addresses)
{
    options->set = source_words_set(cli, options->given);
    if (!options->set)
        return CLI_USAGE;
    options->provenance = provenance_capture();
    int exit_code = submit_files(cli, files, options, ret_addresses);
    json_decref(options->provenance);
    json_decref(options->set);
    return exit_code;
}

int submit_rehearsal(struct cli *cli, const struct option_arguments *file,
                     const struct source_words *given, unsigned steps, struct address *ret_address)
{
    struct submit_options options = {.given = given, .rehearsal_steps = steps};
    return submit_all(cli, file, &options, ret_address);
}

int submit_verb(struct cli *cli, char **words)
{
    struct source_words given = {.next = SCRIPT_WORDS_KNOWN};
    struct submit_options options = {.given = &given};
    bool watch = false;
    const struct option_rule rules[] = {
        source_set_rule(&given),
        source_with_rule(&given),
        {"watch", 'w', NULL, "then follow the workflows until they end", .flag = &watch},
        {"hold", 0, NULL, "hold the workflow until `phasectl release`", .flag = &options.hold},
        {"after", 0, "WORKFLOW", "wait until this workflow has succeeded", .number = &options.after,
         .least = 1},
        {"window", 0, "HH:MM-HH:MM", "submit jobs only at this time of day",
         .text = &options.window},
        {"priority", 0, "N", "if limits.yaml lets jobs wait, higher numbers go first (0)",
         .integer = &options.priority, .least = -QUEUE_PRIORITY_MAX, .most = QUEUE_PRIORITY_MAX},
        {"json", 0, NULL, "print the daemon's answer", .flag = &cli->as_json},
        {0},
    };
    struct option_arguments arguments = {.min = 1, .max = OPTION_ARGUMENTS_MAX, .has_rest = true};
    struct address addresses[OPTION_ARGUMENTS_MAX] = {0};
    int exit_code;
    if (source_words_read(cli, words, rules, &arguments, &given, &exit_code))
        exit_code = submit_all(cli, &arguments, &options, addresses);
    source_words_fini(&given);
    if (exit_code == CLI_OK && watch)
        exit_code = watch_workflows(cli, addresses, arguments.count,
                                    cli->as_json ? WATCH_JSON : WATCH_LINES);
    return exit_code;
}
