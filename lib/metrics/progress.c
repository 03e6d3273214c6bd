/* Progress bars as tqdm prints them, and epochs in the forms that the examples of PyTorch print. */
#include "lib/metrics/progress.h"

#include "lib/metrics/line.h"
#include "lib/metrics/number.h"
#include "lib/metrics/values.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const char *progress_pass(const char *at, const char *end, const char *signs)
{
    while (at < end && *at && strchr(signs, *at))
        at++;
    return at;
}

static struct span progress_word(const char *at, const char *end)
{
    struct span word = {.at = at};
    while (at + word.size < end && (isalpha((unsigned char)at[word.size]) || at[word.size] == '_'))
        word.size++;
    return word;
}

static struct span progress_letters(const char *at, const char *end)
{
    struct span word = {.at = at};
    while (at + word.size < end && isalpha((unsigned char)at[word.size]))
        word.size++;
    return word;
}

/* Whether the word means an evaluation. Its steps are not those of the training. */
static bool progress_is_evaluation(struct span word)
{
    static const char *const words[] = {"val",        "valid", "validate", "validation",
                                        "validating", "eval",  "evaluate", "evaluation",
                                        "evaluating", "test",  "testing",  "dev"};
    return span_is_any(word, words, sizeof words / sizeof *words);
}

/* --- Bars ------------------------------------------------------------------------------------- */

/* Whether the label of a bar is a step: "step 4000: 45%|####". */
static bool bar_has_step_label(const struct values *values, struct span label)
{
    struct span word = progress_word(label.at, label.at + label.size);
    return word.size && values_is_step_name(values, &word, 1);
}

/* "[val]", "validation". A word before a number is the name of a value: "val_loss: 0.5". */
static bool bar_is_evaluation(struct span label)
{
    for (const char *at = label.at, *end = at + label.size; at < end; at++) {
        struct span word = progress_letters(at, end);
        at += word.size;
        if (!progress_is_evaluation(word))
            continue;
        const char *behind = at;
        while (behind < end && (isalpha((unsigned char)*behind) || strchr("_ :=", *behind)))
            behind++;
        if (behind == end || !strchr("0123456789+-.", *behind))
            return true;
    }
    return false;
}

/* Whether a bar with this label, which names no epoch, counts the steps of the training. */
static bool bar_is_training(struct span label)
{
    static const char *const counts[] = {"steps", "iterations"};
    struct span word = progress_word(label.at, label.at + label.size);
    return !label.size || strncasecmp(label.at, "train", 5) == 0 || span_is_any(word, counts, 2);
}

/* Another bar counts steps from now on. */
static void bar_change(struct line_memory *memory, double total)
{
    memory->bar_is_settled = memory->bar_before == total;
    memory->bar_before = memory->bar_total;
    memory->bar_total = total;
    memory->bar_is_training = false;
}

static void bar_note_count(struct line_memory *memory, double count)
{
    bool is_over = count == memory->bar_total;
    memory->bar_is_under_way = !is_over;
    memory->bar_gives_way = is_over && (!memory->has_metric || memory->bar_gives_way);
}

/* Returns the step that a bar without a label tells. -1: the bar does not count steps.
 *
 * The first bar counts, and bars with other totals are evaluations. But a bar that ends before any
 * metric comes may be a download or a first evaluation. It gives way to a larger bar, and to a bar
 * with a metric in its line. The bar before counts again, for good, if it comes again and is larger
 * or no metric came while the new bar was under way. */
static double bar_step(struct line_memory *memory, double count, double total)
{
    bool is_larger = total > memory->bar_total, comes_again = total == memory->bar_before;
    bool takes_over =
        comes_again ? is_larger || !memory->bar_is_training : memory->bar_gives_way && is_larger;
    if (memory->bar_total > 0 && memory->bar_total != total) {
        if (memory->bar_is_settled || !takes_over) {
            memory->other_count = count;
            memory->other_total = total;
            return -1;
        }
        memory->bar_gives_way = false;
    }
    if (memory->bar_total != total)
        bar_change(memory, total);
    bar_note_count(memory, count);
    return count;
}

void progress_note_metrics(struct line_memory *memory, struct values *values, bool has_bar)
{
    bool is_known = memory->has_metric && memory->bar_is_training;
    if (memory->bar_total == 0 || is_known || !values_has_known_metric(values))
        return;
    memory->has_metric = true;
    if (memory->other_total > 0 && memory->bar_gives_way && !memory->bar_is_settled) {
        bar_change(memory, memory->other_total);
        bar_note_count(memory, memory->other_count);
        values_count_step(values, memory->other_count);
    }
    if (memory->bar_is_under_way || (has_bar && values->so_far.step_rank == VALUES_STEP_COUNTED)) {
        memory->bar_is_training = true;
        memory->bar_gives_way = false;
    }
}

/* A bar counts steps if it has no label, or one for training: bar_step() says which. A bar with an
 * epoch as its label counts the steps of that epoch. A bar whose label has a word for an evaluation
 * counts none. As soon as a line has a step beside its bar, bars count no steps: "step 4000:
 * 45%|####    | 120/266". */
const char *progress_read_bar(struct line_memory *memory, struct values *values, const char *at,
                              const char *end)
{
    const char *percent = memmem(at, (size_t)(end - at), "%|", 2);
    const char *bar = percent ? memchr(percent + 2, '|', (size_t)(end - percent - 2)) : NULL;
    double count, total, epoch = 0;
    memory->other_total = 0;
    if (!bar)
        return at;
    bar = span_skip_spaces(bar + 1, end);
    size_t size = number_read(bar, end, NUMBER_PLAIN, &count);
    if (!size || bar + size == end || bar[size] != '/')
        return at;
    const char *behind = bar + size + 1;
    size = number_read(behind, end, NUMBER_PLAIN, &total);
    const char *label_end = percent;
    while (label_end > at && (isdigit((unsigned char)label_end[-1]) || label_end[-1] == ' '))
        label_end--;
    struct span label = {.at = at, .size = (size_t)(label_end - at)};
    if (bar_has_step_label(values, label)) {
        memory->has_bar_with_step = true;
        return at;
    }
    bool has_epoch = label.size > 6 && strncasecmp(label.at, "epoch ", 6) == 0 &&
                     number_read(label.at + 6, label_end, NUMBER_PLAIN, &epoch) > 0;
    behind += size;
    if (!size || total != floor(total) || fabs(total) > 1e15 ||
        !(has_epoch || bar_is_training(label)) || bar_is_evaluation(label) ||
        memory->has_bar_with_step)
        return behind;
    values_count_step(values, has_epoch ? epoch * total + count : bar_step(memory, count, total));
    return behind;
}

/* --- Epochs ----------------------------------------------------------------------------------- */

enum { EPOCH_NUMBER_MAX = 1000000000 }; /* keeps the step far from any limit */

/* Reads a whole number. NULL: there is no number. */
static const char *epoch_number(const char *at, const char *end, double *ret_value)
{
    size_t size = number_read(at, end, NUMBER_PLAIN, ret_value);
    bool is_whole = size && isdigit((unsigned char)*at) && *ret_value == floor(*ret_value) &&
                    *ret_value <= EPOCH_NUMBER_MAX;
    return is_whole ? at + size : NULL;
}

/* Reads "/600" or " / 600" with the spaces after it. NULL: there is no total. */
static const char *epoch_total(const char *at, const char *end, double *ret_total)
{
    at = span_skip_spaces(at, end);
    if (at == end || *at != '/')
        return NULL;
    at = epoch_number(span_skip_spaces(at + 1, end), end, ret_total);
    return at ? span_skip_spaces(at, end) : NULL;
}

static bool epoch_is_word(struct span word, const char *name)
{
    return span_is_any(word, &name, 1);
}

/* Whether the word means a batch. "Step" beside an epoch may count the whole run; batches are
 * always counted within an epoch. */
static bool epoch_is_batch(struct span word)
{
    return epoch_is_word(word, "batch") || epoch_is_word(word, "batches");
}

/* Whether the word before `at` means an evaluation: "Val Epoch: [1][10/100]", "[test] Epoch". */
static bool epoch_is_of_evaluation(const char *begin, const char *at)
{
    while (at > begin && strchr(" []()", at[-1]))
        at--;
    const char *end = at;
    while (at > begin && isalpha((unsigned char)at[-1]))
        at--;
    return progress_is_evaluation(progress_letters(at, end));
}

const char *progress_read_epoch(struct values *values, const char *begin, const char *at,
                                const char *end)
{
    double epoch, epochs, count, total;
    struct span name = progress_word(at, end);
    const char *behind = name.at + name.size;
    if (!epoch_is_word(name, "epoch") || values->step_name[0])
        return NULL; /* it is not an epoch, or the spec names the step */
    at = progress_pass(behind, end, " :=#[");
    at = at > behind ? epoch_number(at, end, &epoch) : NULL;
    if (!at)
        return NULL;
    behind = epoch_total(at, end, &epochs);
    at = progress_pass(behind ? behind : at, end, " ]),;|:-\t");
    struct span word = progress_word(at, end);
    if (word.size && !epoch_is_batch(word) && !values_is_step_name(values, &word, 1))
        return NULL;
    at = progress_pass(at + word.size, end, " :=#");
    bool is_list = at < end && *at == '[';
    at = epoch_number(span_skip_spaces(at + is_list, end), end, &count);
    at = at ? epoch_total(at, end, &total) : NULL;
    if (!at || count > total)
        return NULL;
    if (!word.size && !is_list) {
        word = progress_word(at, end);
        at += word.size;
    }
    if (!is_list && !epoch_is_batch(word))
        return NULL;
    values_add(values, &name, 1, -1, epoch);
    if (!epoch_is_of_evaluation(begin, name.at))
        values_count_step(values, epoch * total + count);
    return at;
}
