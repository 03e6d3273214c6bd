/* A core with a matrix, for its unit tests: ladder.1 to ladder.3, their matrix `ladder`, and
 * `train` after it. Tests name the members in events. */
#ifndef PHASED_TESTS_UNIT_MATRIX_WORLD_H
#define PHASED_TESTS_UNIT_MATRIX_WORLD_H

#include "tests/unit/core_world.h"

enum { MEMBERS = 3, MATRIX = MEMBERS, NEXT, PHASES };

struct workflow *matrix_workflow(void);
char *matrix_copy(const char *text);
/* For cmocka: the state is a struct world. */
int matrix_setup(void **state);
int matrix_teardown(void **state);

void matrix_begins(struct world *world, unsigned lanes, unsigned rungs);
/* The member begins, as the next member in its allocation or in a new one. Or it ends. */
void matrix_runs(struct world *world, const char *member);
void matrix_succeeds(struct world *world, const char *member);
void matrix_fails(struct world *world, const char *member, enum run_cause cause);
/* The matrix cannot choose. */
void matrix_is_judged(struct world *world, enum gate_result gate);
/* The matrix can choose. These members go on, or the first one is the best. */
void matrix_chooses(struct world *world, bool goes_on, size_t count, const char *const *names);

#endif
