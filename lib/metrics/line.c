/* Reads a line as a person reads it: names, numbers, and the signs between them.
 *
 * The line consists of segments, which | , ; tabs, brackets and " - " separate. In a segment words
 * are collected until a value follows or precedes them:
 *
 *   words: 4.2   word=4.2     a pair; only the last word before `=` is the name
 *   words 4.2 words 4.2       a row of pairs, if the segment has nothing else, and the line has a
 *                             step or the word is a known metric (loss, lr): nanoGPT
 *   4.2 words                 a pair in the other order: "121344 tok/s"
 *   step 200/1000             the step; also [200/1000]
 *   {...}                     JSON or a dict of Python
 *   Epoch [1/9], Step [5/60]  an epoch and a count, which make the step together: progress.h
 *   45%|...| 120/266          a progress bar; its count is the step unless the line names a step
 *
 * At the beginning of a segment, the time that a logger prints does not count: stamp.h. In a line
 * with a time, neither does the place in the program: main:train:55.
 *
 * If something begins like a number and is something else (a version, a date, an address, a path),
 * the words before it have no value. In case of doubt, a number is not a metric. */
#include "lib/metrics/line.h"

#include "lib/metrics/letter.h"
#include "lib/metrics/literal.h"
#include "lib/metrics/number.h"
#include "lib/metrics/progress.h"
#include "lib/metrics/stamp.h"
#include "lib/metrics/values.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
    LINE_WORDS_MAX = 6,  /* words of a name: "number of skipped iterations" has four */
    LINE_LOOSE_MAX = 16, /* pairs without a separator in one line */
    LINE_LITERALS_MAX =
        8,              /* tries to read an object in one line; each may look at the whole line */
    LINE_LIST_MAX = 16, /* longer lists are data */
};

/* Words and their value, which may be a metric. */
struct line_pair {
    struct span words[LINE_WORDS_MAX];
    size_t word_count;
    double value;
};

struct line {
    const char *at, *begin, *end;
    struct line_memory *memory;
    struct values *values;
    struct line_pair pair;                /* the words that are collected now */
    bool has_too_many;                    /* too many words for a name */
    bool begins_segment;                  /* the words are the first of the segment */
    char separator;                       /* ':' or '=' if one has followed the words, else 0 */
    bool is_tight;                        /* no space before or after the separator */
    bool has_number_first;                /* the value of `pair` came before the words */
    bool is_row;                          /* so far, the segment has only pairs */
    struct line_pair row[LINE_LOOSE_MAX]; /* the pairs of the segment without a separator */
    size_t row_count;
    bool has_doubtful; /* `doubtful` is a pair, unless too many words for a name follow */
    struct line_pair doubtful;
    struct line_pair kept[LINE_LOOSE_MAX]; /* pairs that count if the line has a step */
    size_t kept_count;
    int literals;
    bool has_stamp; /* a logger has printed the time */
};

static void line_add(struct line *line, const struct line_pair *pair)
{
    values_add(line->values, pair->words, pair->word_count, -1, pair->value);
}

static void line_forget_words(struct line *line)
{
    line->pair.word_count = 0;
    line->has_too_many = false;
    line->separator = 0;
    line->has_number_first = false;
    line->begins_segment = false;
}

/* Decides about the doubtful pair, when the text after it is known. */
static void line_settle_doubtful(struct line *line, bool is_metric)
{
    if (line->has_doubtful && is_metric)
        line_add(line, &line->doubtful);
    line->has_doubtful = false;
}

static void line_keep(struct line *line, const struct line_pair *pair)
{
    if (line->kept_count < LINE_LOOSE_MAX && pair->word_count && pair->word_count <= 4)
        line->kept[line->kept_count++] = *pair;
}

/* Whether the pair has a name that programs give to metrics only. Such a pair needs no
 * separator. */
static bool line_is_known_metric(const struct line_pair *pair)
{
    return pair->word_count && values_is_known_metric(pair->words[pair->word_count - 1]);
}

/* Whether this is the name of a step or an epoch. */
static bool line_is_progress(const struct line *line, const struct span *words, size_t count)
{
    static const char *const epoch[] = {"epoch"};
    return values_is_step_name(line->values, words, count) ||
           (count == 1 && span_is_any(*words, epoch, 1));
}

/* Whether the line has told how far the program is, by a step or an epoch. */
static bool line_has_progress(const struct line *line)
{
    return line->values->so_far.step_rank || values_find(line->values, "epoch");
}

/* Whether the segment that ends now was a row of pairs. A sentence can look like one. So a row of
 * several pairs must have a step, or the line must already have a step, or all of the names must be
 * known metrics. */
static bool line_is_row(const struct line *line)
{
    bool tells_step = line_has_progress(line);
    size_t known = 0;
    for (size_t i = 0; i < line->row_count; i++) {
        const struct line_pair *pair = &line->row[i];
        tells_step |= values_is_step_name(line->values, pair->words, pair->word_count);
        known += line_is_known_metric(pair);
    }
    return line->is_row && line->pair.word_count == 0 &&
           (tells_step || line->row_count < 2 || known == line->row_count);
}

/* At the end of a segment it is known whether the segment was a row of pairs, and whether more
 * words follow a doubtful pair. If it was not a row, only known metrics count, and only if the line
 * has a step or an epoch: "step 10 loss 2.5 saving". */
static void line_end_segment(struct line *line)
{
    bool is_row = line_is_row(line), has_progress = line_has_progress(line);
    for (size_t i = 0; i < line->row_count; i++) {
        const struct line_pair *pair = &line->row[i];
        bool is_known = has_progress && line_is_known_metric(pair);
        if (is_row && values_is_step_name(line->values, pair->words, pair->word_count))
            line_add(line, pair);
        else if (is_row || (is_known && isfinite(pair->value)))
            line_keep(line, pair);
    }
    if (line->has_number_first && !line->has_too_many)
        line_keep(line, &line->pair);
    line_settle_doubtful(line, line->pair.word_count == 0 || line->has_number_first);
    line_forget_words(line);
    line->begins_segment = line->is_row = true;
    line->row_count = 0;
}

/* Whether this is the comma of 2,5. */
static bool line_is_in_number(const struct line *line)
{
    return *line->at == ',' && line->at > line->begin && isdigit((unsigned char)line->at[-1]) &&
           line->at + 1 < line->end && isdigit((unsigned char)line->at[1]);
}

/* Skips what is neither a name nor a number, up to the next space or bracket. */
static void line_skip_junk(struct line *line)
{
    while (line->at < line->end && (!strchr(" \t|,;()[]{}", *line->at) || line_is_in_number(line)))
        line->at++;
    line->is_row = false;
    line_settle_doubtful(line, false);
    line_forget_words(line);
}

/* Whether the pair is a place, without a space after its colon: host:29500, train.py:55. */
static bool line_is_place(const struct line *line, const struct line_pair *pair)
{
    if (line->separator != ':' || !line->is_tight || pair->value != floor(pair->value))
        return false;
    struct span word = pair->words[pair->word_count - 1];
    const char *dot = memrchr(word.at, '.', word.size);
    if (dot && isalpha((unsigned char)dot[1]))
        return true;
    return !memchr(word.at, '/', word.size) && pair->value >= 1024 &&
           isdigit((unsigned char)word.at[word.size - 1]);
}

/* Takes a value after a separator. A whole number after a colon is doubtful ("Found: 5 files in 3
 * folders"), unless the name means a step, an epoch or a known metric. */
static void line_take_pair(struct line *line, double value)
{
    struct line_pair pair = line->pair;
    pair.value = value;
    if (line->separator == '=' && pair.word_count > 1) {
        pair.words[0] = pair.words[pair.word_count - 1];
        pair.word_count = 1;
    }
    bool is_metric = pair.word_count && !(line->has_too_many && line->separator == ':') &&
                     !line_is_place(line, &pair);
    bool is_doubtful = line->separator == ':' && value == floor(value) && isfinite(value) &&
                       !line_is_known_metric(&pair) &&
                       !line_is_progress(line, pair.words, pair.word_count);
    line_settle_doubtful(line, is_metric);
    line_forget_words(line);
    if (!is_metric)
        return;
    if (!is_doubtful) {
        line_add(line, &pair);
        return;
    }
    line->doubtful = pair;
    line->has_doubtful = true;
}

/* Skips "/1000" of "200/1000", with or without spaces, or " of 1000". `at` is after the first
 * number. */
static const char *line_skip_total(const char *at, const char *end)
{
    const char *slash = span_skip_spaces(at, end);
    double total;
    bool is_word = slash > at && end - slash > 3 && memcmp(slash, "of ", 3) == 0;
    if (slash == end || (*slash != '/' && !is_word))
        return at;
    slash = span_skip_spaces(slash + (is_word ? 2 : 1), end);
    size_t size = number_read(slash, end, NUMBER_THOUSANDS, &total);
    slash += size;
    if (!size || (slash < end && !strchr(" \t|,;])}:(", *slash)))
        return at;
    return slash;
}

/* Takes a number with words before it and without a separator: it is a step, or part of a row. */
static void line_take_loose(struct line *line, double value)
{
    struct line_pair *pair = &line->pair;
    struct span *last = &pair->words[pair->word_count - 1];
    pair->value = value;
    if (line->begins_segment && pair->word_count <= 2 && line_is_progress(line, last, 1)) {
        values_add(line->values, last, 1, -1, value);
        line_settle_doubtful(line, true);
        line_forget_words(line);
        line->begins_segment = true;
        return;
    }
    if (line->has_too_many || line->row_count == LINE_LOOSE_MAX)
        line->is_row = false;
    else
        line->row[line->row_count++] = *pair;
    line_forget_words(line);
}

/* Skips the spaces after a value, and "(20.00%)" or "(+nanz)" after them. */
static void line_skip_remark(struct line *line)
{
    line->at = span_skip_spaces(line->at, line->end);
    if (line->at == line->end || *line->at != '(')
        return;
    size_t left = (size_t)(line->end - line->at);
    const char *close = memchr(line->at, ')', left < 40 ? left : 40);
    if (close && !memchr(line->at, '=', (size_t)(close - line->at)) &&
        !memchr(line->at, ':', (size_t)(close - line->at)))
        line->at = close + 1;
}

/* Returns a name as programs write it: actor/loss, tok/sec, mean@1, val-acc, model.layer.0. */
static struct span line_word(const struct line *line)
{
    const char *at = line->at;
    while (at < line->end) {
        bool is_plain = isalnum((unsigned char)*at) || *at == '_';
        size_t size = is_plain ? 1 : letter_read(at, line->end, NULL);
        bool joins =
            strchr("/.@-+", *at) && *at && at + 1 < line->end &&
            (isalnum((unsigned char)at[1]) || at[1] == '_' || letter_read(at + 1, line->end, NULL));
        if (!size && !joins)
            break;
        at += size ? size : 1;
    }
    return (struct span){.at = line->at, .size = (size_t)(at - line->at)};
}

/* Takes a value at the beginning of a segment. If it has a name, the name follows. */
static void line_take_number_first(struct line *line, double value, const char *unit,
                                   size_t unit_size)
{
    line->pair.value = value;
    line->has_number_first = true;
    if (unit_size && (isalpha((unsigned char)*unit) || (unsigned char)*unit >= 0x80))
        line->pair.words[line->pair.word_count++] = (struct span){.at = unit, .size = unit_size};
}

/* Reads a number. Returns false if there is no number. */
static bool line_read_number(struct line *line)
{
    double value;
    size_t unit_size = 0, size = number_read(line->at, line->end, NUMBER_THOUSANDS, &value);
    if (!size)
        return false;
    const char *behind = line_skip_total(line->at + size, line->end);
    if (behind == line->at + size) {
        size = number_read_measure(line->at, line->end, &value, &unit_size);
        behind = line->at + size;
    }
    if (!size) {
        line_skip_junk(line);
        return true;
    }
    line->at = behind;
    if (letter_read(line->at, line->end, NULL)) { /* a unit: 65℃ */
        unit_size = line_word(line).size;
        line->at = behind += unit_size;
    }
    bool is_first = line->begins_segment && !line->pair.word_count && !line->has_number_first;
    if (!is_first && !unit_size)
        line->at +=
            number_read_apart(line->at, line->end, line->pair.words, line->pair.word_count, &value);
    if (line->separator)
        line_take_pair(line, value);
    else if (is_first)
        line_take_number_first(line, value, behind - unit_size, unit_size);
    else if (line->pair.word_count && !line->has_number_first)
        line_take_loose(line, value);
    else {
        line->is_row = false;
        line_forget_words(line);
    }
    line_skip_remark(line);
    return true;
}

/* Reads the number in tensor(2.3, device='cuda:0') or np.float64(2.3) as the value. */
static bool line_read_named(struct line *line, struct span word)
{
    double value;
    const char *open = word.at + word.size;
    if (open == line->end || *open != '(' || !line->separator)
        return false;
    size_t size = number_read(open + 1, line->end, NUMBER_PLAIN, &value);
    const char *close = memchr(open, ')', (size_t)(line->end - open));
    if (!size || !close || (open[1 + size] != ',' && open[1 + size] != ')'))
        return false;
    line->at = close + 1;
    line_take_pair(line, value);
    return true;
}

/* Reads a word that is a number after a name, as in `loss nan`. With several words before it, only
 * a known metric can have such a value: "the gradient is nan" is a sentence. */
static bool line_read_nan(struct line *line, struct span word)
{
    double value;
    const struct line_pair *pair = &line->pair;
    if (line->separator || line->has_number_first || pair->word_count == 0 ||
        number_read(word.at, line->end, NUMBER_PLAIN, &value) != word.size ||
        !(pair->word_count == 1 || line_is_known_metric(pair)) ||
        values_is_step_name(line->values, &pair->words[pair->word_count - 1], 1))
        return false;
    line->at += word.size;
    line_take_loose(line, value);
    line_skip_remark(line);
    return true;
}

/* Whether the word is the level of a message. A name may come before it: "10:00:00 train INFO". */
static bool line_is_level(const struct line *line, struct span word)
{
    static const char *const levels[] = {"INFO",  "DEBUG", "WARNING",  "WARN",
                                         "ERROR", "TRACE", "CRITICAL", "FATAL"};
    if (line->pair.word_count && !(line->has_stamp && line->begins_segment &&
                                   isupper((unsigned char)word.at[word.size - 1])))
        return false;
    const char *behind = span_skip_spaces(word.at + word.size, line->end);
    bool is_name = behind < line->end && *behind == '='; /* "error=0.5" */
    return !is_name && span_is_any(word, levels, sizeof levels / sizeof *levels);
}

/* Reads a word. It is a value (nan), a part of a name, or the end of the pair before it. */
static void line_read_word(struct line *line)
{
    struct span word = line_word(line);
    if (line->separator && (line_read_number(line) || line_read_named(line, word)))
        return;
    if (word.size && line_read_nan(line, word))
        return;
    line->at += word.size;
    if (line->separator) {
        /* The word is the value of `=`. Behind a colon it can also begin the next name. */
        bool is_value = line->separator == '=';
        line_settle_doubtful(line, true);
        line_forget_words(line);
        line->begins_segment = !is_value;
        if (is_value)
            return;
    }
    if (word.size && line_is_level(line, word)) {
        line->pair.word_count = 0;
        line->has_number_first &= !line->has_stamp; /* the number belongs to a process */
        return;
    }
    if (line->pair.word_count == LINE_WORDS_MAX) {
        line->has_too_many = true;
        line->pair.word_count--;
    }
    line->pair.words[line->pair.word_count++] = word;
}

/* Takes "(ms)" between the words and their separator as one more word. */
static bool line_read_unit_word(struct line *line)
{
    size_t left = (size_t)(line->end - line->at);
    const char *close = memchr(line->at, ')', left < 24 ? left : 24);
    if (!close || !line->pair.word_count || line->pair.word_count == LINE_WORDS_MAX ||
        line->separator)
        return false;
    for (const char *at = line->at + 1; at < close; at++)
        if (!isalpha((unsigned char)*at) && !strchr("/%", *at))
            return false;
    const char *behind = span_skip_spaces(close + 1, line->end);
    if (behind == line->end || (*behind != ':' && *behind != '='))
        return false;
    line->pair.words[line->pair.word_count++] =
        (struct span){.at = line->at + 1, .size = (size_t)(close - line->at - 1)};
    line->at = close + 1;
    return true;
}

/* Reads a list such as [4.5, 4.2] as the value of the words. */
static bool line_read_list(struct line *line)
{
    double values[LINE_LIST_MAX];
    int count = 0;
    const char *at = line->at + 1;
    for (; count < LINE_LIST_MAX; count++) {
        while (at < line->end && (*at == ' ' || (*at == ',' && count)))
            at++;
        size_t size = number_read(at, line->end, NUMBER_PLAIN, &values[count]);
        at += size;
        if (!size || at == line->end || !strchr(" ,]", *at))
            break;
    }
    if (!count || at == line->end || *at != ']')
        return false;
    for (int i = 0; i < count; i++)
        values_add(line->values, line->pair.words, line->pair.word_count, i, values[i]);
    line->at = at + 1;
    line_settle_doubtful(line, true);
    line_forget_words(line);
    return true;
}

/* Reads an opening bracket: of an object, a unit, a list, or a count of steps. Any other bracket
 * only ends the segment. */
static void line_read_open(struct line *line)
{
    struct line_pair *pair = &line->pair;
    char c = *line->at;
    if (c == '{' && line->literals < LINE_LITERALS_MAX) {
        line->literals++;
        size_t size = literal_read(line->values, line->at, line->end);
        line->at += size;
        if (size)
            return;
    }
    if (c == '(' && line_read_unit_word(line))
        return;
    if (c == '[' && line->separator && line_read_list(line))
        return;
    line->at++;
    /* "Step [100/938]" means "Step 100/938". */
    if (c == '[' && !line->separator && pair->word_count && line->begins_segment &&
        line_is_progress(line, &pair->words[pair->word_count - 1], 1))
        return;
    line_end_segment(line);
}

/* Reads ':' or '='. As a part of an operator, a path or a URL it is not a separator. */
static void line_read_separator(struct line *line)
{
    char c = *line->at, next = line->at + 1 < line->end ? line->at[1] : ' ';
    char before = line->at > line->begin ? line->at[-1] : ' ';
    bool is_operator = next == '=' || next == '>' || next == ':' || strchr("<>!=:+-*", before);
    if (is_operator || (c == ':' && (next == '/' || next == '\\'))) {
        line->at++;
        line_skip_junk(line);
        return;
    }
    line->at++;
    line->has_number_first = false;
    if (!line->pair.word_count) {
        line->begins_segment = c == ':';
        return;
    }
    line->is_tight = next != ' ' && before != ' ';
    line->separator = c;
}

/* Reads '-' or '+': the sign of a number, or " - " between two segments. */
static void line_read_sign(struct line *line)
{
    char c = *line->at, next = line->at + 1 < line->end ? line->at[1] : ' ';
    bool is_apart = line->at == line->begin || strchr(" \t|,;([{='\":", line->at[-1]);
    if (c == '-' && next == ' ') {
        line->at++;
        if (is_apart)
            line_end_segment(line);
    } else if (is_apart &&
               (isdigit((unsigned char)next) || next == '.' || next == 'i' || next == 'n' ||
                next == 'I' || next == 'N') &&
               line_read_number(line)) {
        return;
    } else {
        line_skip_junk(line);
    }
}

/* Reads what a logger prints before its message: the time, and a place in the program after it.
 * "trainer:step:10 - " is a step, unless it stands between signs that separate segments. */
static bool line_read_logger(struct line *line)
{
    if (!line->begins_segment || line->pair.word_count || line->separator || line->has_number_first)
        return false;
    const char *behind = stamp_read(line->at, line->end), *before = line->at;
    line->has_stamp |= behind != NULL;
    if (!behind && line->has_stamp) {
        struct span function = {0};
        behind = stamp_read_place(line->at, line->end, &function);
        while (before > line->begin && before[-1] == ' ')
            before--;
        bool is_apart = before > line->begin && (before[-1] == '|' || before[-1] == '-');
        if (behind && !is_apart && line_is_progress(line, &function, 1))
            behind = NULL;
    }
    line->at = behind ? behind : line->at;
    return behind != NULL;
}

/* Every branch reads at least one byte, so line_read() ends. */
static void line_read_next(struct line *line)
{
    unsigned char c = (unsigned char)*line->at;
    char next = line->at + 1 < line->end ? line->at[1] : ' ';
    if ((isalnum(c) || c == '_') && line_read_logger(line))
        return;
    const char *behind = progress_read_epoch(line->values, line->begin, line->at, line->end);
    if (behind) {
        line_end_segment(line);
        line->at = behind;
    } else if (isalpha(c) || c == '_' || letter_read(line->at, line->end, NULL))
        line_read_word(line);
    else if (isdigit(c) || (c == '.' && isdigit((unsigned char)next)))
        (void)line_read_number(line); /* a number, or else junk that is skipped */
    else if (c == ':' || c == '=')
        line_read_separator(line);
    else if (c == '-' || c == '+')
        line_read_sign(line);
    else if (c == '{' || c == '[' || c == '(')
        line_read_open(line);
    else if (c == ' ' || c == '\'' || c == '"' || c == '%')
        line->at++;
    else if (strchr("/~$\\.&#@", c) && c && next != ' ')
        line_skip_junk(line); /* a path, a variable */
    else {
        line->at += letter_decode(line->at, line->end, NULL);
        line_end_segment(line);
    }
}

void line_read(struct line_memory *memory, struct values *values, const char *text, size_t size)
{
    struct line line = {.at = text,
                        .begin = text,
                        .end = text + size,
                        .memory = memory,
                        .values = values,
                        .begins_segment = true,
                        .is_row = true};
    const char *stamp = stamp_read(text, line.end);
    const char *bar = span_skip_spaces(stamp ? stamp : text, line.end);
    line.has_stamp = stamp != NULL;
    line.at = progress_read_bar(memory, values, bar, line.end);
    bool has_bar = line.at > bar;
    while (line.at < line.end)
        line_read_next(&line);
    line_end_segment(&line);
    bool names_step = values->so_far.step_rank > VALUES_STEP_COUNTED;
    memory->has_bar_with_step |= has_bar && names_step;
    names_step |= values_find(values, "epoch") != NULL && !has_bar;
    for (size_t i = 0; i < line.kept_count; i++)
        if (names_step || line_is_known_metric(&line.kept[i]))
            line_add(&line, &line.kept[i]);
    progress_note_metrics(memory, values, has_bar);
}
