/* What a phase, or the whole, is expected to take: something to compare with, never a limit. */
#ifndef PHASED_LIB_SPEC_EXPECT_H
#define PHASED_LIB_SPEC_EXPECT_H

#include <jansson.h>

struct node;
struct scope;

/* Of {hours: [3, 5], usd: 490} those that are said, each from and to: {"hours": [3, 5], "usd":
 * [490, 490]}; the caller's. NULL where `node` is, where it says nothing, or after a problem.
 * Dollars need the workflow's price. */
json_t *expect_read(struct scope *scope, const struct node *node, const json_t *price);

#endif
