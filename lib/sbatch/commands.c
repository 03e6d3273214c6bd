/* Finds commands by the grammar of the shell: quotes, substitutions, here documents, and the words
 * after which a command begins. */
#include "lib/sbatch/commands.h"

#include "lib/sbatch/option.h"
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
    struct {
        const char *word; /* the word that ends the document */
        size_t size;
    } here[COMMANDS_HERE_MAX]; /* documents that begin on the next line */
    size_t here_count;
    unsigned level;    /* of this script; 0: it is no argument */
    const char *found; /* where the command begins; NULL: not found yet */
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
        commands->here[commands->here_count++].size = size;
    }
    commands->at = at + size + strspn(at + size, "'\"");
}

/* Skips the here documents that begin after the end of a line. */
static void commands_skip_here(struct commands *commands)
{
    for (size_t i = 0; i < commands->here_count;) {
        const char *line = commands->at + strspn(commands->at, "\t");
        size_t left = strcspn(commands->at, "\n"), size = commands->here[i].size;
        commands->at += left + (commands->at[left] == '\n');
        bool is_end =
            strncmp(line, commands->here[i].word, size) == 0 && (line[size] == '\n' || !line[size]);
        if (is_end || !*commands->at)
            i++;
    }
    commands->here_count = 0;
}

/* Whether the wanted command begins with this word. */
static bool commands_is_it(const struct commands *commands, const char *word, size_t size)
{
    size_t first = strcspn(commands->command, " ");
    const char *argument = commands->command + first + (commands->command[first] == ' ');
    if (size < first || (size > first && word[size - first - 1] != '/') ||
        strncmp(word + size - first, commands->command, first) != 0)
        return false;
    const char *behind = word + size + strspn(word + size, " \t");
    return strncmp(behind, argument, strlen(argument)) == 0 &&
           (!*argument || !isalnum((unsigned char)behind[strlen(argument)]));
}

/* The size of the blanks before a word of the same command; a line may be continued. */
static size_t commands_blanks(const char *at)
{
    size_t size = 0;
    for (;;) {
        size += strspn(at + size, " \t");
        if (strncmp(at + size, "\\\n", 2) != 0)
            return size;
        size += 2;
    }
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
        at += commands_blanks(at);
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
            at += commands_blanks(at);
            at += strcspn(at, " \t\n;&|()<>`\\");
        }
    }
}

/* --- Scripts in arguments --------------------------------------------------------------------- */

/* Commands that run one of their arguments, or all that follow, as a script. */
static const struct runner {
    const char *name;
    const char *valued; /* letters of options whose value may be the next word */
    bool is_shell;      /* the script is the word after the options, if `c` is among them */
    bool has_host;      /* the word after the options is a host */
} runners[] = {
    {"bash", "oO", true, false}, {"sh", "o", true, false},
    {"dash", "o", true, false},  {"ksh", "o", true, false},
    {"zsh", "o", true, false},   {"ssh", "BbcDEeFIiJLlmOopQRSWw", false, true},
    {"eval", "", false, false},
};

static const struct runner *runner_find(const char *word, size_t size)
{
    for (size_t i = 0; i < sizeof runners / sizeof *runners; i++) {
        size_t length = strlen(runners[i].name);
        if (size >= length && strncmp(word + size - length, runners[i].name, length) == 0 &&
            (size == length || word[size - length - 1] == '/'))
            return &runners[i];
    }
    return NULL;
}

/* Skips the options of a runner. `ret_has_script`: the option -c is among them. */
static const char *runner_skip_options(const struct runner *runner, const char *at,
                                       bool *ret_has_script)
{
    for (;;) {
        struct word_text option = {0}, value = {0};
        at += commands_blanks(at);
        if (*at != '-' && *at != '+')
            return at;
        at = word_read(at, &option);
        const char *letters = text_string(&option.text) + 1;
        const char *valued = *letters == '-' ? NULL : strpbrk(letters, runner->valued);
        *ret_has_script |= *letters != '-' && strchr(letters, 'c');
        if (valued && !valued[1])
            at = word_read(at + commands_blanks(at), &value);
        word_text_fini(&option);
        word_text_fini(&value);
    }
}

/* Adds the script that the runner gets, by the arguments at `at`. */
static void runner_read(const struct runner *runner, const char *at, struct word_text *script)
{
    bool has_script = false;
    struct word_text host = {0};
    at = runner_skip_options(runner, at, &has_script);
    if (runner->has_host)
        at = word_read(at, &host);
    word_text_fini(&host);
    if (runner->is_shell && has_script)
        (void)word_read(at, script);
    if (runner->is_shell)
        return;
    while (at += commands_blanks(at), *at && !strchr("\n;&|()<>#", *at)) {
        if (script->text.size)
            word_text_add(script, ' ', at);
        at = word_read(at, script);
    }
}

static const char *commands_search(const char *script, const char *command, unsigned level);

static void commands_look_inside(struct commands *commands, const char *word, size_t size)
{
    const struct runner *runner = runner_find(word, size);
    struct word_text script = {0};
    if (!runner || commands->level == COMMANDS_LEVEL_MAX)
        return;
    runner_read(runner, word + size, &script);
    const char *text = text_string(&script.text);
    const char *found = commands_search(text, commands->command, commands->level + 1);
    if (found)
        commands->found = script.places[found - text];
    word_text_fini(&script);
}

/* --- Reading ---------------------------------------------------------------------------------- */

static void commands_read_word(struct commands *commands)
{
    static const char *const before[] = {"if",    "then",    "else", "elif", "do",
                                         "while", "until",   "!",    "{",    "time",
                                         "exec",  "command", "env",  "sudo", "nohup"};
    const char *word = commands->at;
    size_t size = strcspn(word, " \t\n;&|()<>\"'`$\\");
    commands->at += size ? size : 1;
    if (!commands->begins)
        return;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (strlen(before[i]) == size && strncmp(word, before[i], size) == 0)
            return;
    if (memchr(word, '=', size)) {
        commands->is_assignment = true;
        return;
    }
    commands->begins = commands->is_assignment;
    if (!commands->is_assignment && commands_is_it(commands, word, size) &&
        !(text_equal(commands->command, "sbatch") && commands_only_prints(word + size)))
        commands->found = word;
    else if (!commands->is_assignment)
        commands_look_inside(commands, word, size);
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

static const char *commands_search(const char *script, const char *command, unsigned level)
{
    struct commands commands = {
        .script = script, .at = script, .command = command, .begins = true, .level = level};
    while (*commands.at && !commands.found) {
        bool is_apart = commands.at == script || strchr(" \t\n;&|()", commands.at[-1]);
        if (*commands.at == '#' && is_apart && commands_top(&commands) != '"')
            commands.at += strcspn(commands.at, "\n");
        else
            commands_read_next(&commands);
    }
    return commands.found;
}

const char *commands_find(const char *script, const char *command)
{
    return commands_search(script, command, 0);
}
