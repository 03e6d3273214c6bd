/* phasectl metrics: the rows of runs as a table, and their curves as CSV, pictures or files. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/filter.h"
#include "cli/format.h"
#include "cli/metrics/curves.h"
#include "cli/metrics/export.h"
#include "cli/metrics/plot.h"
#include "cli/metrics/stitch.h"
#include "cli/options.h"
#include "cli/reader/reader.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "cli/view.h"
#include "lib/address.h"
#include "lib/command.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/metrics/extract.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>

enum {
    METRICS_LAST_DEFAULT = 20, /* of a table and of JSON; curves have all steps */
    METRICS_COLUMNS_MAX = TABLE_COLUMNS_MAX - 1,
    METRICS_GNUPLOT_MAX_S = 60,
};

struct metrics_options {
    struct option_list names;
    unsigned last; /* 0: not given */
    bool as_plot, as_csv;
    const char *png;       /* the file to write; NULL: no picture is wanted */
    struct curves *curves; /* of the runs so far, if curves are wanted */
    struct export_options files;
};

static bool metrics_wants_files(const struct metrics_options *options)
{
    return options->files.tensorboard || options->files.trackio;
}

/* --- Names ------------------------------------------------------------------------------------ */

/* Returns an error if the run has metrics, but no metric with this name. */
static int metrics_check_name(struct cli *cli, const struct address *run, const char *name,
                              struct error *err)
{
    static const struct option_list all = {.count = 0};
    char buffer[ADDRESS_TEXT_SIZE];
    const char *other;
    json_t *metrics, *values;
    struct text others = {0};
    int status = reader_get_metrics(cli, run, &all, 1, &metrics, err);
    if (status < 0)
        return status;
    json_object_foreach(json_object_get(metrics, "series"), other, values)
        text_addf(&others, "%s%s", others.size ? ", " : "", other);
    if (others.size && !json_object_get(json_object_get(metrics, "series"), name))
        status = error_set(err, -ENOENT, "%s has no metric '%s'; it has %s",
                           address_text(run, buffer), name, text_string(&others));
    text_fini(&others);
    json_decref(metrics);
    return status;
}

/* Returns an error if the metrics of the run lack one of the names that were asked for. */
static int metrics_check_names(struct cli *cli, const struct address *run, const json_t *metrics,
                               const struct option_list *names, struct error *err)
{
    int status = 0;
    for (size_t i = 0; i < names->count && status == 0; i++)
        if (!curves_has(metrics, names->items[i]))
            status = metrics_check_name(cli, run, names->items[i], err);
    return status;
}

/* --- The table -------------------------------------------------------------------------------- */

static void metrics_write(const struct cli *cli, const json_t *reply, struct text *text)
{
    struct table_column columns[TABLE_COLUMNS_MAX] = {{"STEP", TABLE_RIGHT, TABLE_WHOLE}};
    const json_t *series[METRICS_COLUMNS_MAX];
    const json_t *steps = json_object_get(reply, "steps");
    size_t count = 0, all = json_object_size(json_object_get(reply, "series"));
    const char *name;
    json_t *values;
    struct table table;
    json_object_foreach(json_object_get(reply, "series"), name, values)
    {
        if (count == METRICS_COLUMNS_MAX)
            break;
        series[count++] = values;
        columns[count] = (struct table_column){name, TABLE_RIGHT, TABLE_WHOLE};
    }
    table_init(&table, columns, count + 1);
    for (size_t row = 0; row < json_array_size(steps); row++) {
        table_addf(&table, "%.0f", json_number_value(json_array_get(steps, row)));
        for (size_t i = 0; i < count; i++) {
            const json_t *value = json_array_get(series[i], row);
            char number[FORMAT_SIZE] = "";
            if (value && !json_is_null(value))
                format_number(field_as_number(value), number);
            table_add(&table, number);
        }
    }
    table_write(&table, &cli->out, 0, text);
    if (count < all)
        text_addf(text, "%zu more metrics; choose with --name\n", all - count);
}

/* --- Curves ----------------------------------------------------------------------------------- */

/* Sets `ret_name` to the most important metric. The caller frees it. Returns 0, and NULL if there
 * are no metrics yet. */
static int metrics_find_best(struct cli *cli, const struct address *run, char **ret_name,
                             struct error *err)
{
    static const struct option_list all = {.count = 0};
    json_t *newest;
    int status = reader_get_metrics(cli, run, &all, 1, &newest, err);
    if (status < 0)
        return status;
    *ret_name = xstrdup_or_null(view_best_metric(json_object_get(newest, "series")));
    json_decref(newest);
    return 0;
}

/* Adds the curves of a phase or run. Pictures show the most important metric if no name was given.
 * `run`: the run, or the newest run of the phase. */
static int metrics_add_curves(struct cli *cli, const struct address *address,
                              const struct address *run, const struct metrics_options *options,
                              struct error *err)
{
    struct option_list names = options->names;
    char *best = NULL;
    json_t *history = NULL;
    struct stitch stitch;
    if (options->curves->count == CURVES_RUNS_MAX)
        return error_set(err, -E2BIG, "at most %d runs can be drawn together", CURVES_RUNS_MAX);
    if (!names.count && !options->as_csv) {
        int status = metrics_find_best(cli, run, &best, err);
        if (status < 0)
            return status;
    }
    if (best)
        names.items[names.count++] = best;
    int status = reader_get_history(cli, address, &history, err);
    if (status == 0)
        status = stitch_read(cli, address, history, &names, options->last, &stitch, err);
    if (status == 0)
        curves_add(options->curves, address, stitch.columns);
    json_decref(history);
    free(best);
    return status;
}

/* Draws a metric of all runs. */
static void metrics_plot(const struct cli *cli, const struct curves *curves, const char *name,
                         struct text *text)
{
    struct plot_curve lines[CURVES_RUNS_MAX] = {0};
    double *places[CURVES_RUNS_MAX];
    for (size_t i = 0; i < curves->count; i++) {
        const json_t *steps = json_object_get(curves->runs[i].metrics, "steps");
        const json_t *values =
            json_object_get(json_object_get(curves->runs[i].metrics, "series"), name);
        size_t count = json_array_size(steps), kept = 0;
        double *x = places[i] = xcalloc(2 * count + 1, sizeof *x), *y = x + count;
        for (size_t row = 0; row < count; row++) {
            const json_t *value = json_array_get(values, row);
            if (!value || json_is_null(value))
                continue; /* another metric has this step */
            x[kept] = json_number_value(json_array_get(steps, row));
            y[kept++] = field_as_number(value);
        }
        lines[i] = (struct plot_curve){curves->runs[i].name, x, y, kept};
    }
    plot_write(&cli->out, name, lines, curves->count, text);
    for (size_t i = 0; i < curves->count; i++)
        free(places[i]);
}

static int metrics_write_png(const struct curves *curves, const json_t *names, const char *file,
                             struct error *err)
{
    static const char *const words[] = {"gnuplot", "-", NULL};
    struct text script = {0};
    struct command_result result;
    int status = curves_gnuplot(curves, names, &script)
                     ? command_run(words, text_string(&script), METRICS_GNUPLOT_MAX_S, &result, err)
                     : error_set(err, -ENODATA, "there are no values to draw");
    text_fini(&script);
    if (status == -ENOENT)
        return error_set(err, status,
                         "--png needs gnuplot, which is not installed (in Debian: gnuplot-nox); "
                         "--csv prints the figures for other programs");
    if (status < 0)
        return status;
    char *complaint = command_complaint(&result);
    if (result.exit_code != 0 || !result.out.size)
        status = error_set(err, -EIO, "gnuplot made no picture: %s", complaint);
    else
        status = file_replace(file, result.out.data, result.out.size, 0666, err);
    free(complaint);
    command_fini(&result);
    return status;
}

/* Returns an error if no run has one of the names, although the runs have other metrics. */
static int metrics_check_curves(struct cli *cli, const struct metrics_options *options,
                                struct error *err)
{
    const struct curves *curves = options->curves;
    int status = 0;
    for (size_t i = 0; i < options->names.count; i++) {
        const char *name = options->names.items[i];
        size_t run = 0;
        while (run < curves->count && !curves_has(curves->runs[run].metrics, name))
            run++;
        bool is_unknown = run == curves->count;
        for (run = 0; is_unknown && run < curves->count && status == 0; run++) {
            struct address address;
            status = address_parse(curves->runs[run].name, &address, err);
            if (status == 0)
                status = reader_find_run(cli, &address, err);
            if (status == 0)
                status = metrics_check_name(cli, &address, name, err);
        }
    }
    return status;
}

static int metrics_show_curves(struct cli *cli, const struct metrics_options *options)
{
    struct text text = {0};
    struct error err;
    const char *name;
    int status = metrics_check_curves(cli, options, &err);
    if (status < 0)
        return cli_fail(&err);
    json_t *value, *names = curves_names(options->curves, &options->names);
    if (options->as_csv) {
        filter_pass(); /* the names come from programs */
        curves_csv(options->curves, names, &text);
    } else if (json_object_size(names) == 0) {
        text_add(&text, "no metrics yet\n");
    } else if (options->png) {
        status = metrics_write_png(options->curves, names, options->png, &err);
    } else {
        json_object_foreach(names, name, value) metrics_plot(cli, options->curves, name, &text);
    }
    cli_print(&text);
    json_decref(names);
    return status < 0 ? cli_fail(&err) : CLI_OK;
}

/* --- The verb --------------------------------------------------------------------------------- */

static int metrics_show(struct cli *cli, const struct address *run,
                        const struct metrics_options *options, struct error *err)
{
    struct text text = {0};
    json_t *reply;
    char buffer[ADDRESS_TEXT_SIZE];
    unsigned last = options->last ? options->last : METRICS_LAST_DEFAULT;
    int status = reader_get_metrics(cli, run, &options->names, last, &reply, err);
    if (status < 0)
        return status;
    status = metrics_check_names(cli, run, reply, &options->names, err);
    if (status < 0) {
        json_decref(reply);
        return status;
    }
    if (cli->as_json) {
        client_print_json(reply);
    } else {
        if (cli->has_several)
            text_addf(&text, "%s\n", address_text(run, buffer));
        if (json_array_size(json_object_get(reply, "steps")) == 0)
            text_add(&text, "no metrics yet\n");
        else
            metrics_write(cli, reply, &text);
        if (cli->has_several)
            text_add(&text, "\n");
    }
    cli_print(&text);
    json_decref(reply);
    return 0;
}

/* `context` is the options. */
static int metrics_one(struct cli *cli, const struct address *address, const void *context)
{
    const struct metrics_options *options = context;
    struct address run = *address, newest;
    struct error err;
    int status = reader_find_run(cli, &run, &err);
    newest = run;
    if (status == 0 && address_kind(address) != ADDRESS_RUN && !options->as_csv)
        status = reader_find_metrics(cli, &run, &err);
    if (status == 0 && (options->as_plot || options->as_csv || options->png)) {
        struct address curve = run;
        curve.attempt = address->attempt; /* 0: all runs of the phase */
        status = metrics_add_curves(cli, &curve, &run, options, &err);
    } else if (status == 0) {
        cli_note_earlier(&newest, &run, "metrics");
        status = metrics_show(cli, &run, options, &err);
    }
    return status < 0 ? cli_fail(&err) : CLI_OK;
}

/* Prints what is wrong with the options, and returns false. */
static bool metrics_check(const struct cli *cli, const struct metrics_options *options)
{
    bool has_files = metrics_wants_files(options);
    unsigned forms = (unsigned)cli->as_json + options->as_plot + options->as_csv +
                     (options->png != NULL) + has_files;
    for (size_t i = 0; i < options->names.count; i++) {
        if (!extract_is_name(options->names.items[i])) {
            (void)cli_usage(cli,
                            "'%s' is not the name of a metric; names have a-z, 0-9 and _, and "
                            "begin with no digit",
                            options->names.items[i]);
            return false;
        }
    }
    if (forms > 1)
        (void)cli_usage(cli, "--json, --plot, --csv, --png, and --tensorboard or --trackio exclude "
                             "each other");
    else if (has_files && options->last)
        (void)cli_usage(cli, "--tensorboard and --trackio write all steps, so they exclude --last");
    else if (options->files.follows && !has_files)
        (void)cli_usage(cli, "--follow needs --tensorboard or --trackio");
    else
        return true;
    return false;
}

int metrics_verb(struct cli *cli, char **words)
{
    struct curves curves = {.count = 0};
    struct metrics_options options = {.curves = &curves};
    const struct option_rule rules[] = {
        {"name", 'n', "NAME", "print only this metric; may be repeated", .list = &options.names},
        {"last", 0, "N", "print the newest N steps (20, or all in curves)", .number = &options.last,
         .least = 1},
        {"plot", 'p', NULL, "draw the curves of phases or runs: of the loss, or of each --name",
         .flag = &options.as_plot},
        {"csv", 0, NULL, "print all steps of phases or runs as CSV", .flag = &options.as_csv},
        {"png", 0, "FILE", "draw the curves into this file, by gnuplot", .text = &options.png},
        {"tensorboard", 0, "DIR", "write event files of TensorBoard into this folder",
         .text = &options.files.tensorboard},
        {"trackio", 0, "FILE", "write into this database of trackio",
         .text = &options.files.trackio},
        {"follow", 'f', NULL, "go on writing these files until the addresses have ended",
         .flag = &options.files.follows},
        {"json", 0, NULL, "print the daemon's answer", .flag = &cli->as_json},
        {0},
    };
    struct option_arguments arguments = {.min = 1, .max = OPTION_ARGUMENTS_MAX};
    int exit_code;
    if (!options_parse(cli, words, rules, &arguments, &exit_code))
        return exit_code;
    if (!metrics_check(cli, &options))
        return CLI_USAGE;
    options.files.names = &options.names;
    if (metrics_wants_files(&options))
        return export_write(cli, &arguments, &options.files);
    exit_code = options_each_address(cli, &arguments, metrics_one, &options);
    if (curves.count) {
        int shown = metrics_show_curves(cli, &options);
        exit_code = exit_code == CLI_OK ? shown : exit_code;
    }
    curves_fini(&curves);
    return exit_code;
}
