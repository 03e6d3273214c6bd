/* Growing strings, quoting and suggestions; whole files. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/json.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void a_text_grows_as_needed(void **state)
{
    (void)state;
    struct text text = {0};
    assert_string_equal(text_string(&text), "");
    for (int i = 0; i < 1000; i++)
        text_addf(&text, "%d,", i);
    assert_int_equal(text.size, 3890);
    assert_true(text_starts(text_string(&text), "0,1,2,"));
    assert_true(text_ends(text_string(&text), ",999,"));
    text_fini(&text);
}

static void a_number_has_the_fewest_digits(void **state)
{
    (void)state;
    static const struct {
        double number;
        const char *text;
    } rows[] = {
        {0.1, "0.1"},
        {5, "5"},
        {1.0 / 3, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
        {-1e300, "-1e+300"},
        {NAN, "nan"},
        {-NAN, "nan"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text text = {0};
        text_add_number(&text, rows[i].number);
        assert_string_equal(text_string(&text), rows[i].text);
        text_fini(&text);
    }
}

static void a_quoted_word_survives_a_shell(void **state)
{
    (void)state;
    struct text text = {0};
    text_add_quoted(&text, "it's $HOME");
    assert_string_equal(text_string(&text), "'it'\\''s $HOME'");
    text_fini(&text);
}

static void a_name_is_suggested_only_if_it_is_near(void **state)
{
    (void)state;
    static const char *const names[] = {"resources", "params", "gate", "guards"};
    assert_string_equal(text_nearest("resorces", names, 4), "resources");
    assert_string_equal(text_nearest("param", names, 4), "params");
    assert_null(text_nearest("elephant", names, 4));
    static const char *const options[] = {"with", "watch"};
    assert_string_equal(text_nearest("wacth", options, 2), "watch"); /* a swap is one mistake */
    static const char *const shorts[] = {"qos", "gpus"};
    assert_null(text_nearest("foo", shorts, 2)); /* two of three letters differ */
    assert_string_equal(text_nearest("qso", shorts, 2), "qos");
    assert_string_equal(text_nearest("gpu", shorts, 2), "gpus");
}

static void a_list_has_items_between_commas(void **state)
{
    const char *list = "h200,,h100";
    static const char *const items[] = {"h200", "", "h100"};
    (void)state;
    assert_true(text_has_item(list, "h200"));
    assert_true(text_has_item(list, "h100"));
    assert_false(text_has_item(list, "h10"));
    assert_false(text_has_item(list, "h1000"));
    assert_false(text_has_item(NULL, "h100"));
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        char *item = text_take_item(&list);
        assert_string_equal(item, items[i]);
        free(item);
    }
    assert_null(text_take_item(&list));
    list = NULL;
    assert_null(text_take_item(&list));
}

static void a_node_has_a_name_that_is_good_in_paths_and_lists(void **state)
{
    static const char *const good[] = {"n1", "gpu_01-ib.example.org", "N", "7"};
    static const char *const bad[] = {NULL, "", ".n", "..", "-n", "n/1", "n 1", "n,m", "n[1-2]"};
    char longest[TEXT_NODE_MAX + 2];
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(text_is_node(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(text_is_node(bad[i]));
    memset(longest, 'n', sizeof longest);
    longest[TEXT_NODE_MAX + 1] = '\0';
    assert_false(text_is_node(longest));
    assert_true(text_is_node(longest + 1));
}

static void a_name_ends_where_other_characters_begin(void **state)
{
    (void)state;
    assert_int_equal(text_name_size("", "_"), 0);
    assert_int_equal(text_name_size("a_1-b", "_"), 3);
    assert_int_equal(text_name_size("a_1-b", "-_"), 5);
    assert_int_equal(text_name_size("-b", "-"), 2);
    assert_int_equal(text_name_size("\xc3\xa9", "_"), 0);
}

static void digits_end_where_another_character_begins(void **state)
{
    (void)state;
    assert_int_equal(text_digits_size(""), 0);
    assert_int_equal(text_digits_size("042k7"), 3);
    assert_int_equal(text_digits_size("-1"), 0);
}

static void a_replaced_file_reads_back(void **state)
{
    (void)state;
    char folder[] = "/tmp/phased-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *deep = text_format("%s/a/b", folder), *path = text_format("%s/a/b/c", folder);
    struct error err;
    char *data;
    assert_int_equal(file_make_folders(deep, 0700, &err), 0);
    assert_int_equal(file_replace(path, "hello", 5, 0600, &err), 0);
    assert_int_equal(file_read(path, 5, &data, NULL, &err), 0);
    assert_string_equal(data, "hello");
    free(data);
    assert_int_equal(file_read(path, 4, &data, NULL, &err), -EFBIG);
    assert_int_equal(file_read(deep, 4, &data, NULL, &err), -EISDIR);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(deep), 0);
    *strrchr(deep, '/') = '\0';
    assert_int_equal(rmdir(deep), 0);
    assert_int_equal(rmdir(folder), 0);
    free(deep);
    free(path);
}

static void characters_that_a_terminal_obeys_become_visible(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *visible;
    } rows[] = {
        {"loss 2.5\tna\xc3\xafve \xe5\xae\xb6 \xf0\x9f\x91\xa9", NULL},
        {"\033]0;title\007\b", "^[]0;title^G^H"},
        {"a\nb\177", "a^Jb^?"},
        {"\xc2\x9b"
         "2J\xc2\x80",
         "<U+009B>2J<U+0080>"},
        {"\x9b"
         "2J caf\xe9",
         "<9B>2J caf<E9>"},
        {"\xe2\x80\xaegpj.exe\xe2\x81\xa6", "<U+202E>gpj.exe<U+2066>"},
        {"\xef\xbb\xbf\xf3\xa0\x81\x81", "<U+FEFF><U+E0041>"},
        {"\xc0\x9b\xed\xa0\x80\xf4\x90\x80\x80\xe5\xae",
         "<C0><9B><ED><A0><80><F4><90><80><80><E5><AE>"}, /* too long, no letters, cut */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct text text = {0};
        text_add_visible(&text, rows[i].bytes, strlen(rows[i].bytes), "\t");
        assert_string_equal(text_string(&text), rows[i].visible ? rows[i].visible : rows[i].bytes);
        assert_int_equal(text_is_plain(rows[i].bytes, "\t"), rows[i].visible == NULL);
        text_fini(&text);
    }
}

static void an_escape_sequence_ends_where_a_terminal_ends_it(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
    } rows[] = {
        {"loss", 0},
        {"", 0},
        {"\033[31mred", 5},
        {"\033[?25lbar", 6},
        {"\033[1 qbar", 5},
        {"\033[31\nred", 4}, /* a newline ends nothing, and is not a part */
        {"\033[31", 4},
        {"\033(B1.5", 3},
        {"\0337bar", 2},
        {"\033Mbar", 2},
        {"\033]0;title\abar", 10},
        {"\033]8;;https://a.b/c\033\\link", 20},
        {"\033_Gi=1;AAAA\033\\bar", 13},
        {"\033]0;title", 9},
        {"\033\033[31m", 1},
        {"\033", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(text_escape_size(rows[i].bytes, strlen(rows[i].bytes)), rows[i].size);
    assert_int_equal(text_escape_size("\033\000", 2), 1);
}

static void json_has_names_for_numbers_that_it_lacks(void **state)
{
    (void)state;
    static const double values[] = {1.5, -0.0, 1e308, NAN, INFINITY, -INFINITY};
    static const char *const texts[] = {"1.5", "-0.0", "1e308", "\"nan\"", "\"inf\"", "\"-inf\""};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        json_t *json = json_double(values[i]);
        char *text = json_dumps(json, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        double again = 7;
        assert_string_equal(text, texts[i]);
        assert_true(json_double_read(json, &again));
        assert_true(again == values[i] || (isnan(again) && isnan(values[i])));
        free(text);
        json_decref(json);
    }
    double kept = 7;
    json_t *others = json_pack("[s, s, n, b]", "NaN", "1.5", 1);
    for (size_t i = 0; i < json_array_size(others); i++)
        assert_false(json_double_read(json_array_get(others, i), &kept));
    assert_false(json_double_read(NULL, &kept));
    assert_true(kept == 7);
    json_decref(others);
}

static void a_member_of_json_may_be_absent(void **state)
{
    (void)state;
    json_t *json = json_pack("{s:s, s:s, s:n, s:I}", "text", "a", "empty", "", "null", "number",
                             (json_int_t)1 << 40);
    assert_string_equal(json_member_string(json, "text"), "a");
    assert_string_equal(json_member_string(json, "empty"), "");
    assert_null(json_member_string(json, "null"));
    assert_null(json_member_string(json, "number"));
    assert_null(json_member_string(NULL, "text"));
    assert_string_equal(json_member_text(json, "text"), "a");
    assert_string_equal(json_member_text(json, "absent"), "");
    assert_true(json_member_integer(json, "number") == (json_int_t)1 << 40);
    assert_true(json_member_integer(json, "text") == 0);
    assert_true(json_member_integer(json, "absent") == 0);
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_grows_as_needed),
        cmocka_unit_test(a_number_has_the_fewest_digits),
        cmocka_unit_test(a_quoted_word_survives_a_shell),
        cmocka_unit_test(a_name_is_suggested_only_if_it_is_near),
        cmocka_unit_test(a_list_has_items_between_commas),
        cmocka_unit_test(a_node_has_a_name_that_is_good_in_paths_and_lists),
        cmocka_unit_test(a_name_ends_where_other_characters_begin),
        cmocka_unit_test(digits_end_where_another_character_begins),
        cmocka_unit_test(a_replaced_file_reads_back),
        cmocka_unit_test(characters_that_a_terminal_obeys_become_visible),
        cmocka_unit_test(an_escape_sequence_ends_where_a_terminal_ends_it),
        cmocka_unit_test(json_has_names_for_numbers_that_it_lacks),
        cmocka_unit_test(a_member_of_json_may_be_absent),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
