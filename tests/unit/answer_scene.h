/* What the tests of answers share: a record with one workflow, and a comparison of JSON. */
#ifndef PHASED_TESTS_UNIT_ANSWER_SCENE_H
#define PHASED_TESTS_UNIT_ANSWER_SCENE_H

#include "tests/unit/record.h"

#include <jansson.h>

/* Inserts workflow 7: validate has failed once and runs again, for 36 s until record_now_ms(). Free
 * it with workflow_free(). */
struct workflow *answer_scene(struct record *record);

/* Takes `json`. The expected text is written with ' for ". */
void assert_json(json_t *json, const char *expected_text);

#endif
