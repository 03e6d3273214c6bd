/* What the tests of daemon/store share: a record in a folder of its own, and a workflow in which
 * every member of the model says something. */
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
/* Lets that be the time which the record's views go by. */
void record_stop_the_clock(void);

/* Makes the folder and opens a new record in it. */
void record_open(struct record *record);
/* Closes it and opens it again, as a restarted daemon does. */
void record_reopen(struct record *record);
/* Closes it and removes the folder with all that is in it. */
void record_close(struct record *record);

/* Begins or commits, and fails the test where that fails. */
void record_begin(struct record *record);
void record_commit(struct record *record);
/* Applies one effect in a transaction of its own. */
void record_apply(struct record *record, const struct core_effect *effect);

/* The first column of the first row, asked from outside by another connection that only reads; the
 * caller's to free(). NULL is "". Rows after the first follow, each after a comma. */
char *record_ask(const struct record *record, const char *sql);
void record_assert(const struct record *record, const char *sql, const char *expected);

/* The workflow `id` of two phases: `validate`, and `train` after it, without runs. Free it with
 * workflow_free(). */
struct workflow *record_workflow(uint64_t id);
/* What was submitted for it; the JSON is the caller's by record_submission_fini(). */
struct store_submission record_submission(void);
void record_submission_fini(struct store_submission *submission);
/* Inserts the workflow in a transaction. */
void record_insert(struct record *record, const struct workflow *workflow);

/* Gives the phase a run in a new job, with these ids; both are saved too. */
struct run *record_add_run(struct record *record, struct phase *phase, uint64_t run, uint64_t job);
void record_save_run(struct record *record, struct run *run);
/* Records that its failure was answered by a micro_batch of 16 instead of 32. */
void record_add_remedy(struct record *record, uint64_t run);

/* An answer_take that adds to the list `context`. */
void record_list_take(json_t *workflow, void *context);
/* The workflows that are listed, of which there are `total`; the caller's to json_decref(). */
json_t *record_list(struct record *record, enum answer_scope scope, unsigned limit, int64_t total);

#endif
