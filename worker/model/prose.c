/* The words and sentences of the text. */
#include "worker/model/prose.h"

#include "lib/option.h"
#include "lib/text.h"
#include "worker/model/random.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS = 72, SENTENCES = 6, STREAM = 12, BYTES_MAX = 1 << 30, EXIT_FAILED = 1 };

static const char *const nouns[] = {
    "sailor",   "harbour",  "lantern", "bridge",  "river",  "teacher", "letter",   "garden",
    "mountain", "village",  "captain", "window",  "forest", "machine", "stone",    "market",
    "doctor",   "castle",   "kitchen", "painter", "road",   "school",  "shepherd", "ship",
    "soldier",  "stranger", "table",   "tower",   "train",  "valley",  "wagon",    "weaver",
    "horse",    "farmer",   "pasture", "miller",  "clock",  "cellar",  "barrel",   "basket",
};
static const char *const adjectives[] = {
    "young",  "quiet",  "narrow", "bright", "heavy", "wooden", "broken", "distant",
    "gentle", "hollow", "humble", "modern", "proud", "rough",  "silver", "tired",
    "dusty",  "famous", "frozen", "hidden", "large", "little", "lonely", "polite",
};
static const char *const verbs[] = {
    "follows", "remembers", "carries", "watches", "leaves",  "describes", "repairs", "crosses",
    "finds",   "forgets",   "guards",  "hears",   "keeps",   "measures",  "passes",  "reaches",
    "shows",   "touches",   "visits",  "warns",   "answers", "borrows",   "counts",  "paints",
};
static const char *const places[] = {
    "behind", "near", "beside", "below", "above", "beyond", "outside", "against",
};
static const char *const links[] = {
    "because", "although", "while", "before", "after", "until", "whenever", "so that",
};
static const char *const times[] = {
    "In the morning", "At night",      "Every summer",  "On Sunday",       "During the storm",
    "In winter",      "Long ago",      "After the war", "At noon",         "Before the feast",
    "Once a year",    "Without haste", "In those days", "As the law says", "Sooner or later",
};
static const char *const numbers[] = {
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "twenty",
};

#define LIST(letter, words) letter, words, sizeof(words) / sizeof *(words)
static const struct {
    char letter;
    const char *const *words;
    size_t count;
} lists[] = {
    {LIST('n', nouns)}, {LIST('a', adjectives)}, {LIST('v', verbs)},   {LIST('p', places)},
    {LIST('l', links)}, {LIST('t', times)},      {LIST('c', numbers)},
};

/* `%` and a letter stand for a word of a list. */
static const char *const sentences[] = {
    "The %a %n %v the %n.",
    "A %n %p the %n %v the %a %n.",
    "%t the %n %v a %a %n %p the %n.",
    "The %n %v the %n %l the %a %n %v the %n.",
    "%t, %l the %n %v the %n, the %a %n %v a %n.",
    "There are %c %ns %p the %a %n, and the %n %v the %n.",
    "\"The %n %v the %n\", says the %a %n, \"%l it %v the %n.\"",
    "No %n %v %c %ns %l the %n %p the %n %v a %a %n.",
};

static const char *word(char letter, uint64_t number)
{
    size_t i = 0;
    while (lists[i].letter != letter)
        i++;
    return lists[i].words[number % lists[i].count];
}

/* Adds a space or the end of a line, and then one word of a sentence. */
static void add_word(struct text *text, const char *bytes, size_t size, size_t *line)
{
    if (*line && *line + 1 + size > COLUMNS) {
        text_add(text, "\n");
        *line = 0;
    }
    text_addf(text, "%s%.*s", *line ? " " : "", (int)size, bytes);
    *line += size + (*line ? 1 : 0);
}

void prose_add(struct text *text, size_t size)
{
    uint64_t drawn = 0;
    size_t line = 0;
    struct text lines = {0}, sentence = {0};
    for (size_t count = 1; lines.size < size; count++) {
        text_clear(&sentence);
        const char *form =
            sentences[random_at(STREAM, drawn++) % (sizeof sentences / sizeof *sentences)];
        for (const char *at = form; *at; at++)
            if (*at == '%')
                text_add(&sentence, word(*++at, random_at(STREAM, drawn++)));
            else
                text_add_bytes(&sentence, at, 1);
        for (const char *at = text_string(&sentence); *at;) {
            size_t length = strcspn(at, " ");
            add_word(&lines, at, length, &line);
            at += length + strspn(at + length, " ");
        }
        if (count % SENTENCES == 0) {
            text_add(&lines, "\n");
            line = 0;
        }
    }
    text_add_bytes(text, text_string(&lines), size - 1);
    text_add(text, "\n");
    text_fini(&sentence);
    text_fini(&lines);
}

static const char usage[] = "usage: phase-model text [--bytes N]\n"
                            "\n"
                            "Prints a text to train on, which is the same on every machine. "
                            "`phase-model train` takes this\n"
                            "text if --data is empty.\n";

int prose_command(char **words)
{
    uint64_t bytes = 0;
    const struct option_rule rules[] = {
        {"bytes", 0, "N", "how many bytes", .large = &bytes, .least = 1, .most = BYTES_MAX,
         .initial = "32768"},
        {0},
    };
    int exit_code = option_main("phase-model text", usage, words, rules, NULL);
    if (exit_code >= 0)
        return exit_code;
    struct text text = {0};
    prose_add(&text, bytes);
    bool is_written = fwrite(text_string(&text), 1, text.size, stdout) == text.size;
    text_fini(&text);
    if (is_written && fflush(stdout) == 0)
        return 0;
    perror("phase-model text");
    return EXIT_FAILED;
}
