/* A live view without a terminal, a daemon and a clock: answers come from texts, and the picture is
 * read as text. */
#ifndef PHASED_TESTS_TOP_WORLD_H
#define PHASED_TESTS_TOP_WORLD_H

#include "cli/top/grid.h"
#include "cli/top/model.h"

struct top_world {
    struct model model;
    double clock_s;
    struct grid grid; /* the last picture */
};

void top_world_init(struct top_world *world);
void top_world_fini(struct top_world *world);

/* The daemon answers a path. In `json`, ' stands for ". */
void top_world_answer(struct top_world *world, const char *path, const char *json);
/* The daemon answers with a failure. */
void top_world_fail(struct top_world *world, const char *path, int code, const char *message);
/* `count` workflows with the names job-1, job-2, ...: every tenth is held, the others wait. */
void top_world_many(struct top_world *world, unsigned count);
/* Workflow 7 with two phases, a matrix of two members and a gate, as the API answers. */
void top_world_workflow(struct top_world *world);
/* Its run 7/train#2 is shown, with metrics and this log. */
void top_world_run(struct top_world *world, const char *log);

/* Draws. The rows are joined by newlines; the text is borrowed until the next picture. */
const char *top_world_picture(struct top_world *world, int rows, int columns);
/* One row of the last picture; the text is borrowed until the next row. */
const char *top_world_row(const struct top_world *world, int row);
/* The colour of the first letter of `word` in the last picture; COLOUR_COUNT: it is not there. */
enum colour top_world_colour(const struct top_world *world, const char *word);

/* Presses the keys of a text, and draws after each of them. */
void top_world_type(struct top_world *world, const char *keys);
void top_world_press(struct top_world *world, int key);

#endif
