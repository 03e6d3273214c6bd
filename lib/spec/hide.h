/* Takes the secrets out of the text of a workflow file, before the text is recorded. lib/secrets.h
 * says what a secret is. The text with the marks is still a workflow file. */
#ifndef PHASED_LIB_SPEC_HIDE_H
#define PHASED_LIB_SPEC_HIDE_H

#include <stddef.h>

#include <jansson.h>

struct error;
struct yaml_node;
struct spec_problems;
struct text;

/* Appends the text of the file to `ret_text`, with marks in place of the secrets in `env`, and adds
 * the secrets to `secrets`. `ret_names` are the names under the key `secrets` of the file, the
 * caller's. A text that is not YAML has no secrets. -EINVAL: a secret is a mark already. */
int hide_secrets(const char *data, size_t size, json_t *secrets, json_t **ret_names,
                 struct text *ret_text, struct error *err);

/* Warns of secrets that stay in the text: they refer to params, or stand outside of `env` too. */
void hide_check(const struct yaml_node *root, struct spec_problems *problems);

#endif
