/* Finds commands by the grammar of the shell: quotes, substitutions, here documents, and the words
 * after which a command begins. */
#include "lib/sbatch/commands.h"

#include "lib/sbatch/option.h"
#include "lib/sbatch/runner.h"
#include "lib/sbatch/word.h"
#include "lib/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    COMMANDS_DEPTH_MAX = 64,
    COMMANDS_HERE_MAX = 8,
    COMMANDS_LEVEL_MAX = 4, /* of scripts in arguments of commands of scripts */
};

struct commands {
    const char *script, *at, *command;
    char inside[COMMANDS_DEPTH_MAX]; /* open brackets and quotes: `"`, `(`, `$` for $( ), `=` for
                                      * NAME=$( ), `a` for NAME=( ) before a command, `#` for any
                                      * other array and for arithmetic */
    size_t depth;
    bool begins;        /* the next word is a command */
    bool is_assignment; /* within NAME=value before a command */
    bool is_behind;     /* behind a command that runs another one, and never a function */
    bool is_function;   /* the script defines a function with the name of the command */
    bool reads_input;   /* the command reads a script from its input */
    struct {
        const char *word; /* the word that ends the document */
        size_t size;
        bool is_script;
    } here[COMMANDS_HERE_MAX]; /* documents that begin on the next line */
    size_t here_count;
    unsigned level;     /* of this script; 0: it is no argument */
    const char *found;  /* where the command begins; NULL: not found yet */
    const char *called; /* where it begins unless it is a function; NULL: not found yet */
};

static void commands_push(struct commands *commands, char what)
{
    if (commands->depth < COMMANDS_DEPTH_MAX)
        commands->inside[commands->depth++] = what;
    commands->begins = !strchr("\"a#", what);
    commands->is_assignment = commands->is_assignment && what == '"';
}

/* `at` is at `$(`. Of `$((` the second bracket holds arithmetic. */
static void commands_read_substitution(struct commands *commands)
{
    bool is_arithmetic = commands->at[2] == '(';
    commands_push(commands, commands->is_assignment ? '=' : '$');
    if (is_arithmetic)
        commands_push(commands, '#');
    commands->at += is_arithmetic ? 3 : 2;
}

static char commands_top(const struct commands *commands)
{
    return commands->depth ? commands->inside[commands->depth - 1] : '\0';
}

/* Notes a here document. `at` is at the name after `<<`. */
static void commands_note_here(struct commands *commands)
{
    const char *at = commands->at + strspn(commands->at, "-");
    at += strspn(at, " \t");
    at += strspn(at, "'\"\\");
    size_t size = strcspn(at, " \t\n;&|()<>'\"");
    if (size && commands->here_count < COMMANDS_HERE_MAX) {
        commands->here[commands->here_count].word = at;
        commands->here[commands->here_count].is_script = commands->reads_input;
        commands->here[commands->here_count++].size = size;
    }
    commands->at = at + size + strspn(at + size, "'\"");
}

/* Whether the wanted command begins with this word. Its arguments begin at `behind`. */
static bool commands_is_it(const struct commands *commands, const char *word, size_t size,
                           const char *behind)
{
    size_t first = strcspn(commands->command, " ");
    const char *argument = commands->command + first + (commands->command[first] == ' ');
    if (size < first || (size > first && word[size - first - 1] != '/') ||
        strncmp(word + size - first, commands->command, first) != 0)
        return false;
    behind += strspn(behind, " \t");
    return strncmp(behind, argument, strlen(argument)) == 0 &&
           (!*argument || !isalnum((unsigned char)behind[strlen(argument)]));
}

/* The option of sbatch that begins at `at`, without its value. NULL: there is none. */
static const struct sbatch_option *commands_option(const char *at, size_t size)
{
    const char *nearest;
    char name[32];
    if (size >= 2 && at[0] == '-' && at[1] != '-')
        return sbatch_option_of_letter(at[1]);
    size = size > 2 && strncmp(at, "--", 2) == 0 ? strcspn(at + 2, "= \t\n;&|()<>`\\\"'$") : 0;
    if (!size || size >= sizeof(name))
        return NULL;
    memcpy(name, at + 2, size);
    name[size] = '\0';
    return sbatch_option_find(name, &nearest);
}

/* Whether these arguments have sbatch print something and submit nothing. What follows the name of
 * the script is not for sbatch. */
static bool commands_only_prints(const char *at)
{
    static const char *const names[] = {"help", "test-only", "usage", "version"};
    for (;;) {
        at += runner_blanks(at);
        size_t size = strcspn(at, " \t\n;&|()<>`\\");
        const struct sbatch_option *option = commands_option(at, size);
        if (!option)
            return false;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (text_equal(option->name, names[i]))
                return true;
        bool is_letter = at[1] != '-';
        bool has_value = is_letter ? size > 2 : memchr(at, '=', size) != NULL;
        at += size;
        if (option->value == SBATCH_NEEDED && !has_value) {
            at += runner_blanks(at);
            at += strcspn(at, " \t\n;&|()<>`\\");
        }
    }
}

/* --- Scripts in arguments and in here documents ----------------------------------------------- */

static void commands_search(struct commands *commands);

/* Searches a script that the command runs. Notes where its own command stands, and whether it reads
 * a script from its input. */
static const char *commands_search_text(struct commands *commands, const struct word_text *words)
{
    const char *text = text_string(&words->text);
    struct commands inner = {.script = text,
                             .at = text,
                             .command = commands->command,
                             .begins = true,
                             .level = commands->level + 1};
    if (inner.level > COMMANDS_LEVEL_MAX || !words->text.size)
        return NULL;
    commands_search(&inner);
    commands->reads_input |= inner.reads_input;
    return inner.found ? words->places[inner.found - text] : NULL;
}

static void commands_search_here(struct commands *commands, const char *begin, const char *end)
{
    struct word_text words = {0};
    for (const char *at = begin; at < end; at++)
        word_text_add(&words, *at, at);
    commands->found = commands_search_text(commands, &words);
    word_text_fini(&words);
}

/* Skips the here documents that begin after the end of a line, and searches those of a shell. */
static void commands_skip_here(struct commands *commands)
{
    const char *begin = commands->at;
    for (size_t i = 0; i < commands->here_count && !commands->found;) {
        const char *line = commands->at, *text = line + strspn(line, "\t");
        size_t left = strcspn(line, "\n"), size = commands->here[i].size;
        commands->at += left + (line[left] == '\n');
        bool is_end =
            strncmp(text, commands->here[i].word, size) == 0 && (text[size] == '\n' || !text[size]);
        if (!is_end && *commands->at)
            continue;
        if (commands->here[i].is_script)
            commands_search_here(commands, begin, is_end ? line : commands->at);
        begin = commands->at;
        i++;
    }
    commands->here_count = 0;
}

/* Looks at a runner. Its arguments begin at `behind`. */
static void commands_look_inside(struct commands *commands, const struct runner *runner,
                                 const char *behind)
{
    const struct runner_words words = runner_options(runner, behind);
    if (words.is_idle)
        return;
    if (runner->kind == RUNNER_PREFIX) {
        commands->at = words.at;
        commands->begins = commands->is_behind = true;
        return;
    }
    struct word_text script = {0};
    commands->reads_input = runner_script(runner, &words, &script);
    const char *found = commands_search_text(commands, &script);
    if (runner->kind != RUNNER_SELF)
        commands->found = found;
    else if (!commands->called)
        commands->called = found;
    word_text_fini(&script);
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* Whether this is the wanted command's name, without a path. */
static bool commands_is_name(const struct commands *commands, const char *word, size_t size)
{
    size_t first = strcspn(commands->command, " ");
    return size == first && strncmp(word, commands->command, first) == 0;
}

/* Takes the word of a command. The word stands at `place`, and its arguments at `behind`. */
static void commands_take(struct commands *commands, const char *place, const char *word,
                          size_t size, const char *behind)
{
    bool is_name = commands_is_name(commands, word, size), is_behind = commands->is_behind;
    bool is_pattern = *behind == ')' && !commands->depth; /* of case */
    const struct runner *runner = runner_find(word, size);
    commands->begins = commands->is_behind = commands->reads_input = false;
    if (is_name && behind[strspn(behind, " \t")] == '(') {
        commands->is_function = true;
    } else if (commands_is_it(commands, word, size, behind) && !is_pattern) {
        if (text_equal(commands->command, "sbatch") && commands_only_prints(behind))
            return;
        if (!is_name || is_behind)
            commands->found = place;
        else if (!commands->called)
            commands->called = place;
    } else if (runner) {
        commands_look_inside(commands, runner, behind);
    }
}

/* Takes a command whose word has quotes or variables. False: it has a substitution, which holds
 * commands of its own, or there is no word. */
static bool commands_read_odd_word(struct commands *commands)
{
    struct word_text words = {0};
    const char *place = commands->at, *end = word_read(place, &words);
    const char *word = text_string(&words.text);
    bool is_good = words.text.size && !strstr(word, "$(") && !strchr(word, '`');
    if (is_good) {
        commands->at = end;
        commands_take(commands, place, word, words.text.size, end);
    }
    word_text_fini(&words);
    return is_good;
}

/* Reads the name of a function: "function NAME". */
static void commands_read_function(struct commands *commands)
{
    const char *name = commands->at + runner_blanks(commands->at);
    size_t size = strcspn(name, " \t\n;&|()<>");
    commands->is_function |= commands_is_name(commands, name, size);
    commands->at = name + size;
}

static void commands_read_word(struct commands *commands)
{
    static const char *const before[] = {"if",    "then",  "else", "elif", "do",
                                         "while", "until", "!",    "{"};
    const char *word = commands->at;
    size_t size = strcspn(word, " \t\n;&|()<>\"'`$\\");
    bool is_assignment = memchr(word, '=', size) != NULL;
    if (commands->begins && !commands->is_assignment && !is_assignment &&
        (!size || strchr("\"'\\$", word[size])) && word[size] && commands_read_odd_word(commands))
        return;
    commands->at += size ? size : 1;
    if (!commands->begins)
        return;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (strlen(before[i]) == size && strncmp(word, before[i], size) == 0)
            return;
    if (is_assignment)
        commands->is_assignment = true;
    else if (size == strlen("function") && strncmp(word, "function", size) == 0)
        commands_read_function(commands);
    else if (!commands->is_assignment)
        commands_take(commands, word, word, size, word + size);
}

static void commands_read_quoted(struct commands *commands)
{
    const char *at = commands->at;
    if (at[0] == '$' && at[1] == '(') {
        commands_read_substitution(commands);
        return;
    }
    commands->at += at[0] == '\\' && at[1] ? 2 : 1;
    if (*at == '"')
        commands->depth--;
}

/* Whether the next word is an element of an array, or part of arithmetic: no command begins. */
static bool commands_is_data(const struct commands *commands)
{
    return commands->depth && strchr("a#", commands_top(commands));
}

static void commands_read_data_sign(struct commands *commands)
{
    const char *at = commands->at++;
    if (*at == '(')
        commands_push(commands, '#');
    else if (*at == '`')
        commands->begins = true;
    if (*at != ')')
        return;
    commands->begins = commands_top(commands) == 'a';
    commands->depth--;
}

/* `at` is at an opening bracket. */
static void commands_read_bracket(struct commands *commands)
{
    const char *at = commands->at;
    bool is_array = at != commands->script && at[-1] == '=';
    bool is_arithmetic = !is_array && at[1] == '(';
    commands_push(commands, !is_array ? '(' : commands->is_assignment ? 'a' : '#');
    if (is_arithmetic)
        commands_push(commands, '#');
    commands->at += is_arithmetic ? 2 : 1;
}

/* Reads a character that separates words or commands. */
static void commands_read_sign(struct commands *commands)
{
    const char *at = commands->at++;
    switch (*at) {
    case '\n':
        commands_skip_here(commands);
        commands->begins = true;
        commands->is_assignment = false;
        break;
    case ';':
    case '|':
    case '`':
        commands->begins = true;
        commands->is_assignment = false;
        break;
    case '&': /* but not the & of 2>&1 */
        commands->begins = commands->begins || at[-1] != '>';
        break;
    case '(':
        commands->at = at;
        commands_read_bracket(commands);
        break;
    case ')': /* the word continues after a substitution, and ends after a subshell or a pattern */
        commands->begins = commands_top(commands) != '$';
        commands->is_assignment = commands_top(commands) == '=';
        commands->depth -= commands->depth && commands_top(commands) != '"';
        break;
    case '<':
        if (at[1] == '<' && at[2] != '<') {
            commands->at = at + 2;
            commands_note_here(commands);
        } else {
            commands->at = at + strspn(at, "<");
        }
        break;
    default: /* blanks, > */
        commands->is_assignment = false;
        break;
    }
}

static void commands_read_next(struct commands *commands)
{
    const char *at = commands->at;
    if (commands_top(commands) == '"') {
        commands_read_quoted(commands);
    } else if (commands->begins && !commands->is_assignment && strchr("\\'\"$", *at) &&
               commands_read_odd_word(commands)) {
        return;
    } else if (*at == '\\') {
        commands->at += at[1] ? 2 : 1;
    } else if (*at == '\'') {
        const char *end = strchr(at + 1, '\'');
        commands->at = end ? end + 1 : at + strlen(at);
        commands->begins = commands->begins && commands->is_assignment;
    } else if (*at == '"') {
        bool begins = commands->begins && commands->is_assignment;
        commands->at++;
        commands_push(commands, '"');
        commands->begins = begins;
    } else if (at[0] == '$' && at[1] == '(') {
        commands_read_substitution(commands);
    } else if (at[0] == '$') {
        commands->at += 1 + strspn(at + 1, "{#?*@!$-");
        commands->begins = commands->begins && commands->is_assignment;
    } else if (strchr(" \t\n;|&()<>`", *at)) {
        if (commands_is_data(commands))
            commands_read_data_sign(commands);
        else
            commands_read_sign(commands);
    } else {
        commands_read_word(commands);
    }
}

/* A function may be defined behind the place that calls it, so that the search goes on from there.
 */
static void commands_search(struct commands *commands)
{
    while (*commands->at && !commands->found) {
        bool is_apart = commands->at == commands->script || strchr(" \t\n;&|()", commands->at[-1]);
        if (*commands->at == '#' && is_apart && commands_top(commands) != '"')
            commands->at += strcspn(commands->at, "\n");
        else
            commands_read_next(commands);
    }
    if (commands->called && !commands->is_function)
        commands->found = commands->called;
}

const char *commands_find(const char *script, const char *command)
{
    struct commands commands = {.script = script, .at = script, .command = command, .begins = true};
    commands_search(&commands);
    return commands.found;
}
