/* Runs by their folders, and metrics by the journals of the nodes. */
#include "cli/reader/folder.h"

#include "cli/field.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/expr/metrics.h"
#include "lib/memory.h"
#include "lib/protocol/journal_file.h"
#include "lib/protocol/run_file.h"
#include "lib/protocol/told_checkpoint.h"
#include "lib/text.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *folder_path(const char *runs, const struct address *run, const char *name)
{
    return text_format("%s/%llu/%s/%u/%s", runs, (unsigned long long)run->workflow, run->phase,
                       run->attempt, name);
}

/* The attempt that a folder of this name belongs to; 0: it is not the folder of a run. */
static uint32_t folder_attempt(const char *name)
{
    unsigned long attempt;
    char *end;
    if (name[0] < '1' || name[0] > '9')
        return 0;
    errno = 0;
    attempt = strtoul(name, &end, 10);
    return errno || *end || attempt > UINT32_MAX ? 0 : (uint32_t)attempt;
}

/* Calls `take` with each run of the workflow that has a folder. */
static void folder_visit(const char *runs, uint64_t workflow,
                         void (*take)(const char *runs, const struct address *run, void *context),
                         void *context)
{
    char *path = text_format("%s/%llu", runs, (unsigned long long)workflow);
    DIR *folder = opendir(path);
    struct dirent *phase;
    while (folder && (phase = readdir(folder))) {
        struct address run = {.workflow = workflow};
        if (phase->d_name[0] == '.' || strlen(phase->d_name) >= sizeof run.phase)
            continue;
        memcpy(run.phase, phase->d_name, strlen(phase->d_name) + 1);
        char *phase_path = text_format("%s/%s", path, run.phase);
        DIR *attempts = opendir(phase_path);
        struct dirent *attempt;
        while (attempts && (attempt = readdir(attempts))) {
            run.attempt = folder_attempt(attempt->d_name);
            if (run.attempt)
                take(runs, &run, context);
        }
        if (attempts)
            (void)closedir(attempts); /* it was only read */
        free(phase_path);
    }
    if (folder)
        (void)closedir(folder); /* it was only read */
    free(path);
}

/* --- The newest run --------------------------------------------------------------------------- */

struct folder_newest {
    const struct address *of;
    struct address run; /* attempt 0: none was found */
    long long number;
};

/* The number of a run. A run that a lead began while no daemon ran has no number yet: it comes
 * after the newest run that has one. */
static long long folder_number(const char *runs, const struct address *run)
{
    char *path = folder_path(runs, run, "");
    struct run_file file;
    (void)run_file_read(path, &file, NULL); /* a folder without the file is the oldest */
    long long number = file.run > file.known_run ? file.run : file.known_run;
    run_file_fini(&file);
    free(path);
    return number;
}

/* In a phase, the run with the higher attempt is newer. */
static void folder_take_newer(const char *runs, const struct address *run, void *context)
{
    struct folder_newest *newest = context;
    enum address_kind kind = address_kind(newest->of);
    if ((kind != ADDRESS_WORKFLOW && !text_equal(run->phase, newest->of->phase)) ||
        (kind == ADDRESS_RUN && run->attempt != newest->of->attempt))
        return;
    long long number = kind == ADDRESS_WORKFLOW ? folder_number(runs, run) : 0;
    if (!newest->run.attempt || number > newest->number ||
        (number == newest->number && run->attempt > newest->run.attempt)) {
        newest->run = *run;
        newest->number = number;
    }
}

int folder_find_run(const char *runs, struct address *address, struct error *err)
{
    struct folder_newest newest = {.of = address};
    char text[ADDRESS_TEXT_SIZE];
    folder_visit(runs, address->workflow, folder_take_newer, &newest);
    if (!newest.run.attempt)
        return error_set(err, -ENOENT, "no folder of a run of %s exists",
                         address_text(address, text));
    *address = newest.run;
    return 0;
}

/* --- All runs --------------------------------------------------------------------------------- */

struct folder_list {
    json_t *runs;
    char **name;
};

/* Adds the run, if its folder names it. */
static void folder_take_run(const char *runs, const struct address *run, void *context)
{
    struct folder_list *list = context;
    char *path = folder_path(runs, run, ""), key[ADDRESS_TEXT_SIZE];
    struct run_file file;
    if (run_file_read(path, &file, NULL) == 0) {
        struct told_checkpoint from = told_checkpoint_read(file.resume);
        (void)json_object_set_new(list->runs, address_text(run, key),
                                  json_pack("{s:s, s:I, s:s?, s:I}", "phase", run->phase, "attempt",
                                            (json_int_t)run->attempt, "resume", from.path,
                                            "first_step", (json_int_t)(from.path ? from.step : 0)));
        if (!*list->name)
            *list->name = xstrdup(file.workflow_name ? file.workflow_name : "");
    }
    run_file_fini(&file);
    free(path);
}

void folder_add_runs(const char *runs, uint64_t workflow, json_t *list, char **name)
{
    folder_visit(runs, workflow, folder_take_run, &(struct folder_list){list, name});
}

bool folder_has_ended(const char *runs, const struct address *run)
{
    char *outcome = folder_path(runs, run, "outcome.json");
    char *tombstone = folder_path(runs, run, "tombstone.json");
    bool has_ended = access(outcome, F_OK) == 0 || access(tombstone, F_OK) == 0;
    free(outcome);
    free(tombstone);
    return has_ended;
}

/* --- Metrics ---------------------------------------------------------------------------------- */

static void folder_take_metric(void *context, const struct entry *entry)
{
    struct metrics *metrics = context;
    const char *name;
    json_t *value;
    json_object_foreach(entry->values, name, value)
    {
        if (entry->step >= 0)
            metrics_add(metrics, name, entry->step, entry->time, field_as_number(value));
    }
}

void folder_add_metrics(const char *runs, const struct address *run, struct metrics *metrics)
{
    char *path = folder_path(runs, run, "");
    json_t *nodes = journal_nodes(path), *node;
    size_t i;
    json_array_foreach(nodes, i, node)
    {
        char *journal = journal_path(path, json_string_value(node));
        journal_visit(journal, ENTRY_METRIC, folder_take_metric, metrics);
        free(journal);
    }
    json_decref(nodes);
    free(path);
}
