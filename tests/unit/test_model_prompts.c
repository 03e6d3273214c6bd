/* The files of phase-model generate: which outputs a run goes on with. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"
#include "worker/model/prompts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int open_and_close(const char *input, const char *output, size_t *ret_done)
{
    struct prompts prompts;
    struct error err;
    int result = prompts_open(&prompts, input, output, &err);
    *ret_done = prompts.done;
    return prompts_close(&prompts, result, &err);
}

static void write_file(const char *path, const char *data, size_t size)
{
    assert_int_equal(file_replace(path, data, size, 0600, NULL), 0);
}

static void a_text_with_a_zero_byte_can_be_continued(void **state)
{
    char *input = text_format("%s/input", folder), *output = text_format("%s/output", folder);
    struct prompts prompts;
    struct error err;
    size_t done;
    (void)state;
    write_file(input, "a\0b\nc\n", 6);
    assert_int_equal(prompts_open(&prompts, input, output, &err), 0);
    assert_int_equal(prompts_write(&prompts, 0, "x\0y", 3, &err), 0);
    assert_int_equal(prompts_close(&prompts, 0, &err), 0);
    assert_int_equal(open_and_close(input, output, &done), 0);
    assert_int_equal(done, 1);
    free(output);
    free(input);
}

static void an_output_with_the_largest_number_is_refused(void **state)
{
    static const char line[] = "{\"line\": 9223372036854775807}\n";
    char *input = text_format("%s/input", folder), *output = text_format("%s/output", folder);
    size_t done;
    (void)state;
    write_file(input, "a\nb\n", 4);
    write_file(output, line, strlen(line));
    assert_int_equal(open_and_close(input, output, &done), -EINVAL);
    free(output);
    free(input);
}

/* The zeros of the sparse file count as a long first line. */
static void an_output_beyond_1_GiB_can_be_continued(void **state)
{
    static const char line[] = "\n{\"line\": 1, \"prompt\": \"b\"}\n";
    char *input = text_format("%s/input", folder), *output = text_format("%s/output", folder);
    size_t done;
    (void)state;
    write_file(input, "a\nb\nc\n", 6);
    int fd = open(output, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(pwrite(fd, line, strlen(line), 1 << 30), (ssize_t)strlen(line));
    assert_int_equal(close(fd), 0);
    assert_int_equal(open_and_close(input, output, &done), 0);
    assert_int_equal(done, 2);
    free(output);
    free(input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_text_with_a_zero_byte_can_be_continued, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(an_output_with_the_largest_number_is_refused, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(an_output_beyond_1_GiB_can_be_continued, folder_make,
                                        folder_remove),
    };
    return cmocka_run_group_tests_name("prompts", tests, NULL, NULL);
}
