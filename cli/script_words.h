/* The words of a verb that takes scripts, as sbatch takes them: options of sbatch before the
 * script, and arguments of the script after it.
 *
 * An option of the verb keeps its meaning, also directly after the script. After the first argument
 * of a script, an option of the verb is an error, because the script may have the same option.
 * After `--`, all words are arguments. */
#ifndef PHASED_CLI_SCRIPT_WORDS_H
#define PHASED_CLI_SCRIPT_WORDS_H

#include "lib/sbatch/import.h"

#include <stdbool.h>
#include <stddef.h>

struct cli;
struct option_rule;

/* What a word after a script is, if it is not an option. */
enum script_words_next {
    SCRIPT_WORDS_ARGUMENT, /* an argument of the script */
    SCRIPT_WORDS_KNOWN,    /* a file if it has #SBATCH lines or phases, otherwise an argument */
    SCRIPT_WORDS_FILE,     /* one more file */
};

struct script_words {
    char **own; /* for option_read(): options of the verb, files, and arguments after `--` */
    const char **items;
    struct sbatch_arguments options; /* the options of sbatch: `items` */
};

/* Splits the words by the rules of the verb. All words are borrowed. Returns true when the verb can
 * go on. Otherwise prints what is wrong, and sets `ret_exit_code`. */
bool script_words_split(const struct cli *cli, char **words, const struct option_rule *rules,
                        enum script_words_next next, struct script_words *ret_words,
                        int *ret_exit_code);
void script_words_fini(struct script_words *words);

#endif
