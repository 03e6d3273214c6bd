/* Quotes of the shell. */
#include "lib/sbatch/word.h"

#include "lib/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void word_text_fini(struct word_text *words)
{
    text_fini(&words->text);
    free(words->places);
    *words = (struct word_text){0};
}

void word_text_add(struct word_text *words, char byte, const char *place)
{
    if (words->text.size == words->capacity) {
        words->capacity = words->capacity ? 2 * words->capacity : 64;
        words->places = xrealloc(words->places, words->capacity * sizeof *words->places);
    }
    words->places[words->text.size] = place;
    text_add_bytes(&words->text, &byte, 1);
}

/* Adds `$(...)` as it is written. */
static const char *word_read_substitution(const char *at, struct word_text *words)
{
    size_t depth = 0;
    for (; *at; at++) {
        word_text_add(words, *at, at);
        depth += *at == '(';
        if (*at == ')' && --depth == 0)
            return at + 1;
    }
    return at;
}

/* Adds what stands between double quotes. `at` is behind the first. */
static const char *word_read_quoted(const char *at, struct word_text *words)
{
    while (*at && *at != '"') {
        if (at[0] == '$' && at[1] == '(') {
            at = word_read_substitution(at, words);
            continue;
        }
        bool is_escape = at[0] == '\\' && at[1] && strchr("$`\"\\\n", at[1]);
        at += is_escape;
        if (!is_escape || *at != '\n') /* otherwise the line goes on */
            word_text_add(words, *at, at);
        at++;
    }
    return at + (*at == '"');
}

const char *word_read(const char *at, struct word_text *words)
{
    while (*at && !strchr(" \t\n;&|()<>", *at)) {
        if (*at == '\'') {
            for (at++; *at && *at != '\''; at++)
                word_text_add(words, *at, at);
            at += *at == '\'';
        } else if (*at == '"') {
            at = word_read_quoted(at + 1, words);
        } else if (at[0] == '$' && at[1] == '(') {
            at = word_read_substitution(at, words);
        } else if (at[0] == '\\' && at[1] == '\n') {
            at += 2;
        } else {
            at += at[0] == '\\' && at[1];
            word_text_add(words, *at, at);
            at++;
        }
    }
    return at;
}
