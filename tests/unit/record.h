/* What the tests of daemon/store share: a record in a folder of its own, and a workflow in which
 * each member of the model has a value. */
#ifndef PHASED_TESTS_UNIT_RECORD_H
#define PHASED_TESTS_UNIT_RECORD_H

#include "tests/unit/unit.h"

#include "daemon/core/core.h"
#include "daemon/store/answers.h"
#include "daemon/store/store.h"
#include "lib/error.h"

#include <stddef.h>

struct record {
    char folder[64];
    char *path;
    struct store *store;
};

int64_t record_now_ms(void);
/* Sets the time that the record's views use. */
void record_stop_the_clock(void);

/* Makes the folder and opens a new record in it. */
void record_open(struct record *record);
/* Closes it and opens it again, as a restarted daemon does. */
void record_reopen(struct record *record);
/* Closes the record, and removes its folder with all files. */
void record_close(struct record *record);

/* Returns a file of the sources, from the folder that `make check` names. The caller frees it. */
char *record_read_source(const char *path);
/* Changes the file of the record, as another program could. */
void record_tamper(const struct record *record, const char *sql);
/* Closes the record, and puts an empty record of an older schema in its place: of version 11, which
 * the migrations begin from, or later. */
void record_make_older(struct record *record, int version);

/* Begins or commits a transaction. A failure fails the test. */
void record_begin(struct record *record);
void record_commit(struct record *record);
/* Applies one effect in a transaction of its own. */
void record_apply(struct record *record, const struct core_effect *effect);

/* Returns the first column of all rows, separated by commas. A separate connection reads it. NULL
 * becomes "". The caller frees the text. */
char *record_ask(const struct record *record, const char *sql);
void record_assert(const struct record *record, const char *sql, const char *expected);

/* Makes the workflow `id` with two phases and no runs: `validate`, and `train` after it. Free it
 * with workflow_free(). */
struct workflow *record_workflow(uint64_t id);
/* What was submitted for the workflow. Free its JSON with record_submission_fini(). */
struct store_submission record_submission(void);
void record_submission_fini(struct store_submission *submission);
/* Inserts the workflow in a transaction. */
void record_insert(struct record *record, const struct workflow *workflow);

/* Gives the phase a run in a new job, with these ids, and saves both. */
struct run *record_add_run(struct record *record, struct phase *phase, uint64_t run, uint64_t job);
void record_save_run(struct record *record, struct run *run);
/* Records that a remedy answered the failure of the run: a micro_batch of 16 instead of 32. */
void record_add_remedy(struct record *record, uint64_t run);

/* An answer_take that adds to the list `context`. */
void record_list_take(json_t *workflow, void *context);
/* Lists the workflows. `total` of them must exist. The caller calls json_decref(). */
json_t *record_list(struct record *record, enum answer_scope scope, unsigned limit, int64_t total);

#endif
