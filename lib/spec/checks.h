/* The checks of a gate or of the guards: from the map in the file to the JSON that lib/expr/check.h
 * reads. */
#ifndef PHASED_LIB_SPEC_CHECKS_H
#define PHASED_LIB_SPEC_CHECKS_H

#include <jansson.h>

struct key;
struct yaml_node;
struct scope;
struct sections;

/* The readers of three keys of lib/spec/keys.def, in the order of the table. A guard cannot have
 * the name of a check of the gate. Guards and `until` cannot name other phases. */
void checks_read_gate(const struct sections *sections, const struct key *key, json_t *phase);
void checks_read_guards(const struct sections *sections, const struct key *key, json_t *phase);
void checks_read_until(const struct sections *sections, const struct key *key, json_t *phase);

/* Reads one expression of a check: a condition, or a value when `key` is "value". Returns it as a
 * new JSON text; NULL after a problem. It cannot name other phases. */
json_t *checks_read_alone(struct scope *scope, const struct yaml_node *node, const char *key);

#endif
