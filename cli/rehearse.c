/* phasectl rehearse: queues a rehearsal (lib/spec/rehearsal.h), watches it, and compares its
 * results with the file. The results come from the daemon. The expectations come from the file,
 * which is read here as for the real run. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/format.h"
#include "cli/options.h"
#include "cli/source.h"
#include "cli/submit.h"
#include "cli/verbs.h"
#include "cli/view.h"
#include "cli/watch.h"
#include "lib/address.h"
#include "lib/checkpoint.h"
#include "lib/error.h"
#include "lib/json.h"
#include "lib/metrics/extract.h"
#include "lib/metrics/guards.h"
#include "lib/protocol/words.h"
#include "lib/spec/phase.h"
#include "lib/spec/rehearsal.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The report, as it grows: as text, and as JSON. */
struct rehearse {
    struct cli *cli;
    const json_t *real; /* the resolved file */
    struct text text;
    json_t *phases, *phase; /* the last of them, borrowed */
    unsigned problems;
    double run_s, cost_usd;            /* of the real run, as far as they are known */
    bool lacks_seconds, lacks_dollars; /* for some phase they are not known */
};

/* A phase: in the file (`spec`) and in the daemon (`shown`). `run` made the most steps, `resumed`
 * is the newest run that resumed from a checkpoint; both may be NULL. */
struct rehearse_phase {
    const json_t *spec, *shown, *run, *resumed;
    double seconds; /* of all its runs */
};

static void rehearse_line(struct rehearse *report, const char *what, bool is_bad, const char *said)
{
    text_addf(&report->text, "  %-11s", what);
    json_t *line = json_pack("{s:s, s:b, s:s}", "what", what, "bad", is_bad, "said", said);
    /* A line that is not UTF-8 is left out. */
    (void)json_array_append_new(json_object_get(report->phase, "lines"), line);
    struct text safe = {0};
    terminal_add_plain(&safe, said);
    terminal_colour(&report->cli->out, &report->text, is_bad ? COLOUR_RED : COLOUR_PLAIN,
                    text_string(&safe));
    text_add(&report->text, "\n");
    text_fini(&safe);
    report->problems += is_bad;
}

/* --- Metrics ---------------------------------------------------------------------------------- */

/* Returns the metrics that the checks and the matrix of the phase need, and that are not in
 * `series`. The caller frees the text. */
static int rehearse_missing(const struct rehearse *report, const struct rehearse_phase *phase,
                            const json_t *series, char **ret_missing, struct error *err)
{
    const json_t *members = json_object_get(json_object_get(phase->spec, "matrix"), "members");
    const json_t *first = json_array_get(members, 0);
    struct guards *guards;
    const char *name;
    json_t *values;
    int status =
        guards_new(first ? phase_spec_find(report->real, json_string_value(first)) : phase->spec, 0,
                   &guards, err);
    if (status < 0)
        return status;
    json_object_foreach((json_t *)series, name, values)
        guards_add(guards, 0, 0, &(struct extract_value){.name = name});
    *ret_missing = guards_missing(guards);
    guards_free(guards);
    return 0;
}

static int rehearse_metrics(struct rehearse *report, const struct rehearse_phase *phase,
                            struct error *err)
{
    struct text came = {0};
    json_t *reply, *value;
    const char *name;
    char *missing = NULL;
    int status = client_get_part_of(report->cli, phase->run, "/metrics?last=1", &reply, err);
    if (status < 0)
        return status;
    const json_t *series = json_object_get(reply, "series");
    status = rehearse_missing(report, phase, series, &missing, err);
    json_object_foreach((json_t *)series, name, value)
        text_addf(&came, "%s%s", came.size ? ", " : "", name);
    rehearse_line(report, "metrics", false, came.size ? text_string(&came) : "none came");
    if (missing && *missing)
        rehearse_line(report, "MISSING", true, missing);
    bool counts = json_is_object(json_object_get(phase->spec, "progress"));
    if (counts && isnan(field_number(phase->shown, "step")))
        rehearse_line(report, "STEPS", true, "no steps came, but `progress` asks for them");
    text_fini(&came);
    free(missing);
    json_decref(reply);
    return status;
}

/* --- Checkpoints ------------------------------------------------------------------------------ */

/* The first step that has a metric; NaN if the run reported no step. */
static int rehearse_first_step(struct rehearse *report, const json_t *run, double *ret_step,
                               struct error *err)
{
    json_t *reply;
    int status = client_get_part_of(report->cli, run, "/metrics?buckets=1", &reply, err);
    if (status < 0)
        return status;
    const json_t *first = json_array_get(json_object_get(reply, "steps"), 0);
    *ret_step = json_number(first);
    json_decref(reply);
    return 0;
}

/* Says why a run that resumed from step `from` did not go on. Returns NULL if it did, and reached
 * step `last`. The caller frees the text. */
static char *rehearse_stuck(const struct rehearse_phase *phase, double from, double first,
                            double last)
{
    bool counts = json_is_object(json_object_get(phase->spec, "progress"));
    if (field_run_outcome(phase->resumed) != OUTCOME_SUCCEEDED)
        return text_format("the run that resumed from step %.0f failed", from);
    if (first < from)
        return text_format("the run started again at step %.0f, although there was a checkpoint of "
                           "step %.0f: `run` must read $PHASED_RESUME",
                           first, from);
    if (counts && !(last > from))
        return text_format("no step came after step %.0f, the step of the checkpoint", from);
    return NULL;
}

static int rehearse_resumed(struct rehearse *report, const struct rehearse_phase *phase,
                            struct error *err)
{
    double first, from = field_number(phase->resumed, "first_step");
    double last = field_number(phase->resumed, "last_step");
    int status = rehearse_first_step(report, phase->resumed, &first, err);
    if (status < 0)
        return status;
    char *stuck = rehearse_stuck(phase, from, first, last);
    char *said =
        stuck ? stuck
        : isnan(last)
            ? text_format("a run resumed from step %.0f; it counts no steps", from)
            : text_format("a run resumed from step %.0f and reached step %.0f", from, last);
    rehearse_line(report, "resume", stuck != NULL, said);
    free(said);
    return 0;
}

/* Measures the files and folders at `path`, which may be a pattern. False: no such file. */
static bool rehearse_measure(const char *path, struct checkpoint_extent *ret_extent)
{
    glob_t found;
    bool is_there = false;
    *ret_extent = (struct checkpoint_extent){0};
    if (checkpoint_measure(path, ret_extent) == 0)
        return true; /* a name may have characters of patterns */
    if (glob(path, 0, NULL, &found) != 0)
        return false;
    for (size_t i = 0; i < found.gl_pathc; i++)
        is_there |= checkpoint_measure(found.gl_pathv[i], ret_extent) == 0;
    globfree(&found);
    return is_there;
}

/* The worker records only checkpoints that are whole. */
static int rehearse_checkpoint(struct rehearse *report, const struct rehearse_phase *phase,
                               struct error *err)
{
    const char *path = field_text(phase->shown, "checkpoint");
    if (!json_is_object(json_object_get(phase->spec, "checkpoint")))
        return 0;
    struct checkpoint_extent extent;
    char size[FORMAT_SIZE];
    bool is_there = rehearse_measure(path, &extent);
    char *said = !path[0]    ? text_format("the program wrote no checkpoint")
                 : !is_there ? text_format("%s does not exist any more", path)
                             : text_format("%s, %s", path, format_bytes(extent.bytes, size));
    rehearse_line(report, "checkpoint", !extent.bytes, said);
    free(said);
    if (phase->resumed)
        return rehearse_resumed(report, phase, err);
    if (extent.bytes)
        rehearse_line(report, "resume", false, "not tried: the program ended by itself");
    return 0;
}

/* --- The gate --------------------------------------------------------------------------------- */

static int rehearse_gate(struct rehearse *report, const struct rehearse_phase *phase,
                         struct error *err)
{
    json_t *reply;
    int status = client_get_part_of(report->cli, phase->shown, "/gate", &reply, err);
    if (status < 0)
        return status;
    if (json_array_size(json_object_get(reply, "checks"))) {
        text_add(&report->text, "  gate       only warns in a rehearsal; by these steps:\n");
        view_gate(&report->cli->out, reply, 4, &report->text);
        (void)json_object_set(report->phase, "gate", reply); /* fails only without memory */
    }
    json_decref(reply);
    return 0;
}

/* --- Cost ------------------------------------------------------------------------------------- */

/* Seconds of a step, as a node measured them. Without a measurement: the time of the whole run,
 * with its start, divided by its steps. */
static double rehearse_step_seconds(struct rehearse *report, const struct rehearse_phase *phase)
{
    json_t *reply = NULL;
    double step_s = NAN;
    double steps = field_number(phase->run, "last_step") - field_number(phase->run, "first_step");
    if (client_get_part_of(report->cli, phase->run, "/gpus", &reply, NULL) == 0)
        step_s =
            field_number(json_array_get(json_object_get(reply, "paces"), 0), "mean_step_seconds");
    json_decref(reply);
    if (isnan(step_s) && steps > 0)
        step_s = view_run_duration(phase->run, (double)time(NULL)) / steps;
    return step_s;
}

/* How long the real phase would run; NaN if that is not known. */
static double rehearse_project(struct rehearse *report, const struct rehearse_phase *phase)
{
    double total = field_number(json_object_get(phase->spec, "progress"), "total");
    double run_s = phase->seconds;
    if (phase->resumed && phase->resumed != phase->run) /* the real run does not stop in between */
        run_s -= view_run_duration(phase->resumed, (double)time(NULL));
    if (field_stop_reason(phase->run) != STOP_UNTIL)
        return run_s; /* the rehearsal was the whole run */
    if (isnan(total))
        return NAN;
    double step_s = rehearse_step_seconds(report, phase);
    double steps = field_number(phase->run, "last_step") - field_number(phase->run, "first_step");
    return fmax(run_s - steps * step_s, 0) + step_s * total;
}

/* How many members the matrix has. Members that reach a later rung take longer than known here. */
static double rehearse_times(struct rehearse *report, const struct rehearse_phase *phase)
{
    const json_t *matrix = json_object_get(phase->spec, "matrix");
    if (!json_is_object(matrix))
        return 1;
    if (json_is_object(json_object_get(matrix, "rungs")))
        report->lacks_seconds = report->lacks_dollars = true;
    return (double)json_array_size(json_object_get(matrix, "members"));
}

static void rehearse_cost(struct rehearse *report, const struct rehearse_phase *phase)
{
    char took[FORMAT_SIZE], paid[FORMAT_SIZE], real[FORMAT_SIZE], price[FORMAT_SIZE];
    double cost = field_number(phase->shown, "cost_usd");
    double times = rehearse_times(report, phase);
    double real_s = rehearse_project(report, phase) * times;
    double more_s = real_s - phase->seconds * times; /* waiting does not grow with the steps */
    double real_usd = cost * times + field_number(phase->shown, "usd_per_hour") * more_s / 3600;
    char *said = text_format("%s, %s; the real run: %s, %s", format_duration(phase->seconds, took),
                             format_cost(cost, paid),
                             isnan(real_s) ? "unknown" : format_duration(real_s, real),
                             format_cost(real_usd, price));
    rehearse_line(report, "cost", false, said);
    free(said);
    report->lacks_seconds = report->lacks_seconds || isnan(real_s);
    if (field_integer(json_object_get(phase->spec, "resources"), "gpus") >
        0) /* CPUs have no price */
        report->lacks_dollars = report->lacks_dollars || isnan(real_usd);
    report->run_s += isnan(real_s) ? 0 : real_s;
    report->cost_usd += isnan(real_usd) ? 0 : real_usd;
}

/* --- The report ------------------------------------------------------------------------------- */

/* Chooses the runs to report. The daemon lists the newest first. */
static void rehearse_choose(struct rehearse_phase *phase, double now)
{
    const json_t *run;
    double most = -1;
    size_t i;
    json_array_foreach(json_object_get(phase->shown, "runs"), i, run)
    {
        double seconds = view_run_duration(run, now);
        double steps = field_number(run, "last_step") - field_number(run, "first_step");
        phase->seconds += isnan(seconds) ? 0 : seconds;
        if (!phase->resumed && *field_text(run, "resume"))
            phase->resumed = run;
        if (!phase->run || steps > most) {
            phase->run = run;
            most = isnan(steps) ? -1 : steps;
        }
    }
}

static int rehearse_phase(struct rehearse *report, const json_t *spec, const json_t *shown,
                          struct error *err)
{
    struct rehearse_phase phase = {.spec = spec, .shown = shown};
    double now = (double)time(NULL), step = field_number(shown, "step");
    const char *state = field_text(shown, "state");
    rehearse_choose(&phase, now);
    report->phase = json_pack(
        "{s:s, s:s, s:o, s:[], s:n}", "phase", field_text(shown, "phase"), "state", state, "step",
        isnan(step) ? json_null() : json_integer((json_int_t)step), "lines", "gate");
    (void)json_array_append_new(report->phases, report->phase); /* fails only without memory */
    text_addf(&report->text, "\n%s ", field_text(shown, "phase"));
    terminal_colour(&report->cli->out, &report->text, view_colour(state), state);
    if (!isnan(step))
        text_addf(&report->text, " at step %.0f", step);
    text_add(&report->text, "\n");
    if (field_phase_state(shown) != PHASE_SUCCEEDED)
        rehearse_line(report, "FAILED", true,
                      *field_text(shown, "reason") ? field_text(shown, "reason")
                                                   : field_text(phase.run, "message"));
    if (!phase.run || isnan(field_number(phase.run, "started")))
        return 0;
    int status = rehearse_metrics(report, &phase, err);
    if (status == 0)
        status = rehearse_checkpoint(report, &phase, err);
    if (status == 0)
        status = rehearse_gate(report, &phase, err);
    if (status == 0)
        rehearse_cost(report, &phase);
    return status;
}

static void rehearse_conclude(struct rehearse *report)
{
    char seconds[FORMAT_SIZE], dollars[FORMAT_SIZE];
    /* "More than <$0.01" would be no bound. */
    bool is_unknown = report->lacks_dollars && report->cost_usd < 0.01;
    text_addf(&report->text, "\nthe real workflow: %s%s of running, %s%s\n",
              report->lacks_seconds ? "more than " : "", format_duration(report->run_s, seconds),
              report->lacks_dollars && !is_unknown ? "more than " : "",
              is_unknown ? "at an unknown cost" : format_cost(report->cost_usd, dollars));
    if (report->problems)
        text_addf(&report->text, "%u problem%s\n", report->problems,
                  report->problems == 1 ? "" : "s");
    else
        text_add(&report->text, "all metrics and checkpoints came\n");
}

/* The sums are for the real run. They leave out phases with unknown amounts. */
static void rehearse_print_json(const struct rehearse *report, const struct address *workflow)
{
    json_t *json =
        json_pack("{s:I, s:O, s:i, s:f, s:b, s:f, s:b}", "workflow", (json_int_t)workflow->workflow,
                  "phases", report->phases, "problems", (int)report->problems, "seconds",
                  report->run_s, "seconds_known", !report->lacks_seconds, "cost_usd",
                  report->cost_usd, "cost_usd_known", !report->lacks_dollars);
    client_print_json(json);
    json_decref(json);
}

/* A matrix is rehearsed as one phase with the name of the matrix. */
static int rehearse_report(struct rehearse *report, const struct address *workflow,
                           struct error *err)
{
    const json_t *spec;
    int status = 0;
    size_t i;
    json_array_foreach(json_object_get(report->real, "phases"), i, spec)
    {
        struct address address = *workflow;
        json_t *shown;
        if (json_object_get(spec, "member"))
            continue;
        (void)snprintf(address.phase, sizeof address.phase, "%s", field_text(spec, "name"));
        if ((status = client_get_address(report->cli, &address, &shown, err)) < 0)
            return status;
        status = rehearse_phase(report, spec, shown, err);
        json_decref(shown);
        if (status < 0)
            return status;
    }
    rehearse_conclude(report);
    return 0;
}

/* Reads the file again. The daemon has just accepted it. */
static json_t *rehearse_resolve(const char *file, const struct source_words *given,
                                struct error *err)
{
    struct spec_problems problems = {0};
    struct source source;
    json_t *json = NULL;
    if (source_read(file, given, &source, err) == 0) {
        if (spec_parse(source.name, source.text, source.size, &given->overrides, &json, &problems) <
            0)
            (void)error_set(
                err, -EINVAL,
                "%s has changed in the meantime: `phasectl check %s` lists its problems", file,
                file);
        source_fini(&source);
    }
    spec_problems_fini(&problems);
    return json;
}

/* Follows the rehearsal, and compares it with the file. */
static int rehearse_run(struct cli *cli, const struct address *workflow, const json_t *real)
{
    struct rehearse report = {.cli = cli, .real = real, .phases = json_array()};
    struct error err;
    int exit_code = watch_workflows(cli, workflow, 1, cli->as_json ? WATCH_SILENTLY : WATCH_LINES);
    if (exit_code == CLI_OK || exit_code == CLI_FAILED) {
        bool is_told = rehearse_report(&report, workflow, &err) == 0;
        if (cli->as_json && is_told)
            rehearse_print_json(&report, workflow);
        else if (!cli->as_json)
            (void)fputs(text_string(&report.text), stdout);
        if (!is_told)
            exit_code = cli_fail(&err);
        else if (report.problems)
            exit_code = CLI_FAILED;
    }
    text_fini(&report.text);
    json_decref(report.phases);
    return exit_code;
}

static int rehearse_file(struct cli *cli, const struct option_arguments *file,
                         const struct source_words *given, unsigned steps)
{
    struct address address;
    struct error err;
    int exit_code = submit_rehearsal(cli, file, given, steps, &address);
    if (exit_code != CLI_OK)
        return exit_code;
    json_t *real = rehearse_resolve(file->items[0], given, &err);
    if (!real)
        return cli_fail(&err);
    exit_code = rehearse_run(cli, &address, real);
    json_decref(real);
    return exit_code;
}

int rehearse_verb(struct cli *cli, char **words)
{
    struct source_words given = {0};
    unsigned steps = REHEARSAL_STEPS;
    const struct option_rule rules[] = {
        {"steps", 0, "N", "run this many steps of each phase (20)", .number = &steps, .least = 1},
        source_set_rule(&given),
        source_with_rule(&given),
        {"json", 0, NULL, "print only the report, as JSON", .flag = &cli->as_json},
        {0},
    };
    struct option_arguments arguments = {.min = 1, .max = 1, .has_rest = true};
    int exit_code;
    bool is_good = source_words_read(cli, words, rules, &arguments, &given, &exit_code);
    if (is_good && steps > REHEARSAL_STEPS_MAX)
        exit_code = cli_usage(cli, "--steps is at most %d", REHEARSAL_STEPS_MAX);
    else if (is_good)
        exit_code = rehearse_file(cli, &arguments, &given, steps);
    source_words_fini(&given);
    return exit_code;
}
