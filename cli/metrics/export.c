/* Writes curves: whole, or only what is new. A curve is a phase with all its runs, or one run.
 *
 * A curve is written whole at first, at the end, and when another run of the phase has begun,
 * because the new run takes steps back. In between, phasectl asks only for the newest steps of the
 * newest run. */
#include "cli/metrics/export.h"

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/metrics/stitch.h"
#include "cli/metrics/tfevents.h"
#include "cli/metrics/trackio.h"
#include "cli/options.h"
#include "cli/reader/reader.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    EXPORT_POLL_MS = 2000,
    EXPORT_NEWEST = 200,   /* steps of one poll */
    EXPORT_CONTESTED = 30, /* polls: another follower would empty the file much earlier */
};

struct export_curve {
    struct address address; /* of a phase or run */
    uint32_t attempt;       /* the newest run in the files; 0: nothing is written */
    bool is_settled;        /* that run has ended, and is in the files */
    bool is_final;          /* the address is over, and all is in the files */
    int64_t taken_back; /* the newest run made the steps after this step; -1: it made all steps */
    int64_t last_step;
    json_t *last; /* for each name, the last step in the event file */
    char *path;   /* of the event file; NULL: the event file does not exist */
    /* Another program had emptied the file, and this program has replaced it. For how many more
     * polls this program remembers that. */
    unsigned contested;
};

struct exporter {
    struct cli *cli;
    const struct export_options *options;
    struct export_curve *curves;
    size_t count;
    size_t over;   /* how many addresses are over */
    bool is_later; /* everything was written once: now waits for a daemon that does not answer */
};

/* --- Files ------------------------------------------------------------------------------------ */

/* The folder below the folder of TensorBoard, and the name of the run in trackio: trm-7/validate.
 * The caller frees it. */
static char *export_name(const struct export_curve *curve, const json_t *history)
{
    struct text name = {0};
    text_addf(&name, "%s-%llu/%s", field_text(history, "name"),
              (unsigned long long)curve->address.workflow, curve->address.phase);
    if (curve->address.attempt)
        text_addf(&name, "#%u", curve->address.attempt);
    return text_steal(&name);
}

static int64_t export_step(const json_t *columns, bool is_last)
{
    const json_t *steps = json_object_get(columns, "steps");
    return json_integer_value(json_array_get(steps, is_last ? json_array_size(steps) - 1 : 0));
}

static int export_write_events(const struct exporter *exporter, struct export_curve *curve,
                               const char *name, const json_t *columns, struct error *err)
{
    struct text file = {0};
    char *folder = text_format("%s/%s", exporter->options->tensorboard, name);
    free(curve->path);
    curve->path = NULL;
    json_object_clear(curve->last);
    tfevents_add_beginning(&file,
                           json_number_value(json_array_get(json_object_get(columns, "times"), 0)));
    tfevents_add_rows(&file, columns, curve->last);
    int status = tfevents_replace(folder, &file, &curve->path, err);
    text_fini(&file);
    free(folder);
    return status;
}

/* Writes all of a curve. */
static int export_whole(const struct exporter *exporter, struct export_curve *curve,
                        const json_t *history, struct error *err)
{
    struct stitch stitch;
    struct text line = {0};
    int status = stitch_read(exporter->cli, &curve->address, history, exporter->options->names, 0,
                             &stitch, err);
    if (status < 0)
        return status;
    json_t *columns = stitch.columns;
    curve->attempt = stitch.attempt;
    curve->taken_back = stitch.taken_back;
    size_t steps = json_array_size(json_object_get(columns, "steps"));
    char *name = export_name(curve, history);
    if (steps) {
        curve->last_step = export_step(columns, true);
        if (exporter->options->tensorboard)
            status = export_write_events(exporter, curve, name, columns, err);
        if (status == 0 && exporter->options->trackio)
            status = trackio_replace(exporter->options->trackio, name, INT64_MIN, columns, err);
        text_addf(&line, "%s: %zu step%s\n", name, steps, steps == 1 ? "" : "s");
    } else if (!exporter->options->follows) {
        text_addf(&line, "%s: no metrics yet\n", name);
    }
    if (status == 0)
        cli_print(&line);
    text_fini(&line);
    free(name);
    json_decref(columns);
    return status;
}

/* Asks for the newest steps of the newest run, and for all its steps if steps were missed. */
static int export_get_newest(const struct exporter *exporter, const struct export_curve *curve,
                             json_t **ret_columns, struct error *err)
{
    struct address run = curve->address;
    run.attempt = curve->attempt;
    int status = reader_get_metrics(exporter->cli, &run, exporter->options->names, EXPORT_NEWEST,
                                    ret_columns, err);
    if (status < 0 || json_array_size(json_object_get(*ret_columns, "steps")) < EXPORT_NEWEST ||
        export_step(*ret_columns, false) <= curve->last_step)
        return status;
    json_decref(*ret_columns);
    return reader_get_metrics(exporter->cli, &run, exporter->options->names, 0, ret_columns, err);
}

/* Adds what is new to the event file. Sets `ret_is_gone` if the file must be written whole, because
 * another program has emptied it. The file is written whole once. If the file is emptied again
 * soon, another program follows the same curve, and one of the two must end. */
static int export_append(struct export_curve *curve, const json_t *columns, bool *ret_is_gone,
                         struct error *err)
{
    struct text more = {0};
    tfevents_add_rows(&more, columns, curve->last);
    int status = tfevents_append(curve->path, &more, err);
    text_fini(&more);
    *ret_is_gone = status == -ENOENT && !curve->contested;
    if (*ret_is_gone)
        curve->contested = EXPORT_CONTESTED;
    else if (status == 0 && curve->contested)
        curve->contested--;
    return *ret_is_gone ? 0 : status;
}

/* Adds what is new to files that were written whole before. */
static int export_more(const struct exporter *exporter, struct export_curve *curve,
                       const json_t *history, struct error *err)
{
    json_t *columns = NULL;
    int status = export_get_newest(exporter, curve, &columns, err);
    if (status < 0)
        return status;
    bool has_steps = json_array_size(json_object_get(columns, "steps")) > 0;
    bool is_whole = has_steps && ((exporter->options->tensorboard && !curve->path) ||
                                  export_step(columns, false) <= curve->taken_back);
    if (has_steps && !is_whole && exporter->options->tensorboard)
        status = export_append(curve, columns, &is_whole, err);
    if (is_whole) {
        status = export_whole(exporter, curve, history, err);
    } else if (status == 0 && has_steps) {
        char *name = export_name(curve, history);
        if (exporter->options->trackio)
            status = trackio_replace(exporter->options->trackio, name, export_step(columns, false),
                                     columns, err);
        curve->last_step = export_step(columns, true);
        free(name);
    }
    json_decref(columns);
    return status;
}

/* --- The curves of an address ----------------------------------------------------------------- */

static struct export_curve *export_find(struct exporter *exporter, const struct address *address)
{
    for (size_t i = 0; i < exporter->count; i++) {
        const struct address *known = &exporter->curves[i].address;
        if (known->workflow == address->workflow && known->attempt == address->attempt &&
            text_equal(known->phase, address->phase))
            return &exporter->curves[i];
    }
    exporter->curves =
        xreallocarray(exporter->curves, exporter->count + 1, sizeof *exporter->curves);
    struct export_curve *curve = &exporter->curves[exporter->count++];
    *curve = (struct export_curve){.address = *address, .last = json_object()};
    return curve;
}

/* Writes what a run has changed in its curve. `run` is the newest run of the curve. */
static int export_one(const struct exporter *exporter, struct export_curve *curve,
                      const json_t *run, const json_t *history, struct error *err)
{
    int status = 0;
    bool has_ended = field_run_state(run) == RUN_ENDED;
    bool is_new = curve->attempt != field_integer(run, "attempt");
    bool is_over = field_is_true(history, "is_over");
    if (is_new || (is_over && !curve->is_final) || (has_ended && !curve->is_settled))
        status = export_whole(exporter, curve, history, err);
    else if (!has_ended)
        status = export_more(exporter, curve, history, err);
    if (status < 0)
        curve->attempt = 0; /* the next time it is written whole */
    curve->is_settled = status == 0 && has_ended;
    curve->is_final = status == 0 && is_over;
    return status;
}

/* Returns the newest run of each phase, by the name of the phase. The caller owns the object. */
static json_t *export_newest(const json_t *runs)
{
    json_t *newest = json_object(), *run;
    size_t i;
    json_array_foreach(runs, i, run)
    {
        const char *phase = field_text(run, "phase");
        const json_t *other = json_object_get(newest, phase);
        if (!other || field_integer(other, "attempt") < field_integer(run, "attempt"))
            (void)json_object_set(newest, phase, run); /* fails only without memory */
    }
    return newest;
}

/* Writes the curves of all phases in a history, the oldest first. */
static int export_all(struct exporter *exporter, const struct address *address,
                      const json_t *history, struct error *err)
{
    const json_t *runs = json_object_get(history, "runs");
    json_t *newest = export_newest(runs);
    int status = 0;
    for (size_t i = json_array_size(runs); status == 0 && i-- > 0;) {
        const json_t *run = json_array_get(runs, i);
        struct address curve = *address;
        (void)snprintf(curve.phase, sizeof curve.phase, "%s", field_text(run, "phase"));
        if (json_object_get(newest, curve.phase) != run)
            continue;
        status = export_one(exporter, export_find(exporter, &curve), run, history, err);
    }
    json_decref(newest);
    return status;
}

/* `context` is the exporter. */
static int export_address(struct cli *cli, const struct address *address, const void *context)
{
    struct exporter *exporter = *(struct exporter *const *)context;
    struct error err;
    json_t *history = NULL;
    int status = reader_get_history(cli, address, &history, &err);
    if (status == 0)
        status = export_all(exporter, address, history, &err);
    exporter->over += status == 0 && field_is_true(history, "is_over");
    json_decref(history);
    if (status == 0 || (exporter->is_later && client_may_retry(status)))
        return CLI_OK;
    return cli_fail(&err);
}

int export_write(struct cli *cli, const struct option_arguments *addresses,
                 const struct export_options *options)
{
    struct exporter exporter = {.cli = cli, .options = options}, *context = &exporter;
    int exit_code = options_each_address(cli, addresses, export_address, &context);
    while (options->follows && exit_code == CLI_OK && exporter.over < addresses->count) {
        (void)fflush(stdout); /* main() reports failures */
        cli_wait(EXPORT_POLL_MS);
        exporter.over = 0;
        exporter.is_later = true;
        exit_code = options_each_address(cli, addresses, export_address, &context);
    }
    for (size_t i = 0; i < exporter.count; i++) {
        json_decref(exporter.curves[i].last);
        free(exporter.curves[i].path);
    }
    free(exporter.curves);
    return exit_code;
}
