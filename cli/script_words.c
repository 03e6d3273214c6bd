/* Splits the words of a verb that takes scripts. */
#include "cli/script_words.h"

#include "cli/cli.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/option.h"
#include "lib/sbatch/option.h"
#include "lib/sbatch/script.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

struct splitter {
    const struct option_rule *rules;
    enum script_words_next next;
    struct script_words *words;
    size_t own_count;
    const char *script;   /* the first script among the files; NULL: not yet */
    const char *argument; /* its first argument; NULL: not yet */
};

static void splitter_own(struct splitter *splitter, char *word)
{
    splitter->words->own[splitter->own_count++] = word;
}

static void splitter_option(struct splitter *splitter, const char *word)
{
    splitter->words->items[splitter->words->options.count++] = word;
}

/* Returns the verb's own rule for the word. `ret_is_whole`: the word is the whole option name,
 * without a value. */
static const struct option_rule *splitter_rule(const struct splitter *splitter, const char *word,
                                               bool *ret_is_whole)
{
    size_t size = word[1] == '-' ? strcspn(word + 2, "=") : 0;
    *ret_is_whole = word[1] == '-' ? word[2 + size] == '\0' : word[2] == '\0';
    for (const struct option_rule *rule = splitter->rules; rule->name; rule++) {
        if (word[1] == '-' ? strlen(rule->name) == size && memcmp(rule->name, word + 2, size) == 0
                           : rule->letter == word[1])
            return rule;
    }
    return NULL;
}

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1];
}

static bool is_help(const char *word)
{
    return text_equal(word, "--help") || text_equal(word, "-h");
}

/* Returns sbatch's option of the word. `ret_wants_value`: its value is the next word. */
static const struct sbatch_option *sbatch_option_of(const char *word, bool *ret_wants_value)
{
    const struct sbatch_option *option = NULL;
    *ret_wants_value = false;
    if (word[1] == '-') {
        const char *nearest;
        size_t size = strcspn(word + 2, "=");
        char *name = xstrndup(word + 2, size);
        option = sbatch_option_find(name, &nearest);
        free(name);
        *ret_wants_value = option && option->value == SBATCH_NEEDED && !word[2 + size];
        return option;
    }
    for (const char *letter = word + 1; *letter; letter++) {
        option = sbatch_option_of_letter(*letter);
        if (!option || option->value != SBATCH_NONE) {
            *ret_wants_value = option && option->value == SBATCH_NEEDED && !letter[1];
            return option;
        }
    }
    return option;
}

/* Takes the option at `*at` with its value, and leaves `*at` at the last word of the option. An
 * unknown word goes to option_read(), which reports it. */
static void splitter_take_option(struct splitter *splitter, char ***at)
{
    bool is_whole, wants_value;
    const struct option_rule *rule = splitter_rule(splitter, **at, &is_whole);
    if (rule || is_help(**at) || !sbatch_option_of(**at, &wants_value)) {
        splitter_own(splitter, **at);
        if (rule && !rule->flag && is_whole && (*at)[1])
            splitter_own(splitter, *++*at);
        return;
    }
    splitter_option(splitter, **at);
    if (wants_value && (*at)[1])
        splitter_option(splitter, *++*at);
}

/* Whether a file can be read and is a script. `ret_is_known`: it has #SBATCH lines, or it is not a
 * script and has phases. */
static bool is_script(const char *file, bool *ret_is_known)
{
    char *data;
    size_t size;
    *ret_is_known = false;
    if (file_read(file, SPEC_SIZE_MAX, &data, &size, NULL) < 0)
        return false;
    bool is_good = sbatch_is_script(data, size);
    *ret_is_known = is_good ? memmem(data, size, "\n#SBATCH", strlen("\n#SBATCH")) != NULL
                            : text_starts(data, "phases:") || strstr(data, "\nphases:");
    free(data);
    return is_good;
}

static void splitter_take_word(struct splitter *splitter, char *word)
{
    bool is_known;
    if (!splitter->script) {
        splitter->script = is_script(word, &is_known) ? word : NULL;
        splitter_own(splitter, word);
        return;
    }
    (void)is_script(word, &is_known);
    if (splitter->next == SCRIPT_WORDS_FILE || (splitter->next == SCRIPT_WORDS_KNOWN && is_known))
        splitter_own(splitter, word);
    else
        splitter->argument = word;
}

/* Takes the words from the first argument of the script to the end. False: one of them is an option
 * of the verb. */
static bool splitter_take_arguments(const struct cli *cli, struct splitter *splitter, char **words)
{
    bool is_whole;
    splitter_own(splitter, (char *)(uintptr_t) "--");
    for (char **at = words; *at; at++) {
        if (text_equal(*at, "--")) {
            (void)cli_usage(cli,
                            "'%s' would be an argument of %s: put `--` before the first argument",
                            *words, splitter->script);
            return false;
        }
        if (is_option(*at) && splitter_rule(splitter, *at, &is_whole)) {
            (void)cli_usage(cli,
                            "'%s' after '%s' may be meant for %s: put it before the script, or put "
                            "`--` before the arguments",
                            *at, *words, splitter->script);
            return false;
        }
        splitter_own(splitter, *at);
    }
    return true;
}

static bool splitter_run(const struct cli *cli, struct splitter *splitter, char **words)
{
    for (char **at = words; *at; at++) {
        bool is_whole;
        if (text_equal(*at, "--")) {
            for (; *at; at++)
                splitter_own(splitter, *at);
            return true;
        }
        if (text_equal(*at, ":") && !splitter->script) {
            (void)cli_usage(cli, "':' begins a part of a heterogeneous job, which phased does not "
                                 "submit: make the parts phases of a workflow");
            return false;
        }
        if (is_option(*at) && splitter->script && !is_help(*at) &&
            !splitter_rule(splitter, *at, &is_whole))
            splitter->argument = *at;
        else if (is_option(*at))
            splitter_take_option(splitter, &at);
        else
            splitter_take_word(splitter, *at);
        if (splitter->argument)
            return splitter_take_arguments(cli, splitter, at);
    }
    return true;
}

bool script_words_split(const struct cli *cli, char **words, const struct option_rule *rules,
                        enum script_words_next next, struct script_words *ret_words,
                        int *ret_exit_code)
{
    size_t count = 0;
    while (words[count])
        count++;
    *ret_words = (struct script_words){.own = xcalloc(count + 2, sizeof *ret_words->own),
                                       .items = xcalloc(count + 1, sizeof *ret_words->items)};
    ret_words->options.items = ret_words->items;
    struct splitter splitter = {.rules = rules, .next = next, .words = ret_words};
    bool is_good = splitter_run(cli, &splitter, words);
    *ret_exit_code = is_good ? CLI_OK : CLI_USAGE;
    return is_good;
}

void script_words_fini(struct script_words *words)
{
    free(words->own);
    free(words->items);
    *words = (struct script_words){0};
}
