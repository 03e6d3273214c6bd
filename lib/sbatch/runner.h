/* Commands that run another command, or a script that they get. */
#ifndef PHASED_LIB_SBATCH_RUNNER_H
#define PHASED_LIB_SBATCH_RUNNER_H

#include <stdbool.h>
#include <stddef.h>

struct word_text;

enum runner_kind {
    RUNNER_PREFIX, /* xargs, sudo: the words that follow are a command */
    RUNNER_SHELL,  /* bash: the word after -c is a script; without it, the input is one */
    RUNNER_WORDS,  /* ssh: all words that follow are a script; without any, the input is one */
    RUNNER_SELF,   /* eval: the same shell runs all words that follow */
};

struct runner {
    const char *name;
    enum runner_kind kind;
    const char *valued; /* letters of options whose value may be the next word */
    const char *longs;  /* long options of this kind, between blanks */
    const char *idle;   /* letters of options with which it runs nothing */
    unsigned skipped;   /* words after the options that are no command */
};

/* The arguments of a runner. */
struct runner_words {
    const char *at;   /* behind the options and the skipped words */
    bool has_script;  /* the option -c is given */
    bool takes_input; /* the option -s is given */
    bool is_idle;     /* it runs nothing */
};

/* The size of the blanks before a word of the same command; a line may be continued. */
size_t runner_blanks(const char *at);

/* Returns the runner of this name, which may have a path; NULL: there is none. */
const struct runner *runner_find(const char *word, size_t size);

/* Reads the options at `at`, behind the name of the runner. */
struct runner_words runner_options(const struct runner *runner, const char *at);

/* Adds the script that is among the words. Returns whether its input is a script instead. */
bool runner_script(const struct runner *runner, const struct runner_words *words,
                   struct word_text *script);

#endif
