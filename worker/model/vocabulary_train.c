/* Makes a vocabulary from texts.
 *
 * First the texts become word types: each different word, with its count. So the work on a word is
 * done once, however often the word occurs. Each pair of neighbouring tokens has its count and the
 * list of word types that contain the pair. A merge changes only these word types.
 *
 * A merge makes all pairs of the new token at once. Later the counts of these pairs only fall. So
 * each token has one sorted run of pairs, and the run never grows. A heap finds the most frequent
 * pair. A count in the heap may be too high, and heap_take() corrects it. The work grows with the
 * size of the word types, not with the number of merges. */
#include "worker/model/vocabulary.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "worker/model/tokenizer.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    MET_WORDS = 1 << 17,  /* words that are counted at once, 3 MB */
    LIST_FIRST = 1 << 20, /* words in the list before it is sorted for the first time */
    LAST_BYTE = VOCABULARY_BYTES - 1,
};

/* A word of a text, or a word type. */
struct word {
    const uint8_t *bytes; /* in the text */
    size_t size;
    uint64_t count; /* 0: no word */
};

struct words {
    struct word *list;
    size_t count, capacity;
};

/* Two neighbours in a word type. */
struct neighbours {
    uint32_t left, right, word;
};

struct pair {
    uint32_t left, right;
    uint64_t count;            /* in the texts */
    size_t place, place_count; /* which words: places[place] and on */
};

/* A pair in the heap with the count that it had when it came there. */
struct candidate {
    uint64_t count;
    size_t pair;
};

struct trainer {
    struct words words;
    uint32_t *tokens; /* of all word types, one after the other */
    size_t *begins;   /* word i has the tokens from begins[i] on */
    uint8_t *sizes;   /* how many tokens it still has */
    struct pair *pairs;
    size_t pair_count, pair_capacity;
    size_t *runs; /* the pairs whose later token is i (all pairs of bytes: 255) begin at runs[i] */
    uint32_t *places;
    size_t place_count, place_capacity;
    struct neighbours *fresh; /* neighbours that the newest token has */
    size_t fresh_count, fresh_capacity;
    struct candidate *heap;
    size_t heap_count, heap_capacity;
};

/* Makes room for one more element. */
static void *grow(void *memory, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return memory;
    *capacity = *capacity ? 2 * *capacity : 1024;
    return xreallocarray(memory, *capacity, size);
}

static int compare_words(const void *a, const void *b)
{
    const struct word *left = a, *right = b;
    size_t size = left->size < right->size ? left->size : right->size;
    int order = memcmp(left->bytes, right->bytes, size);
    return order ? order : (left->size > right->size) - (left->size < right->size);
}

/* Sorts the list and adds up equal words. */
static void words_join(struct words *words)
{
    size_t kept = 0;
    if (words->count)
        qsort(words->list, words->count, sizeof *words->list, compare_words);
    for (size_t i = 0; i < words->count; i++) {
        if (kept > 0 && compare_words(&words->list[kept - 1], &words->list[i]) == 0)
            words->list[kept - 1].count += words->list[i].count;
        else
            words->list[kept++] = words->list[i];
    }
    words->count = kept;
}

static void words_add(struct words *words, const struct word *word)
{
    if (words->count == words->capacity && words->count) {
        words_join(words);
        if (2 * words->count < words->capacity) /* enough room was won */
            goto out;
    }
    if (words->count == words->capacity) {
        words->capacity = words->capacity ? 2 * words->capacity : LIST_FIRST;
        words->list = xreallocarray(words->list, words->capacity, sizeof *words->list);
    }
out:
    words->list[words->count++] = *word;
}

/* Frequent words are counted in place. A word goes to the list only when another word with the same
 * hash comes, so the list is far shorter than the text. */
static void words_count(struct words *words, const struct file_map *texts, size_t text_count)
{
    struct word *met = xcalloc(MET_WORDS, sizeof *met);
    for (size_t i = 0; i < text_count; i++) {
        const uint8_t *at = texts[i].data;
        size_t left = texts[i].size;
        while (left) {
            const struct word next = {at, tokenizer_word_size(at, left), 1};
            struct word *word = &met[tokenizer_place(next.bytes, next.size, MET_WORDS)];
            at += next.size;
            left -= next.size;
            if (word->count && compare_words(word, &next) == 0) {
                word->count++;
                continue;
            }
            if (word->count)
                words_add(words, word);
            *word = next;
        }
    }
    for (size_t i = 0; i < MET_WORDS; i++)
        if (met[i].count)
            words_add(words, &met[i]);
    free(met);
    words_join(words);
}

/* Whether `a` is merged before `b`. */
static bool is_before(const struct trainer *trainer, const struct candidate *a,
                      const struct candidate *b)
{
    const struct pair *left = &trainer->pairs[a->pair], *right = &trainer->pairs[b->pair];
    if (a->count != b->count)
        return a->count > b->count;
    return left->left != right->left ? left->left < right->left : left->right < right->right;
}

static void heap_sink(struct trainer *trainer, size_t at)
{
    struct candidate *heap = trainer->heap;
    const struct candidate moved = heap[at];
    for (size_t below; (below = 2 * at + 1) < trainer->heap_count; at = below) {
        if (below + 1 < trainer->heap_count && is_before(trainer, &heap[below + 1], &heap[below]))
            below++;
        if (!is_before(trainer, &heap[below], &moved))
            break;
        heap[at] = heap[below];
    }
    heap[at] = moved;
}

static void heap_add(struct trainer *trainer, size_t pair)
{
    trainer->heap =
        grow(trainer->heap, trainer->heap_count, &trainer->heap_capacity, sizeof *trainer->heap);
    const struct candidate added = {trainer->pairs[pair].count, pair};
    size_t at = trainer->heap_count++;
    for (size_t above; at > 0; at = above) {
        above = (at - 1) / 2;
        if (!is_before(trainer, &added, &trainer->heap[above]))
            break;
        trainer->heap[at] = trainer->heap[above];
    }
    trainer->heap[at] = added;
}

/* Returns the pair that is merged next. NULL: no pair occurs at least twice. */
static struct pair *heap_take(struct trainer *trainer)
{
    while (trainer->heap_count) {
        struct candidate *top = &trainer->heap[0];
        struct pair *pair = &trainer->pairs[top->pair];
        bool is_exact = top->count == pair->count;
        top->count = pair->count;
        if (is_exact || pair->count < 2)
            *top = trainer->heap[--trainer->heap_count];
        if (trainer->heap_count)
            heap_sink(trainer, 0);
        if (is_exact && pair->count >= 2)
            return pair;
    }
    return NULL;
}

static int compare_neighbours(const void *a, const void *b)
{
    const struct neighbours *left = a, *right = b;
    if (left->left != right->left)
        return left->left < right->left ? -1 : 1;
    if (left->right != right->right)
        return left->right < right->right ? -1 : 1;
    return (left->word > right->word) - (left->word < right->word);
}

static void add_fresh(struct trainer *trainer, uint32_t left, uint32_t right, uint32_t word)
{
    trainer->fresh = grow(trainer->fresh, trainer->fresh_count, &trainer->fresh_capacity,
                          sizeof *trainer->fresh);
    trainer->fresh[trainer->fresh_count++] = (struct neighbours){left, right, word};
}

/* Makes the run of pairs of the newest token from its neighbours. */
static void make_run(struct trainer *trainer, uint32_t newest)
{
    if (trainer->fresh_count)
        qsort(trainer->fresh, trainer->fresh_count, sizeof *trainer->fresh, compare_neighbours);
    trainer->runs[newest] = trainer->pair_count;
    struct pair *pair = NULL;
    for (size_t i = 0; i < trainer->fresh_count; i++) {
        const struct neighbours *fresh = &trainer->fresh[i];
        if (!pair || pair->left != fresh->left || pair->right != fresh->right) {
            trainer->pairs = grow(trainer->pairs, trainer->pair_count, &trainer->pair_capacity,
                                  sizeof *trainer->pairs);
            pair = &trainer->pairs[trainer->pair_count++];
            *pair = (struct pair){fresh->left, fresh->right, 0, trainer->place_count, 0};
        }
        pair->count += trainer->words.list[fresh->word].count;
        if (pair->place_count && trainer->places[trainer->place_count - 1] == fresh->word)
            continue; /* the word has the pair more than once */
        trainer->places = grow(trainer->places, trainer->place_count, &trainer->place_capacity,
                               sizeof *trainer->places);
        trainer->places[trainer->place_count++] = fresh->word;
        pair->place_count++;
    }
    trainer->runs[newest + 1] = trainer->pair_count;
    trainer->fresh_count = 0;
    for (size_t i = trainer->runs[newest]; i < trainer->pair_count; i++)
        heap_add(trainer, i);
}

/* Lowers the count of the pair by the count of the word. */
static void forget(struct trainer *trainer, uint32_t left, uint32_t right, uint32_t word)
{
    uint32_t later = left > right ? left : right;
    later = later > LAST_BYTE ? later : LAST_BYTE;
    const struct neighbours wanted = {left, right, 0};
    size_t low = trainer->runs[later], high = trainer->runs[later + 1];
    for (;;) { /* the pair exists */
        size_t middle = low + (high - low) / 2;
        struct pair *pair = &trainer->pairs[middle];
        int order = compare_neighbours(&wanted, &(struct neighbours){pair->left, pair->right, 0});
        if (order == 0) {
            pair->count -= trainer->words.list[word].count;
            return;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
}

/* Replaces the pair by the new token in one word. */
static void merge_in_word(struct trainer *trainer, uint32_t left, uint32_t right, uint32_t merged,
                          uint32_t word)
{
    uint32_t *tokens = &trainer->tokens[trainer->begins[word]];
    size_t size = trainer->sizes[word], kept = 0;
    for (size_t i = 0; i < size; i++) {
        uint32_t token = tokens[i];
        if (token == left && i + 1 < size && tokens[i + 1] == right) {
            token = merged;
            forget(trainer, left, right, word);
            if (kept > 0 && tokens[kept - 1] != merged)
                forget(trainer, tokens[kept - 1], left, word);
            if (i + 2 < size)
                forget(trainer, right, tokens[i + 2], word);
            i++;
        }
        if (kept > 0 && (token == merged || tokens[kept - 1] == merged))
            add_fresh(trainer, tokens[kept - 1], token, word);
        tokens[kept++] = token;
    }
    trainer->sizes[word] = (uint8_t)kept;
}

/* Turns the word types into tokens of one byte. */
static void make_bytes(struct trainer *trainer, uint32_t tokens)
{
    const struct words *words = &trainer->words;
    size_t total = 0;
    assert(words->count <= UINT32_MAX); /* a longer list needs 100 GB */
    trainer->begins = xcalloc(words->count, sizeof *trainer->begins);
    trainer->sizes = xcalloc(words->count, sizeof *trainer->sizes);
    for (size_t i = 0; i < words->count; i++)
        total += words->list[i].size;
    trainer->tokens = xcalloc(total, sizeof *trainer->tokens);
    trainer->runs = xcalloc((size_t)tokens + 1, sizeof *trainer->runs);
    total = 0;
    for (size_t i = 0; i < words->count; i++) {
        const struct word *word = &words->list[i];
        trainer->begins[i] = total;
        trainer->sizes[i] = (uint8_t)word->size;
        for (size_t j = 0; j < word->size; j++) {
            trainer->tokens[total++] = word->bytes[j];
            if (j > 0)
                add_fresh(trainer, word->bytes[j - 1], word->bytes[j], (uint32_t)i);
        }
    }
    make_run(trainer, LAST_BYTE);
}

static int merge_all(struct trainer *trainer, struct vocabulary_merge *merges, uint32_t tokens,
                     struct error *err)
{
    for (uint32_t token = VOCABULARY_BYTES; token < tokens; token++) {
        const struct pair *found = heap_take(trainer);
        if (!found)
            return error_set(err, -ERANGE,
                             "cannot make %u tokens: the text gives only %u, because a pair must "
                             "occur twice",
                             tokens, token);
        const struct pair pair = *found; /* the pairs may move */
        merges[token - VOCABULARY_BYTES] = (struct vocabulary_merge){pair.left, pair.right};
        for (size_t i = 0; i < pair.place_count; i++)
            merge_in_word(trainer, pair.left, pair.right, token, trainer->places[pair.place + i]);
        make_run(trainer, token);
    }
    return 0;
}

int vocabulary_train(struct vocabulary *vocabulary, const struct file_map *texts, size_t text_count,
                     uint32_t tokens, struct error *err)
{
    struct trainer trainer = {0};
    struct vocabulary_merge *merges = xcalloc(tokens - VOCABULARY_BYTES, sizeof *merges);
    words_count(&trainer.words, texts, text_count);
    make_bytes(&trainer, tokens);
    int status = merge_all(&trainer, merges, tokens, err);
    if (status == 0)
        status = vocabulary_init(vocabulary, merges, tokens, err);
    else
        free(merges);
    free(trainer.words.list);
    free(trainer.tokens);
    free(trainer.begins);
    free(trainer.sizes);
    free(trainer.pairs);
    free(trainer.runs);
    free(trainer.places);
    free(trainer.fresh);
    free(trainer.heap);
    return status;
}
