/* The commands that run others, and where the other command begins. */
#include "lib/sbatch/runner.h"

#include "lib/sbatch/word.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

static const char runner_ends[] = "\n;&|()<>#";

static const struct runner runners[] = {
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

size_t runner_blanks(const char *at)
{
    size_t size = 0;
    for (;;) {
        size += strspn(at + size, " \t");
        if (strncmp(at + size, "\\\n", 2) != 0)
            return size;
        size += 2;
    }
}

const struct runner *runner_find(const char *word, size_t size)
{
    for (size_t i = 0; i < sizeof runners / sizeof *runners; i++) {
        size_t length = strlen(runners[i].name);
        if (size >= length && strncmp(word + size - length, runners[i].name, length) == 0 &&
            (size == length || word[size - length - 1] == '/'))
            return &runners[i];
    }
    return NULL;
}

/* Whether the next word is the value of this option. */
static bool runner_has_value(const struct runner *runner, const char *option)
{
    if (option[0] == '-' && option[1] == '-') {
        char *between = text_format(" %s ", option);
        bool has_value = strstr(runner->longs, between) != NULL;
        free(between);
        return has_value;
    }
    const char *valued = *option ? strpbrk(option + 1, runner->valued) : NULL;
    return valued && !valued[1];
}

static void runner_read_letters(const struct runner *runner, const char *letters,
                                struct runner_words *words)
{
    if (*letters == '-')
        return;
    size_t size = strcspn(letters, runner->valued); /* a value may follow its letter at once */
    bool is_valued = letters[size] != '\0';
    for (size_t i = 0; i < size + is_valued; i++) {
        words->has_script |= letters[i] == 'c';
        words->takes_input |= letters[i] == 's';
        words->is_idle |= strchr(runner->idle, letters[i]) != NULL;
    }
}

struct runner_words runner_options(const struct runner *runner, const char *at)
{
    struct runner_words words = {0};
    at += runner_blanks(at);
    while (*at == '-' || *at == '+') {
        struct word_text option = {0}, value = {0};
        at = word_read(at, &option);
        const char *text = text_string(&option.text);
        runner_read_letters(runner, text + 1, &words);
        if (runner_has_value(runner, text))
            at = word_read(at + runner_blanks(at), &value);
        at += runner_blanks(at);
        word_text_fini(&option);
        word_text_fini(&value);
    }
    for (unsigned i = 0; i < runner->skipped; i++) {
        struct word_text word = {0};
        at = word_read(at, &word);
        at += runner_blanks(at);
        word_text_fini(&word);
    }
    words.at = at;
    return words;
}

bool runner_script(const struct runner *runner, const struct runner_words *words,
                   struct word_text *script)
{
    const char *at = words->at;
    bool is_shell = runner->kind == RUNNER_SHELL, has_words = *at && !strchr(runner_ends, *at);
    if (is_shell && words->has_script)
        (void)word_read(at, script);
    if (is_shell)
        return !words->has_script && (words->takes_input || !has_words);
    while (*at && !strchr(runner_ends, *at)) {
        if (script->text.size)
            word_text_add(script, ' ', at);
        at = word_read(at, script);
        at += runner_blanks(at);
    }
    return !has_words && runner->kind == RUNNER_WORDS;
}
