/* Vocabularies and tokens: words, merges beside a slow reference, exact round trips, damaged
 * files. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"
#include "worker/model/random.h"
#include "worker/model/tokenizer.h"
#include "worker/model/vocabulary.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void words_are_runs_of_one_class_with_the_space_before_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *words; /* their borders are marked by | */
    } table[] = {
        {"one two 345!", "one| two| 345|!"},
        {"don't", "don|'|t"},
        {"f(x) == 2", "f|(|x|)| ==| 2"},
        {"a   b", "a|  | b"},
        {"a\n\n  b", "a|\n\n | b"},
        {"a\n\nb", "a|\n\n|b"},
        {"\tif", "\t|if"},
        {"end  ", "end|  "},
        {" ", " "},
        {"r\xc3\xa9sum\xc3\xa9 \xff\xfe", "r\xc3\xa9sum\xc3\xa9| \xff\xfe"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct text marked = {0};
        const char *at = table[i].text;
        for (size_t left = strlen(at); left;) {
            size_t size = tokenizer_word_size((const uint8_t *)at, left);
            text_addf(&marked, "%s%.*s", marked.size ? "|" : "", (int)size, at);
            at += size;
            left -= size;
        }
        assert_string_equal(text_string(&marked), table[i].words);
        text_fini(&marked);
    }
}

static void a_long_word_is_cut(void **state)
{
    (void)state;
    uint8_t text[150];
    memset(text, 'a', sizeof text);
    assert_int_equal(tokenizer_word_size(text, sizeof text), VOCABULARY_TOKEN_SIZE_MAX);
    assert_int_equal(tokenizer_word_size(text, 63), 63);
}

/* A text of few letters, so that there are many ties and overlaps. */
static void fill(uint8_t *text, size_t size, uint64_t stream)
{
    for (size_t i = 0; i < size; i++)
        text[i] = (uint8_t) "aaabbcaaabbcad \n"[random_at(stream, i) % 16];
}

enum { TEXT = 1200, TOKENS = 256 + 50 };

/* The text as tokens. A border between words is UINT32_MAX. */
struct slow {
    uint32_t tokens[2 * TEXT];
    size_t size;
};

static uint64_t slow_count(const struct slow *slow, uint32_t left, uint32_t right)
{
    uint64_t count = 0;
    for (size_t i = 0; i + 1 < slow->size; i++)
        count += slow->tokens[i] == left && slow->tokens[i + 1] == right;
    return count;
}

static struct vocabulary_merge slow_most_frequent(const struct slow *slow)
{
    struct vocabulary_merge best = {0};
    uint64_t most = 0;
    for (size_t i = 0; i + 1 < slow->size; i++) {
        struct vocabulary_merge pair = {slow->tokens[i], slow->tokens[i + 1]};
        if (pair.left == UINT32_MAX || pair.right == UINT32_MAX)
            continue;
        uint64_t count = slow_count(slow, pair.left, pair.right);
        if (count > most || (count == most && (pair.left < best.left || (pair.left == best.left &&
                                                                         pair.right < best.right))))
            best = pair;
        most = count > most ? count : most;
    }
    assert_true(most >= 2);
    return best;
}

static void slow_merge(struct slow *slow, struct vocabulary_merge pair, uint32_t merged)
{
    size_t kept = 0;
    for (size_t i = 0; i < slow->size; i++) {
        bool fits =
            slow->tokens[i] == pair.left && i + 1 < slow->size && slow->tokens[i + 1] == pair.right;
        slow->tokens[kept++] = fits ? merged : slow->tokens[i];
        i += fits;
    }
    slow->size = kept;
}

static void slow_begin(struct slow *slow, const uint8_t *text)
{
    slow->size = 0;
    for (size_t at = 0; at < TEXT;) {
        size_t size = tokenizer_word_size(text + at, TEXT - at);
        for (size_t i = 0; i < size; i++)
            slow->tokens[slow->size++] = text[at + i];
        slow->tokens[slow->size++] = UINT32_MAX;
        at += size;
    }
}

static size_t encode(const struct vocabulary *vocabulary, const uint8_t *bytes, size_t size,
                     uint32_t *ret_tokens)
{
    size_t count = 0;
    struct tokenizer tokenizer;
    tokenizer_init(&tokenizer, vocabulary);
    for (size_t at = 0, added; at < size; count += added)
        at += tokenizer_next(&tokenizer, bytes + at, size - at, ret_tokens + count, &added);
    tokenizer_fini(&tokenizer);
    return count;
}

static void assert_round_trip(const struct vocabulary *vocabulary, const uint8_t *bytes,
                              size_t size)
{
    uint32_t *tokens = calloc(size + VOCABULARY_TOKEN_SIZE_MAX, sizeof *tokens);
    assert_non_null(tokens);
    size_t count = encode(vocabulary, bytes, size, tokens), at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t token_size;
        assert_true(tokens[i] < vocabulary->tokens);
        const uint8_t *token = vocabulary_token(vocabulary, tokens[i], &token_size);
        assert_true(at + token_size <= size);
        assert_memory_equal(bytes + at, token, token_size);
        at += token_size;
    }
    assert_int_equal(at, size);
    free(tokens);
}

static void train(struct vocabulary *vocabulary, uint8_t *text, uint32_t tokens)
{
    struct file_map map = {text, TEXT};
    assert_int_equal(vocabulary_train(vocabulary, &map, 1, tokens, NULL), 0);
}

static void merges_and_tokens_are_those_of_a_slow_reference(void **state)
{
    (void)state;
    for (uint64_t stream = 1; stream <= 10; stream++) {
        static uint8_t text[TEXT];
        static struct slow slow;
        static uint32_t tokens[TEXT + VOCABULARY_TOKEN_SIZE_MAX];
        struct vocabulary vocabulary;
        fill(text, TEXT, stream);
        train(&vocabulary, text, TOKENS);
        slow_begin(&slow, text);
        for (uint32_t token = 256; token < TOKENS; token++) {
            struct vocabulary_merge wanted = slow_most_frequent(&slow);
            struct vocabulary_merge got = vocabulary.merges[token - 256];
            if (got.left != wanted.left || got.right != wanted.right)
                fail_msg("stream %d: token %u is %u %u, not %u %u", (int)stream, token, got.left,
                         got.right, wanted.left, wanted.right);
            slow_merge(&slow, wanted, token);
        }
        size_t count = encode(&vocabulary, text, TEXT, tokens), at = 0;
        for (size_t i = 0; i < slow.size; i++)
            if (slow.tokens[i] != UINT32_MAX)
                assert_int_equal(slow.tokens[i], tokens[at++]);
        assert_int_equal(at, count);
        vocabulary_fini(&vocabulary);
    }
}

static void any_bytes_come_back_from_tokens(void **state)
{
    (void)state;
    uint8_t text[TEXT];
    uint8_t any[20000];
    struct vocabulary vocabulary;
    fill(text, TEXT, 1);
    train(&vocabulary, text, TOKENS);
    for (size_t i = 0; i < sizeof any; i++)
        any[i] = (uint8_t)random_at(99, i);
    assert_round_trip(&vocabulary, any, sizeof any);
    fill(any, sizeof any, 98);
    assert_round_trip(&vocabulary, any, sizeof any);
    memset(any, 'a', sizeof any);
    assert_round_trip(&vocabulary, any, sizeof any);
    vocabulary_fini(&vocabulary);
}

static void one_text_in_two_files_gives_the_vocabulary_of_both(void **state)
{
    (void)state;
    uint8_t text[TEXT];
    struct vocabulary whole, parts;
    fill(text, TEXT, 1);
    text[599] = '\n';
    text[600] = 'b';
    struct file_map maps[] = {{text + 600, TEXT - 600}, {NULL, 0}, {text, 600}};
    train(&whole, text, TOKENS);
    assert_int_equal(vocabulary_train(&parts, maps, 3, TOKENS, NULL), 0);
    assert_memory_equal(whole.digest, parts.digest, sizeof whole.digest);
    vocabulary_fini(&whole);
    vocabulary_fini(&parts);
}

static void a_text_with_too_few_pairs_is_refused_with_the_number_of_tokens(void **state)
{
    (void)state;
    char text[] = "abab";
    struct file_map map = {text, strlen(text)};
    struct vocabulary vocabulary;
    struct error err;
    assert_int_equal(vocabulary_train(&vocabulary, &map, 1, 300, &err), -ERANGE);
    assert_non_null(strstr(err.message, "gives only 257"));
    assert_int_equal(vocabulary_train(&vocabulary, &map, 0, 256, &err), 0);
    assert_int_equal(vocabulary.tokens, 256);
    vocabulary_fini(&vocabulary);
}

static void impossible_merges_are_refused(void **state)
{
    (void)state;
    enum { COUNT = 7 };
    /* The tokens double in size: the last one has 128 bytes. */
    static const struct {
        struct vocabulary_merge merges[COUNT];
        uint32_t count;
        const char *reason;
    } rows[] = {
        {{{'a', 'b'}, {257, 'c'}}, 2, "token 257 is made of a later token"},
        {{{'a', UINT32_MAX}}, 1, "token 256 is made of a later token"},
        {{{'a', 'b'}, {'c', 'd'}, {'a', 'b'}}, 3, "tokens 256 and 258 are the same pair"},
        {{{0, 0}, {256, 256}, {257, 257}, {258, 258}, {259, 259}, {260, 260}, {261, 261}},
         7,
         "token 262 is longer than 64 bytes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct vocabulary vocabulary;
        struct error err;
        /* Every prefix is a vocabulary. */
        for (uint32_t count = 0; count <= rows[i].count; count++) {
            struct vocabulary_merge *merges = malloc(sizeof rows[i].merges);
            assert_non_null(merges);
            memcpy(merges, rows[i].merges, sizeof rows[i].merges);
            int result = vocabulary_init(&vocabulary, merges, 256 + count, &err);
            assert_int_equal(result, count < rows[i].count ? 0 : -EINVAL);
            if (result == 0)
                vocabulary_fini(&vocabulary);
        }
        if (!strstr(err.message, rows[i].reason))
            fail_msg("row %zu: %s", i, err.message);
    }
}

static void a_saved_vocabulary_loads_the_same_and_damage_is_refused(void **state)
{
    (void)state;
    uint8_t text[TEXT];
    struct vocabulary saved, loaded;
    struct error err;
    char *data, *path = text_format("%s/vocabulary", folder);
    size_t size;
    fill(text, TEXT, 1);
    train(&saved, text, TOKENS);
    assert_int_equal(vocabulary_save(&saved, path, &err), 0);
    assert_int_equal(vocabulary_load(&loaded, path, &err), 0);
    assert_int_equal(loaded.tokens, TOKENS);
    assert_memory_equal(saved.digest, loaded.digest, sizeof saved.digest);
    assert_memory_equal(saved.merges, loaded.merges, 50 * sizeof *saved.merges);
    vocabulary_fini(&saved);
    vocabulary_fini(&loaded);
    const struct {
        size_t changed, size;
        const char *reason;
    } rows[] = {
        {0, 448, "not a vocabulary"},    {8, 448, "version 0"},
        {14, 448, "tokens, not 256"},    {12, 448, "448 bytes instead"},
        {20, 448, "digest is wrong"},    {430, 448, "digest is wrong"},
        {0, 0, "not a vocabulary"},      {47, 47, "not a vocabulary"},
        {447, 447, "447 bytes instead"},
    };
    assert_int_equal(file_read(path, 10000, &data, &size, &err), 0);
    assert_int_equal(size, 448);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        data[rows[i].changed] ^= rows[i].changed == 14 ? 0x7f : 1;
        assert_int_equal(file_replace(path, data, rows[i].size, 0600, &err), 0);
        data[rows[i].changed] ^= rows[i].changed == 14 ? 0x7f : 1;
        assert_int_equal(vocabulary_load(&loaded, path, &err), -EINVAL);
        if (!strstr(err.message, rows[i].reason) || !strstr(err.message, path))
            fail_msg("row %zu: %s", i, err.message);
    }
    free(data);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_runs_of_one_class_with_the_space_before_them),
        cmocka_unit_test(a_long_word_is_cut),
        cmocka_unit_test(merges_and_tokens_are_those_of_a_slow_reference),
        cmocka_unit_test(any_bytes_come_back_from_tokens),
        cmocka_unit_test(one_text_in_two_files_gives_the_vocabulary_of_both),
        cmocka_unit_test(a_text_with_too_few_pairs_is_refused_with_the_number_of_tokens),
        cmocka_unit_test(impossible_merges_are_refused),
        cmocka_unit_test_setup_teardown(a_saved_vocabulary_loads_the_same_and_damage_is_refused,
                                        folder_make, folder_remove),
    };
    return cmocka_run_group_tests_name("tokenizer", tests, NULL, NULL);
}
