/* The metrics of several runs: one series for each run and metric. */
#ifndef PHASED_CLI_METRICS_CURVES_H
#define PHASED_CLI_METRICS_CURVES_H

#include "lib/address.h"

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct option_list;
struct text;

enum { CURVES_RUNS_MAX = 26 }; /* a letter each */

/* A run, and its metrics as the API answers them. */
struct curves_run {
    char name[ADDRESS_TEXT_SIZE];
    json_t *metrics;
};

struct curves {
    struct curves_run runs[CURVES_RUNS_MAX];
    size_t count;
};

/* Takes `metrics`. There must be room for one more run. Adding the same run again changes
 * nothing. */
void curves_add(struct curves *curves, const struct address *run, json_t *metrics);
void curves_fini(struct curves *curves);

/* Whether the metrics of a run have a value of this name. */
bool curves_has(const json_t *metrics, const char *name);

/* Returns the names that any run has, as a new object. The names have the order of `wanted`, unless
 * `wanted` is empty. */
json_t *curves_names(const struct curves *curves, const struct option_list *wanted);

/* Adds a line for each step of each run: `run,step,loss,lr`, with a title line. Numbers have all
 * their digits. A missing value is empty, NaN is nan. */
void curves_csv(const struct curves *curves, const json_t *names, struct text *text);

/* Adds a gnuplot script that draws one picture for each metric that has values, with a line for
 * each run. gnuplot writes PNG to its standard output. Returns how many pictures there are. */
size_t curves_gnuplot(const struct curves *curves, const json_t *names, struct text *text);

#endif
