/* Secrets: environment variables whose values are kept out of the record and of all that phased
 * shows.
 *
 * Where a value would stand, there is a mark instead: "(secret)". If a workflow has several values
 * of one variable, the others are "(secret 2)" and so on. The values themselves are in one file of
 * the home, secrets/WORKFLOW, which only the owner can read: {"HF_TOKEN": ["hf_...", ...]}. The
 * worker puts them into the environment of the programs. */
#ifndef PHASED_LIB_SECRETS_H
#define PHASED_LIB_SECRETS_H

#include <stdbool.h>

#include <jansson.h>

enum { SECRETS_SCRUB_MIN = 8 }; /* a shorter value also stands in texts that have nothing secret */

/* Whether the value of this variable is a secret: by its name, because the value is a URL with a
 * password, or because the value looks like a mark. An empty value is not a secret. */
bool secrets_is(const char *name, const char *value);

/* Adds the value to `secrets`, which may have it already. Returns its mark, which the caller
 * frees. */
char *secrets_add(json_t *secrets, const char *name, const char *value);

/* Whether the text is a mark. */
bool secrets_is_mark(const char *text);

/* Returns the value that `text` stands for: the secret if it is a mark, and otherwise `text`.
 * Returns NULL if `secrets`, which may be NULL, lacks the value. The result is borrowed. */
const char *secrets_value(const json_t *secrets, const char *name, const char *text);

/* Replaces each value of at least SECRETS_SCRUB_MIN bytes, wherever it stands in the text, by
 * "(secret)". `secrets` may be NULL. Returns the new text, which the caller frees. */
char *secrets_scrub(const json_t *secrets, char *take_text);

#endif
