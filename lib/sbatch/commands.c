/* Reads a script by the grammar of the shell: words, quotes, substitutions and here documents.
 *
 * Each command becomes a list of words without quotes. At its end it is judged: is it the wanted
 * command, or one that runs another command or script? */
#include "lib/sbatch/commands.h"

#include "lib/memory.h"
#include "lib/sbatch/option.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    COMMANDS_DEPTH_MAX = 64, /* of brackets and backticks */
    COMMANDS_HERE_MAX = 8,
    COMMANDS_LEVEL_MAX = 4, /* of scripts in arguments of commands of scripts */
};

/* The words of a command, each ended by a NUL. */
struct words {
    struct text text;
    const char **places; /* the place of each byte in the script; for a NUL: of its word */
    size_t capacity;
};

struct commands {
    const char *at;
    const char *name;     /* the wanted command */
    const char *argument; /* its first argument; NULL: any */
    char end;             /* the sign that ends these commands; NUL: the end of the script */
    size_t depth;
    unsigned level;   /* of this script; 0: it is not an argument */
    bool is_function; /* the script defines a function with the name of the command */
    bool reads_input; /* the last command reads a script from its input */
    struct {
        const char *word; /* the word that ends the document */
        size_t size;
        bool is_script;
    } here[COMMANDS_HERE_MAX]; /* documents that begin on the next line */
    size_t here_count;
    const char *found;  /* where the command begins; NULL: not found yet */
    const char *called; /* where it begins unless it is a function; NULL: not found yet */
};

static void words_fini(struct words *words)
{
    text_fini(&words->text);
    free(words->places);
}

/* `words` is NULL if nobody needs the word. */
static void words_add(struct words *words, char byte, const char *place)
{
    if (!words)
        return;
    if (words->text.size == words->capacity) {
        words->capacity = words->capacity ? 2 * words->capacity : 64;
        words->places = xreallocarray(words->places, words->capacity, sizeof *words->places);
    }
    words->places[words->text.size] = place;
    text_add_bytes(&words->text, &byte, 1);
}

/* Returns the word after `word`, or `end`. */
static const char *words_next(const char *word, const char *end)
{
    return word < end ? word + strlen(word) + 1 : end;
}

/* --- Commands that run others ----------------------------------------------------------------- */

enum runner_kind {
    RUNNER_PREFIX, /* xargs, sudo: the words that follow are a command */
    RUNNER_SHELL,  /* bash: the word after -c is a script; without it, the input is one */
    RUNNER_WORDS,  /* ssh: all words that follow are a script; without any, the input is one */
    RUNNER_SELF,   /* eval: the same shell runs all words that follow */
};

static const struct runner {
    const char *name;
    enum runner_kind kind;
    const char *valued; /* letters of options whose value may be the next word */
    const char *longs;  /* long options of this kind, between blanks */
    const char *idle;   /* letters of options with which it runs nothing */
    unsigned skipped;   /* words after the options that are not a command */
} runners[] = {
    {"bash", RUNNER_SHELL, "oO", " --rcfile --init-file ", "n", 0},
    {"sh", RUNNER_SHELL, "o", "", "n", 0},
    {"dash", RUNNER_SHELL, "o", "", "n", 0},
    {"ksh", RUNNER_SHELL, "o", "", "n", 0},
    {"zsh", RUNNER_SHELL, "o", "", "n", 0},
    {"ssh", RUNNER_WORDS, "BbcDEeFIiJLlmOopQRSWw", "", "", 1},
    {"parallel", RUNNER_WORDS, "aCdEIjLnNPsSU", " --jobs --delay --results --joblog --timeout ", "",
     0},
    {"eval", RUNNER_SELF, "", "", "", 0},
    {"trap", RUNNER_SELF, "", "", "lp", 0},
    {"command", RUNNER_PREFIX, "", "", "vV", 0},
    {"env", RUNNER_PREFIX, "uC", " --unset --chdir ", "", 0},
    {"exec", RUNNER_PREFIX, "a", "", "", 0},
    {"flock", RUNNER_PREFIX, "wE", " --timeout --wait --conflict-exit-code ", "u", 1},
    {"ionice", RUNNER_PREFIX, "cnpPu", " --class --classdata ", "", 0},
    {"nice", RUNNER_PREFIX, "n", " --adjustment ", "", 0},
    {"nohup", RUNNER_PREFIX, "", "", "", 0},
    {"setsid", RUNNER_PREFIX, "", "", "", 0},
    {"stdbuf", RUNNER_PREFIX, "ioe", " --input --output --error ", "", 0},
    {"sudo", RUNNER_PREFIX, "CDghpRrTtUu", " --user --group --host --prompt --chdir ", "elvV", 0},
    {"time", RUNNER_PREFIX, "fo", " --format --output ", "", 0},
    {"timeout", RUNNER_PREFIX, "ks", " --kill-after --signal ", "", 1},
    {"xargs", RUNNER_PREFIX, "adEILnPs",
     " --arg-file --delimiter --max-args --max-chars --max-lines --max-procs ", "", 0},
};

/* The options that a runner has got. */
struct runner_options {
    bool has_script;  /* -c */
    bool takes_input; /* -s */
    bool is_idle;     /* it runs nothing */
};

static const char *without_path(const char *word)
{
    const char *slash = strrchr(word, '/');
    return slash ? slash + 1 : word;
}

static const struct runner *runner_find(const char *word)
{
    for (size_t i = 0; i < sizeof runners / sizeof *runners; i++)
        if (text_equal(runners[i].name, without_path(word)))
            return &runners[i];
    return NULL;
}

/* Whether the next word is the value of this option. */
static bool runner_has_value(const struct runner *runner, const char *option)
{
    if (text_starts(option, "--")) {
        char *between = text_format(" %s ", option);
        bool has_value = strstr(runner->longs, between) != NULL;
        free(between);
        return has_value;
    }
    const char *valued = strpbrk(option + 1, runner->valued);
    return valued && !valued[1];
}

static void runner_read_letters(const struct runner *runner, const char *letters,
                                struct runner_options *options)
{
    size_t size = strcspn(letters, runner->valued); /* a value may follow its letter at once */
    size += letters[size] != '\0';
    for (size_t i = 0; i < size; i++) {
        options->has_script |= letters[i] == 'c';
        options->takes_input |= letters[i] == 's';
        options->is_idle |= strchr(runner->idle, letters[i]) != NULL;
    }
}

/* Returns the first word behind the name of the runner, its options and the skipped words. */
static const char *runner_skip_options(const struct runner *runner, const char *word,
                                       const char *end, struct runner_options *options)
{
    word = words_next(word, end);
    while (word < end && (*word == '-' || *word == '+')) {
        if (word[1] != '-')
            runner_read_letters(runner, word + 1, options);
        if (runner_has_value(runner, word))
            word = words_next(word, end);
        word = words_next(word, end);
    }
    for (unsigned i = 0; i < runner->skipped; i++)
        word = words_next(word, end);
    return word;
}

/* --- Judging a command ------------------------------------------------------------------------ */

static void commands_search(struct commands *commands);

/* Searches a script that the script runs, and returns where the command begins. `text` stands in
 * the script, or is made of bytes that stand at `places`. */
static const char *commands_search_text(struct commands *commands, const char *text, size_t size,
                                        const char *const *places)
{
    char *script = xmalloc(size + 1);
    for (size_t i = 0; i < size; i++)
        script[i] = text[i] ? text[i] : ' '; /* between words */
    script[size] = '\0';
    struct commands inner = {.at = script,
                             .name = commands->name,
                             .argument = commands->argument,
                             .level = commands->level + 1};
    if (inner.level <= COMMANDS_LEVEL_MAX)
        commands_search(&inner);
    size_t offset = inner.found ? (size_t)(inner.found - script) : 0;
    const char *place = places ? places[offset] : text + offset;
    commands->reads_input |= inner.reads_input;
    free(script);
    return inner.found ? place : NULL;
}

/* Looks at the script that a runner gets. Its words begin at `word`. */
static void commands_look_inside(struct commands *commands, const struct runner *runner,
                                 const struct runner_options *options, const struct words *words,
                                 const char *word)
{
    const char *begin = text_string(&words->text), *end = begin + words->text.size;
    bool is_shell = runner->kind == RUNNER_SHELL;
    if (is_shell && !options->has_script)
        commands->reads_input = options->takes_input || word == end;
    if (!is_shell && word == end)
        commands->reads_input = runner->kind == RUNNER_WORDS;
    if (word == end || (is_shell && !options->has_script))
        return;
    size_t size = (size_t)((is_shell ? words_next(word, end) : end) - word) - 1;
    const char *found = commands_search_text(commands, word, size, words->places + (word - begin));
    if (runner->kind != RUNNER_SELF)
        commands->found = found;
    else if (!commands->called)
        commands->called = found;
}

/* Returns the option of sbatch that the word is; NULL: the word is not an option. */
static const struct sbatch_option *commands_option(const char *word)
{
    const char *nearest;
    if (!text_starts(word, "--"))
        return *word == '-' ? sbatch_option_of_letter(word[1]) : NULL;
    char *name = xstrndup(word + 2, strcspn(word + 2, "="));
    const struct sbatch_option *option = *name ? sbatch_option_find(name, &nearest) : NULL;
    free(name);
    return option;
}

/* Whether sbatch prints something and submits nothing with these arguments. Arguments after the
 * name of the script are not for sbatch. */
static bool commands_only_prints(const char *word, const char *end)
{
    static const char *const names[] = {"help", "test-only", "usage", "version"};
    for (; word < end; word = words_next(word, end)) {
        const struct sbatch_option *option = commands_option(word);
        if (!option)
            return false;
        if (text_is_one_of(option->name, names, sizeof names / sizeof *names))
            return true;
        bool has_value = word[1] == '-' ? strchr(word, '=') != NULL : word[2] != '\0';
        if (option->value == SBATCH_NEEDED && !has_value)
            word = words_next(word, end);
    }
    return false;
}

/* Skips what may stand before a command: words of the grammar, and assignments. */
static const char *commands_skip_before(struct commands *commands, const char *word,
                                        const char *end)
{
    static const char *const before[] = {"if",    "then",  "else", "elif", "do",
                                         "while", "until", "!",    "{"};
    for (; word < end; word = words_next(word, end)) {
        bool is_before = strchr(word, '=') != NULL;
        for (size_t i = 0; i < sizeof before / sizeof *before && !is_before; i++)
            is_before = text_equal(word, before[i]);
        if (text_equal(word, "function")) {
            word = words_next(word, end);
            commands->is_function |= word < end && text_equal(word, commands->name);
        } else if (!is_before) {
            break;
        }
    }
    return word;
}

static void commands_judge(struct commands *commands, const struct words *words)
{
    const char *begin = text_string(&words->text), *end = begin + words->text.size;
    const char *word = commands_skip_before(commands, begin, end);
    const struct runner *runner;
    bool is_behind = false; /* behind a command that runs another one, and never a function */
    commands->reads_input = false;
    while (word < end && (runner = runner_find(word))) {
        struct runner_options options = {0};
        word = runner_skip_options(runner, word, end, &options);
        if (!options.is_idle && runner->kind != RUNNER_PREFIX)
            commands_look_inside(commands, runner, &options, words, word);
        if (options.is_idle || runner->kind != RUNNER_PREFIX)
            return;
        word = commands_skip_before(commands, word, end);
        is_behind = true;
    }
    if (word == end || !text_equal(without_path(word), commands->name))
        return;
    const char *place = words->places[word - begin + (ptrdiff_t)strlen(word)];
    const char *next = words_next(word, end);
    if ((commands->argument && (next == end || !text_equal(next, commands->argument))) ||
        (text_equal(commands->name, "sbatch") && commands_only_prints(next, end)))
        return;
    if (is_behind || !text_equal(word, commands->name))
        commands->found = place;
    else if (!commands->called || place < commands->called)
        commands->called = place;
}

/* --- Here documents --------------------------------------------------------------------------- */

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

/* Skips the here documents that begin after the end of a line. Searches the documents that a shell
 * reads. */
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
        size_t length = (size_t)((is_end ? line : commands->at) - begin);
        if (commands->here[i].is_script)
            commands->found = commands_search_text(commands, begin, length, NULL);
        begin = commands->at;
        i++;
    }
    commands->here_count = 0;
}

/* --- Reading ---------------------------------------------------------------------------------- */

static bool commands_read_command(struct commands *commands);
static void commands_read_piece(struct commands *commands, struct words *words);

/* Reads the commands of a substitution or subshell. `end` is the sign that ends them. */
static void commands_read_inside(struct commands *commands, char end)
{
    char outer = commands->end;
    bool goes_on = ++commands->depth <= COMMANDS_DEPTH_MAX;
    if (!goes_on)
        commands->at += strlen(commands->at);
    commands->end = end;
    while (goes_on && *commands->at && !commands->found)
        goes_on = commands_read_command(commands);
    commands->end = outer;
    commands->depth--;
}

/* Reads an array or arithmetic, of which `open` brackets are open. Its words are not commands. */
static void commands_read_data(struct commands *commands, size_t open)
{
    if (++commands->depth > COMMANDS_DEPTH_MAX)
        commands->at += strlen(commands->at);
    while (open && *commands->at && !commands->found) {
        const char *at = commands->at;
        open = open + (*at == '(') - (*at == ')');
        if (*at == '#' && strchr(" \t\n", at[-1]))
            commands->at += strcspn(at, "\n");
        else
            commands_read_piece(commands, NULL);
    }
    commands->depth--;
}

/* Reads `$(...)`, `$((...))` or what is between backticks. The outer word gets a `$` for it, since
 * the output of the commands is unknown. */
static void commands_read_substitution(struct commands *commands, struct words *words)
{
    const char *at = commands->at;
    bool has_backticks = *at == '`', is_arithmetic = !has_backticks && at[2] == '(';
    words_add(words, '$', at);
    commands->at += has_backticks ? 1 : is_arithmetic ? 3 : 2;
    if (is_arithmetic)
        commands_read_data(commands, 2);
    else
        commands_read_inside(commands, has_backticks ? '`' : ')');
}

static bool commands_is_substitution(const char *at)
{
    return *at == '`' || (at[0] == '$' && at[1] == '(');
}

/* Reads what stands between double quotes. */
static void commands_read_quoted(struct commands *commands, struct words *words)
{
    commands->at++;
    while (*commands->at && *commands->at != '"' && !commands->found) {
        const char *at = commands->at;
        if (commands_is_substitution(at)) {
            commands_read_substitution(commands, words);
            continue;
        }
        bool is_escape = at[0] == '\\' && at[1] && strchr("$`\"\\\n", at[1]);
        at += is_escape;
        if (!is_escape || *at != '\n') /* otherwise the line goes on */
            words_add(words, *at, at);
        commands->at = at + 1;
    }
    commands->at += *commands->at == '"';
}

/* Reads a part of a word: one character, or what is quoted or substituted. */
static void commands_read_piece(struct commands *commands, struct words *words)
{
    const char *at = commands->at;
    if (commands_is_substitution(at)) {
        commands_read_substitution(commands, words);
    } else if (*at == '"') {
        commands_read_quoted(commands, words);
    } else if (*at == '\'') {
        for (at++; *at && *at != '\''; at++)
            words_add(words, *at, at);
        commands->at = at + (*at == '\'');
    } else if (at[0] == '\\' && at[1] == '\n') {
        commands->at += 2;
    } else {
        at += at[0] == '\\' && at[1];
        words_add(words, *at, at);
        commands->at = at + 1;
    }
}

static void commands_read_word(struct commands *commands, struct words *words)
{
    const char *begin = commands->at;
    while (*commands->at && !strchr(" \t\n;&|()<>", *commands->at) &&
           *commands->at != commands->end && !commands->found)
        commands_read_piece(commands, words);
    if (*commands->at == '(' && commands->at > begin && commands->at[-1] == '=') {
        commands->at++;
        commands_read_data(commands, 1);
    }
    words_add(words, '\0', begin);
}

/* Reads `(`, which begins arithmetic, a subshell, or the brackets behind the name of a function. */
static void commands_read_bracket(struct commands *commands, struct words *words)
{
    if (commands->at[1] == '(') {
        commands->at += 2;
        commands_read_data(commands, 2);
        return;
    }
    const char *begin = text_string(&words->text), *end = begin + words->text.size;
    for (const char *word = begin; word < end; word = words_next(word, end))
        if (words_next(word, end) == end)
            commands->is_function |= text_equal(word, commands->name);
    text_clear(&words->text);
    commands->at++;
    commands_read_inside(commands, ')');
}

/* Reads a redirection, whose file is not a word of the command: `2>&1`, `<<EOF`, `<(sort x)`. */
static void commands_read_redirection(struct commands *commands)
{
    const char *at = commands->at + strspn(commands->at, "0123456789");
    size_t signs = strspn(at, "<>&|");
    commands->at = at + signs;
    if (at[signs] == '(') {
        commands->at++;
        commands_read_inside(commands, ')');
    } else if (signs == 2 && strncmp(at, "<<", 2) == 0) {
        commands_note_here(commands);
    } else {
        commands->at += strspn(commands->at, " \t");
        commands_read_word(commands, NULL);
    }
}

/* Reads one word of a command, or what is not a word. */
static void commands_read_part(struct commands *commands, struct words *words)
{
    const char *at = commands->at;
    char behind_number = at[strspn(at, "0123456789")];
    if (strchr(" \t", *at))
        commands->at++;
    else if (at[0] == '\\' && at[1] == '\n')
        commands->at += 2;
    else if (*at == '#')
        commands->at += strcspn(at, "\n");
    else if (*at == '(')
        commands_read_bracket(commands, words);
    else if (behind_number == '<' || behind_number == '>')
        commands_read_redirection(commands);
    else
        commands_read_word(commands, words);
}

/* Reads one command and judges it. Returns whether another command of the list may follow. */
static bool commands_read_command(struct commands *commands)
{
    struct words words = {0};
    size_t here = commands->here_count;
    while (*commands->at && !strchr("\n;&|)", *commands->at) && *commands->at != commands->end &&
           !commands->found)
        commands_read_part(commands, &words);
    char sign = *commands->at;
    commands->at += sign != '\0';
    if (words.text.size && (sign != ')' || commands->end == ')')) /* else it is a pattern of case */
        commands_judge(commands, &words);
    for (; here < commands->here_count; here++)
        commands->here[here].is_script = words.text.size && commands->reads_input;
    words_fini(&words);
    if (sign == '\n')
        commands_skip_here(commands);
    return sign != commands->end;
}

/* A function may be defined behind the place that calls it, so that the search goes on from there.
 */
static void commands_search(struct commands *commands)
{
    commands_read_inside(commands, '\0');
    if (commands->called && !commands->is_function)
        commands->found = commands->called;
}

const char *commands_find(const char *script, const char *command)
{
    size_t size = strcspn(command, " ");
    char *name = xstrndup(command, size);
    struct commands commands = {
        .at = script, .name = name, .argument = command[size] ? command + size + 1 : NULL};
    commands_search(&commands);
    free(name);
    return commands.found;
}
