/* Secrets and the codes of requests and replies. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/mac.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The bytes 00 01 .. 1f. */
static const char secret_text[] = "000102030405060708090a0b0c0d0e0f"
                                  "101112131415161718191a1b1c1d1e1f";
static const char nonce[] = "00112233445566778899aabbccddeeff";

static struct mac_secret known_secret(void)
{
    struct mac_secret secret;
    assert_int_equal(mac_secret_parse(secret_text, &secret, NULL), 0);
    return secret;
}

/* The expected codes were computed with Python: hmac.new(bytes(range(32)), message,
 * 'sha512').hexdigest()[:64]. */
static void codes_are_those_of_the_protocol(void **state)
{
    (void)state;
    struct mac_secret secret = known_secret();
    char mac[MAC_SIZE];
    mac_request(&secret, "POST", "/v1/worker/12/journal", nonce, "{}", 2, mac);
    assert_string_equal(mac, "7b9e9870bf809dfa15fe16b92830c8cf8894e52158dee4c8782550ec0d231e9e");
    mac_reply(&secret, nonce, 200, "{\"committed\": 118}", 18, mac);
    assert_string_equal(mac, "0a972954f7bc5ab7d4ca75c3ce71a0a840f5fa5a196747856a49b9a10e3fc664");
}

static void every_part_of_a_message_changes_the_code(void **state)
{
    (void)state;
    struct mac_secret secret = known_secret();
    static const struct {
        const char *method, *path, *nonce, *body;
    } rows[] = {
        {"GET", "/a", nonce, ""},  {"POST", "/a", nonce, ""},
        {"GET", "/b", nonce, ""},  {"GET", "/a?after=1", nonce, ""},
        {"GET", "/a", nonce, "x"}, {"GET", "/a", "ffeeddccbbaa99887766554433221100", ""},
    };
    enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
    char macs[ROWS + 1][MAC_SIZE];
    for (size_t i = 0; i < ROWS; i++)
        mac_request(&secret, rows[i].method, rows[i].path, rows[i].nonce, rows[i].body,
                    strlen(rows[i].body), macs[i]);
    mac_reply(&secret, nonce, 200, NULL, 0, macs[ROWS]);
    for (size_t i = 0; i <= ROWS; i++)
        for (size_t j = 0; j <= ROWS; j++)
            assert_int_equal(mac_equal(macs[i], macs[j]), i == j);
}

static void a_text_that_is_no_code_equals_nothing(void **state)
{
    (void)state;
    assert_true(mac_equal(secret_text, secret_text));
    assert_false(mac_equal(NULL, secret_text));
    assert_false(mac_equal("", ""));
    assert_false(mac_equal("abc", "abc"));
}

static void only_64_hex_digits_are_a_secret(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int result;
    } rows[] = {
        {"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n", 0},
        {"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f ", -EINVAL},
        {"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e", -EINVAL},
        {"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f00", -EINVAL},
        {"g00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", -EINVAL},
        {"", -EINVAL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct mac_secret secret;
        assert_int_equal(mac_secret_parse(rows[i].text, &secret, NULL), rows[i].result);
    }
}

static void a_random_secret_reads_back_from_its_file(void **state)
{
    (void)state;
    char folder[] = "/tmp/phased-test-XXXXXX", text[MAC_SECRET_SIZE], other[MAC_SECRET_SIZE];
    assert_non_null(mkdtemp(folder));
    char *path = text_format("%s/secret", folder);
    mac_random(text, sizeof(text));
    mac_random(other, sizeof(other));
    assert_true(mac_is_hex(text, MAC_SECRET_SIZE - 1));
    assert_string_not_equal(text, other);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), 0);
    struct mac_secret parsed, read;
    struct error err;
    assert_int_equal(mac_secret_parse(text, &parsed, &err), 0);
    assert_int_equal(mac_secret_read(path, &read, &err), 0);
    assert_memory_equal(&parsed, &read, sizeof(read));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mac_secret_read(path, &read, &err), -ENOENT);
    assert_int_equal(rmdir(folder), 0);
    free(path);
}

static void only_the_secret_opens_what_it_has_sealed(void **state)
{
    (void)state;
    static const char body[] = "HF_TOKEN=secret";
    struct mac_secret secret = known_secret(), other = secret;
    size_t size, opened;
    other.key[31] ^= 1;
    char *encrypted = mac_encrypt(&secret, body, strlen(body), &size), *text;
    assert_null(memmem(encrypted, size, "secret", 6));
    assert_null(mac_decrypt(&other, encrypted, size, &opened));
    for (size_t i = 0; i <= size; i++)
        assert_true(i == size || !mac_decrypt(&secret, encrypted, i, &opened));
    for (size_t i = 0; i < size; i++) {
        encrypted[i] ^= 1;
        assert_null(mac_decrypt(&secret, encrypted, size, &opened));
        encrypted[i] ^= 1;
    }
    assert_non_null(text = mac_decrypt(&secret, encrypted, size, &opened));
    assert_string_equal(text, body);
    assert_int_equal(opened, strlen(body));
    free(text);
    free(encrypted);
    encrypted = mac_encrypt(&secret, "", 0, &size);
    assert_non_null(text = mac_decrypt(&secret, encrypted, size, &opened));
    assert_int_equal(opened, 0);
    free(text);
    free(encrypted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_those_of_the_protocol),
        cmocka_unit_test(every_part_of_a_message_changes_the_code),
        cmocka_unit_test(a_text_that_is_no_code_equals_nothing),
        cmocka_unit_test(only_64_hex_digits_are_a_secret),
        cmocka_unit_test(a_random_secret_reads_back_from_its_file),
        cmocka_unit_test(only_the_secret_opens_what_it_has_sealed),
    };
    return cmocka_run_group_tests_name("mac", tests, NULL, NULL);
}
