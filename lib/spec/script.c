/* Looking for variables in a bash script by its characters alone. */
#include "lib/spec/script.h"

#include "lib/text.h"

#include <ctype.h>
#include <string.h>

enum {
    SCRIPT_LOOK_BACK = 200, /* how many bytes before a word may belong to its command */
    SCRIPT_WORDS_MAX = 200, /* places of one word that are looked at */
};

static bool script_is_word(char character)
{
    return isalnum((unsigned char)character) || character == '_';
}

/* Returns the next place of `name` as a whole word, at or after `at`; NULL: there is no other. */
static const char *script_find_word(const char *script, const char *at, const char *name)
{
    size_t size = strlen(name);
    while ((at = strstr(at, name))) {
        if ((at == script || !script_is_word(at[-1])) && !script_is_word(at[size]))
            return at;
        at += size;
    }
    return NULL;
}

/* Whether the word stands between the two places. */
static bool script_has_word(const char *begin, const char *end, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = begin; at + size <= end; at++) {
        if (strncmp(at, word, size) == 0 && (at == begin || !script_is_word(at[-1])) &&
            !script_is_word(at[size]))
            return true;
    }
    return false;
}

/* Whether `at` lies in `$((...))` or `((...))`. The nearest pair before `at` on the same line says
 * so: "((" opens, and "))" closes. */
static bool script_is_arithmetic(const char *script, const char *at)
{
    for (int i = 0; i < SCRIPT_LOOK_BACK && at - script >= 2; i++) {
        at--;
        if (at[0] == '\n')
            return false;
        if (at[0] == '(' && at[-1] == '(')
            return true;
        if (at[0] == ')' && at[-1] == ')')
            return false;
    }
    return false;
}

bool script_uses(const char *script, const char *name)
{
    size_t size = strlen(name);
    if (strstr(script, "PHASED_PARAMS"))
        return true;
    for (const char *at = script; (at = script_find_word(script, at, name)); at += size) {
        char before = at > script ? at[-1] : '\0';
        char before_that = at > script + 1 ? at[-2] : '\0';
        if (before == '$' || (before == '{' && before_that == '$'))
            return true;
        if ((before == '#' || before == '!') && before_that == '{')
            return true;
        if ((before == '\'' || before == '"') && at[size] == before)
            return true;
        if (script_is_arithmetic(script, at))
            return true;
    }
    return false;
}

bool script_next_reference(const char **at, char ret_name[SCRIPT_NAME_MAX + 1])
{
    const char *from = *at;
    while ((from = strchr(from, '$'))) {
        from++;
        if (*from == '{')
            from++;
        size_t size = 0;
        while (script_is_word(from[size]))
            size++;
        bool is_name = size && size <= SCRIPT_NAME_MAX && !isdigit((unsigned char)*from);
        if (!is_name)
            continue;
        memcpy(ret_name, from, size);
        ret_name[size] = '\0';
        *at = from + size;
        return true;
    }
    return false;
}

bool script_assigns(const char *script, const char *name)
{
    static const char *const words[] = {"for",     "read",    "local",     "declare",
                                        "let",     "export",  "readonly",  "typeset",
                                        "getopts", "mapfile", "readarray", "select"};
    size_t size = strlen(name);
    const char *at = script;
    for (int i = 0; i < SCRIPT_WORDS_MAX && (at = script_find_word(script, at, name)); i++) {
        char after = at[size];
        if (after == '=' || (after == '+' && at[size + 1] == '='))
            return true;
        /* In the same command, a word before the name sets variables: `while read a name`. */
        const char *begin = at;
        while (begin > script && at - begin < SCRIPT_LOOK_BACK && !strchr("\n;&|(", begin[-1]))
            begin--;
        for (size_t j = 0; j < sizeof words / sizeof words[0]; j++) {
            if (script_has_word(begin, at, words[j]))
                return true;
        }
        at += size;
    }
    return false;
}

/* Whether a part of the script may set variables whose names the script does not show, may let
 * unset variables pass, or may be in another language. */
static bool script_is_open(const char *script)
{
    static const char *const parts[] = {"<<", "set +", ". ", "PHASED_PARAMS"};
    static const char *const words[] = {"eval", "source", "module", "conda", "ml", "printf"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(script, parts[i]))
            return true;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (script_find_word(script, script, words[i]))
            return true;
    return false;
}

/* Whether `at` may lie in single quotes, in a comment or behind a backslash. */
static bool script_is_quoted(const char *script, const char *at)
{
    bool is_quoted = at > script && at[-1] == '\\', is_comment = false;
    for (const char *before = script; before < at; before++) {
        is_quoted ^= *before == '\'';
        is_comment = *before == '#' || (is_comment && *before != '\n');
    }
    return is_quoted || is_comment;
}

bool script_needs(const char *script, const char *name, const char *end)
{
    size_t size = strlen(name);
    const char *begin = end - size;
    bool has_brace = begin > script && begin[-1] == '{';
    if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") < size || text_ends(name, "_proxy") ||
        (has_brace && *end != '}') || script_is_quoted(script, begin - 1 - has_brace) ||
        script_is_open(script))
        return false;
    /* Any other place of the name may set the variable, but `--name` does not. */
    for (const char *at = script; (at = script_find_word(script, at, name)); at += size) {
        char before = at > script ? at[-1] : '\0';
        bool is_read = before == '$' || (before == '{' && at > script + 1 && at[-2] == '$');
        if (!is_read && before != '-')
            return false;
    }
    return true;
}
