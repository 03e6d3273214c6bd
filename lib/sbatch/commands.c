/* Finds commands by the grammar of the shell: quotes, substitutions, here documents, and the words
 * after which a command begins. */
#include "lib/sbatch/commands.h"

#include "lib/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { COMMANDS_DEPTH_MAX = 64, COMMANDS_HERE_MAX = 8 };

struct commands {
    const char *at, *command;
    char inside[COMMANDS_DEPTH_MAX]; /* open brackets and quotes: `"`, `(`, `$` for $( ), `=` for
                                      * NAME=$( ) */
    size_t depth;
    bool begins;        /* the next word is a command */
    bool is_assignment; /* within NAME=value before a command */
    struct {
        const char *word; /* the word that ends the document */
        size_t size;
    } here[COMMANDS_HERE_MAX]; /* documents that begin on the next line */
    size_t here_count;
    const char *found; /* where the command begins; NULL: not found yet */
};

static void commands_push(struct commands *commands, char what)
{
    if (commands->depth < COMMANDS_DEPTH_MAX)
        commands->inside[commands->depth++] = what;
    commands->begins = what != '"';
    commands->is_assignment = commands->is_assignment && what == '"';
}

static void commands_push_substitution(struct commands *commands)
{
    commands_push(commands, commands->is_assignment ? '=' : '$');
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

static void commands_read_word(struct commands *commands)
{
    static const char *const before[] = {"if",    "then", "else", "elif", "do",   "while",
                                         "until", "!",    "{",    "time", "exec", "command",
                                         "eval",  "env",  "sudo", "nohup"};
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
    if (!commands->is_assignment && commands_is_it(commands, word, size))
        commands->found = word;
}

static void commands_read_quoted(struct commands *commands)
{
    const char *at = commands->at++;
    if (*at == '\\' && at[1])
        commands->at++;
    else if (*at == '"')
        commands->depth--;
    else if (at[0] == '$' && at[1] == '(' && commands->at++)
        commands_push_substitution(commands);
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
        commands_push(commands, '(');
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
        commands->at += 2;
        commands_push_substitution(commands);
    } else if (at[0] == '$') {
        commands->at += 1 + strspn(at + 1, "{#?*@!$-");
        commands->begins = commands->begins && commands->is_assignment;
    } else if (strchr(" \t\n;|&()<>`", *at)) {
        commands_read_sign(commands);
    } else {
        commands_read_word(commands);
    }
}

const char *commands_find(const char *script, const char *command)
{
    struct commands commands = {.at = script, .command = command, .begins = true};
    while (*commands.at && !commands.found) {
        bool is_apart = commands.at == script || strchr(" \t\n;&|()", commands.at[-1]);
        if (*commands.at == '#' && is_apart && commands_top(&commands) != '"')
            commands.at += strcspn(commands.at, "\n");
        else
            commands_read_next(&commands);
    }
    return commands.found;
}
