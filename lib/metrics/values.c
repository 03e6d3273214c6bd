/* Names of metrics: lower case, plain, and bounded in number; and the names that mean a step.
 *
 * A program prints the same few names some hundred times a second. So everything that a name alone
 * decides is computed once and found again by the hash of the name. Two names with the same hash of
 * 64 bits would be taken for one name; that does not happen in practice. */
#include "lib/metrics/values.h"

#include "lib/metrics/letter.h"
#include "lib/text.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* If a line has several of these, the last in this list is the step. */
static const char *const step_names[] = {
    "num_updates", "update", "it",         "iter",        "iteration",
    "train_iter",  "step",   "train_step", "global_step", "global_steps",
};

/* Numbers that name something instead of measuring it. */
static const char *const not_metrics[] = {
    "id",        "pid",     "ppid",   "tid",        "port",      "version",   "v_num",     "build",
    "line",      "lineno",  "rank",   "local_rank", "node_rank", "timestamp", "ts",        "date",
    "year",      "uuid",    "hash",   "commit",     "sha",       "python",    "torch",     "cuda",
    "localhost", "asctime", "thread", "process",    "errno",     "exitcode",  "exit_code",
};
/* "file.py:12" becomes file_py. */
static const char *const not_metric_ends[] = {"_id",      "_pid", "_port",
                                              "_version", "_py",  "_timestamp"};

enum {
    STEP_NAMES = sizeof step_names / sizeof *step_names,
    NOT_METRICS = sizeof not_metrics / sizeof *not_metrics,
    NOT_METRIC_ENDS = sizeof not_metric_ends / sizeof *not_metric_ends,
};

/* Adds the letter at `at`, which is not ASCII, to the name as its number. Without a trace of the
 * letter, the name would be the name of another metric. Returns the size of the letter. 0: there is
 * no letter. `*used` becomes `size` if the number finds no room. */
static size_t values_add_letter(const char *at, const char *end, char *name, size_t size,
                                size_t *used)
{
    uint32_t code;
    size_t letter = letter_read(at, end, &code);
    if (!letter)
        return 0;
    int added = snprintf(name + *used, size - *used, *used ? "_u%04x" : "u%04x", (unsigned)code);
    *used = added < 0 || *used + (size_t)added >= size ? size : *used + (size_t)added;
    return letter;
}

/* Writes the plain name into `name`, which has room for `size` bytes. Returns its size. 0: the name
 * would be too long, or begin with a digit. */
static size_t values_plain_name(const struct span *words, size_t word_count, int index, char *name,
                                size_t size)
{
    size_t used = 0;
    bool gap = false; /* another character has come since the last letter or digit */
    for (size_t i = 0; i < word_count; i++, gap = true) {
        const char *end = words[i].at + words[i].size;
        for (const char *at = words[i].at; at < end; at++) {
            unsigned char c = (unsigned char)*at;
            if (!isalnum(c)) {
                size_t letter = values_add_letter(at, end, name, size, &used);
                gap = !letter;
                at += (letter ? letter : letter_decode(at, end, NULL)) - 1;
                continue;
            }
            if (used + 2 >= size)
                return 0;
            if (gap && used)
                name[used++] = '_';
            gap = false;
            name[used++] = (char)tolower(c);
        }
    }
    if (used >= size)
        return 0;
    name[used] = '\0';
    if (!used || !isalpha((unsigned char)name[0]))
        return 0;
    if (index >= 0) {
        int added = snprintf(name + used, size - used, "_%d", index);
        if (added < 0 || used + (size_t)added >= size)
            return 0;
        used += (size_t)added;
    }
    return used;
}

static bool values_is_metric_name(const char *name)
{
    if (text_is_one_of(name, not_metrics, NOT_METRICS))
        return false;
    for (size_t i = 0; i < NOT_METRIC_ENDS; i++)
        if (text_ends(name, not_metric_ends[i]))
            return false;
    return true;
}

/* Returns a rank above VALUES_STEP_COUNTED; 0: the name does not mean a step. The `step` of the
 * spec has the highest rank. It is the only name of a step, unless it is the common `step`, which
 * people write without looking at the log. */
static int values_step_rank(const struct values *values, const char *name)
{
    if (values->step_name[0] && text_equal(values->step_name, name))
        return VALUES_STEP_COUNTED + STEP_NAMES + 1;
    if (values->step_name[0] && !text_equal(values->step_name, "step"))
        return 0;
    for (int i = 0; i < STEP_NAMES; i++)
        if (text_equal(step_names[i], name))
            return VALUES_STEP_COUNTED + i + 1;
    return 0;
}

static uint64_t values_hash(const char *name)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    return hash ? hash : 1;
}

/* Returns the slot of the name with this hash, or the free slot for it. */
static struct values_name *values_slot(struct values *values, uint64_t hash)
{
    size_t slot = (size_t)(hash ^ hash >> 32) % VALUES_SEEN_SLOTS;
    while (values->seen[slot].hash && values->seen[slot].hash != hash)
        slot = (slot + 1) % VALUES_SEEN_SLOTS;
    return &values->seen[slot];
}

/* Returns the number of names that share their room with this name. Ordinary names, such as those
 * of layers, take no room from wanted names, steps, epochs and the names that every trainer uses.
 */
static size_t *values_names_like(struct values *values, const struct values_name *known,
                                 const char *name, bool is_wanted)
{
    struct span word = {.at = name, .size = strlen(name)};
    if (!known->is_metric)
        return &values->other_names;
    return is_wanted || known->step_rank || text_equal(name, "epoch") ||
                   values_is_known_metric(word)
               ? &values->known_names
               : &values->metric_names;
}

/* Returns what is known about the name. NULL: the name is new, and there are too many names. */
static const struct values_name *values_name(struct values *values, const char *name, uint64_t hash,
                                             bool is_wanted)
{
    struct values_name *known = values_slot(values, hash);
    if (known->hash)
        return known;
    const struct values_name fresh = {.hash = hash,
                                      .is_metric = values_is_metric_name(name),
                                      .step_rank = values_step_rank(values, name)};
    size_t *count = values_names_like(values, &fresh, name, is_wanted);
    if (*count == EXTRACT_NAMES_MAX) {
        if (fresh.is_metric && !values->left_out[0])
            (void)snprintf(values->left_out, sizeof values->left_out, "%s", name);
        return NULL;
    }
    ++*count;
    *known = fresh;
    return known;
}

void values_name_of(const char *word, char ret_name[EXTRACT_NAME_MAX + 1])
{
    struct span span = {.at = word, .size = strlen(word)};
    if (!values_plain_name(&span, 1, -1, ret_name, EXTRACT_NAME_MAX + 1))
        ret_name[0] = '\0';
}

void values_init(struct values *values, const char *step_name)
{
    memset(values, 0, sizeof *values);
    values_clear(values);
    if (step_name)
        values_name_of(step_name, values->step_name);
    values_want(values, values->step_name);
    for (int i = 0; i < STEP_NAMES; i++)
        values_want(values, step_names[i]);
}

void values_want(struct values *values, const char *name)
{
    if (*name)
        (void)values_name(values, name, values_hash(name), true);
}

void values_clear(struct values *values)
{
    values->so_far = (struct values_so_far){.step_index = SIZE_MAX};
}

/* Returns the item of the name, which may be a new one. NULL: the line has too many values. */
static struct extract_value *values_item(struct values *values, const char *name, uint64_t hash)
{
    for (size_t i = 0; i < values->so_far.count; i++)
        if (values->hashes[i] == hash)
            return &values->items[i];
    if (values->so_far.count == EXTRACT_VALUES_MAX)
        return NULL;
    values->hashes[values->so_far.count] = hash;
    struct extract_value *item = &values->items[values->so_far.count++];
    item->name = name;
    values->so_far.names_size += strlen(name) + 1;
    return item;
}

void values_add(struct values *values, const struct span *words, size_t word_count, int index,
                double value)
{
    char *name = values->names + values->so_far.names_size;
    size_t left = VALUES_NAMES_SIZE - values->so_far.names_size;
    left = left < EXTRACT_NAME_MAX + 1 ? left : EXTRACT_NAME_MAX + 1;
    if (!left || !values_plain_name(words, word_count, index, name, left))
        return;
    uint64_t hash = values_hash(name);
    const struct values_name *known = values_name(values, name, hash, false);
    if (!known || !known->is_metric)
        return;
    struct extract_value *item = values_item(values, name, hash);
    if (!item)
        return;
    item->value = value; /* the last value in a line counts, as in a series */
    if (known->step_rank > values->so_far.step_rank && values_is_step(value)) {
        values->so_far.step_rank = known->step_rank;
        values->so_far.step_index = (size_t)(item - values->items);
        values->so_far.step = (int64_t)value;
    }
}

bool values_is_step(double number)
{
    return number >= 0 && number <= EXTRACT_STEP_MAX && number == floor(number);
}

void values_count_step(struct values *values, double step)
{
    if (values->so_far.step_rank || !values_is_step(step))
        return;
    values->so_far.step_rank = VALUES_STEP_COUNTED;
    values->so_far.step = (int64_t)step;
}

bool values_is_step_name(const struct values *values, const struct span *words, size_t word_count)
{
    char name[EXTRACT_NAME_MAX + 1];
    return values_plain_name(words, word_count, -1, name, sizeof name) &&
           values_step_rank(values, name) > 0;
}

bool span_is_any(struct span span, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == span.size && strncasecmp(words[i], span.at, span.size) == 0)
            return true;
    return false;
}

const char *span_skip_spaces(const char *at, const char *end)
{
    while (at < end && *at == ' ')
        at++;
    return at;
}

bool values_is_known_metric(struct span word)
{
    static const char *const known[] = {
        "loss", "losses", "ppl",       "perplexity", "acc", "accuracy", "bpb",  "bpc",  "norm",
        "lr",   "mfu",    "grad_norm", "reward",     "f1",  "score",    "bleu", "bits",
    };
    static const char *const ends[] = {"loss", "acc", "accuracy", "ppl"};
    size_t begin = word.size;
    while (begin && word.at[begin - 1] != '_' && word.at[begin - 1] != '/')
        begin--;
    struct span last = {.at = word.at + begin, .size = word.size - begin};
    return span_is_any(word, known, sizeof known / sizeof *known) ||
           (begin && span_is_any(last, ends, sizeof ends / sizeof *ends));
}

bool values_has_known_metric(const struct values *values)
{
    bool is_known = false;
    for (size_t i = 0; i < values->so_far.count && !is_known; i++) {
        struct span name = {.at = values->items[i].name, .size = strlen(values->items[i].name)};
        is_known = values_is_known_metric(name);
    }
    return is_known;
}

uint32_t values_round(struct values *values)
{
    bool comes_again = values->round == 0 && values->so_far.count;
    for (size_t i = 0; i < values->so_far.count; i++)
        comes_again = comes_again || values_slot(values, values->hashes[i])->round == values->round;
    values->round += comes_again;
    for (size_t i = 0; i < values->so_far.count; i++)
        values_slot(values, values->hashes[i])->round = values->round;
    return values->round;
}

static void values_remove(struct values *values, size_t index)
{
    assert(index < values->so_far.count);
    values->so_far.count--;
    memmove(&values->items[index], &values->items[index + 1],
            (values->so_far.count - index) * sizeof *values->items);
}

void values_settle(struct values *values)
{
    if (values->so_far.step_index != SIZE_MAX)
        values_remove(values, values->so_far.step_index);
    values->so_far.step_index = SIZE_MAX;
    /* If another name is the step, a value called `step` would look like the step. */
    for (size_t i = 0; i < values->so_far.count; i++)
        if (text_equal(values->items[i].name, "step"))
            values_remove(values, i);
}

const double *values_find(const struct values *values, const char *name)
{
    for (size_t i = 0; i < values->so_far.count; i++)
        if (text_equal(values->items[i].name, name))
            return &values->items[i].value;
    return NULL;
}
