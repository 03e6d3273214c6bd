/* A file to submit: a workflow, or an sbatch script that becomes one. */
#ifndef PHASED_CLI_SOURCE_H
#define PHASED_CLI_SOURCE_H

#include "cli/script_words.h"
#include "lib/option.h"
#include "lib/sbatch/import.h"
#include "lib/spec/spec.h"

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct cli;
struct error;

/* Print the problems of a workflow file, one line each, to standard error. The daemon or phasectl
 * has found them. `problems` is an array of the API, or NULL. A problem without a file is about
 * `file`. A warning may also be a string. */
void problems_print(const char *file, const json_t *problems);
void problems_print_all(const struct spec_problems *problems);

struct source {
    char *name; /* the name in messages */
    char *text; /* of the workflow */
    size_t size;
    const char *script; /* borrowed: the file of a script; NULL: it is a workflow */
    unsigned run_line;  /* of a script: the line of `run:` in the text; the script follows */
};

/* What the words of a verb say about a file: --set, --with, and for a script the options of sbatch
 * and the arguments. */
struct source_words {
    enum script_words_next next; /* set by the caller */
    struct option_list sets, variants;
    struct script_words split;
    struct sbatch_arguments arguments;
    struct spec_overrides overrides; /* of the two lists */
};

/* The rules of --set and --with. */
struct option_rule source_set_rule(struct source_words *words);
struct option_rule source_with_rule(struct source_words *words);

/* Reads the words of `cli->verb` by its rules, and completes what they say about its files. Returns
 * true when the verb can go on. Otherwise prints the help or what is wrong, and sets
 * `ret_exit_code`. source_words_fini() frees the words, also after a failure. */
bool source_words_read(const struct cli *cli, char **words, const struct option_rule *rules,
                       struct option_arguments *files, struct source_words *ret_words,
                       int *ret_exit_code);
void source_words_fini(struct source_words *words);

/* Returns a new object of the params of --set; the last value of a param wins. If a text is not
 * PARAM=VALUE, prints that and returns NULL. */
json_t *source_words_set(const struct cli *cli, const struct source_words *words);

/* Reads a file, and prints problems and warnings of a script. `words` (or NULL) have arguments and
 * options of sbatch for a script; a workflow takes no words. Fails as file_read() does, and with
 * -EINVAL when a script cannot become a workflow. */
int source_read(const char *file, const struct source_words *words, struct source *ret_source,
                struct error *err);
void source_fini(struct source *source);

/* Turns problems of the workflow into problems of the file. If the file is a script, problems in
 * the script get the lines of the script. Other problems get no line. */
void source_place(const struct source *source, struct spec_problems *problems);
/* The same for a list of the API, or NULL. Leaves the problems of other files as they are. */
void source_place_json(const struct source *source, const json_t *problems);

/* Returns a probe for lib/spec, which asks what this machine knows of a workflow: whether bash can
 * read its scripts, and whether its paths exist. probe_end() frees it. It tries each script once,
 * because phases that extend each other share their scripts. */
struct spec_probe probe_begin(void);
void probe_end(struct spec_probe *probe);

/* Prints the problems that only this machine can find; the daemon finds the others. Returns false
 * after an error, true if there are only warnings. Sets `ret_json` to the resolved workflow, the
 * caller's to json_decref(), or to NULL if anything is wrong with it. */
bool probe_print(const struct source *source, const struct spec_overrides *overrides,
                 json_t **ret_json);

#endif
