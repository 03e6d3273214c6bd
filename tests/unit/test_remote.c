/* Commands for a host: each shell that a user may have hands on the words as they are. */
#include "tests/unit/unit.h"

#include "cli/remote/command.h"
#include "lib/command.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

static char *const hostile[] = {
    (char[]){"plain"},
    (char[]){""},
    (char[]){"a b  c"},
    (char[]){"it's \"quoted\""},
    (char[]){"$(echo obeyed) `echo obeyed` ${HOME} $HOME"},
    (char[]){"'; echo obeyed; '"},
    (char[]){"a\nb\n"},
    (char[]){"\\047 \\n \\\\ \\'"},
    (char[]){"!! !echo ^a^b"},
    (char[]){"~ * ? [a-z] {a,b} # % & | ; < > ( )"},
    (char[]){"%s%n"},
    (char[]){"-e"},
    (char[]){"\xc3\xa4\xff\x01\t\r"},
    NULL,
};

/* Prints each argument in angle brackets. */
static const char script[] = "for word; do printf '<%s>' \"$word\"; done\n";

static void words_reach_the_script_through_each_shell(void **state)
{
    (void)state;
    static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh", "csh", "tcsh", "fish"};
    struct text expected = {0};
    char *command = remote_command(script, hostile);
    char *more = text_format("%s added 'and quoted'", command);
    unsigned tried = 0;
    for (size_t i = 0; hostile[i]; i++)
        text_addf(&expected, "<%s>", hostile[i]);
    text_add(&expected, "<added><and quoted>");
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        const char *const words[] = {shells[i], "-c", more, NULL};
        struct command_result result;
        if (command_run(words, NULL, 180, &result, NULL) < 0)
            continue; /* there is no such shell */
        if (!text_equal(text_string(&result.out), text_string(&expected)))
            print_error("%s: %s\n", shells[i], text_string(&result.err));
        assert_string_equal(text_string(&result.out), text_string(&expected));
        assert_int_equal(result.exit_code, 0);
        command_fini(&result);
        tried++;
    }
    assert_true(tried >= 2); /* sh and bash */
    text_fini(&expected);
    free(more);
    free(command);
}

static void a_command_has_only_harmless_letters_within_its_quotes(void **state)
{
    (void)state;
    char *command = remote_command(script, hostile), *last = strrchr(command, '\'');
    *last = '\0';
    const char *encoded = strrchr(command, '\'') + 1;
    assert_int_equal(encoded[strspn(encoded, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_./,:-\\")],
                     '\0');
    free(command);
}

static void the_exit_code_is_that_of_the_script(void **state)
{
    (void)state;
    char *command = remote_command("exit 7\n", NULL);
    const char *const words[] = {"sh", "-c", command, NULL};
    struct command_result result;
    assert_int_equal(command_run(words, NULL, 180, &result, NULL), 0);
    assert_int_equal(result.exit_code, 7);
    command_fini(&result);
    free(command);
}

/* The profile may print, as many do. */
static void only_the_script_prints(void **state)
{
    (void)state;
    struct command_result result;
    char *command = remote_command("printf %s \"$WORD\"\n", NULL);
    char *profile = text_format("echo 'echo profile; WORD=read' >$HOME/.profile; %s", command);
    const char *const words[] = {"sh", "-c", profile, NULL};
    assert_int_equal(command_run(words, NULL, 180, &result, NULL), 0);
    assert_string_equal(text_string(&result.out), "read");
    command_fini(&result);
    free(profile);
    free(command);
}

/* The scripts run in login shells. The tester's own profile may take seconds. */
static int make_home(void **state)
{
    static char home[] = "/tmp/phased-unit-XXXXXX";
    *state = mkdtemp(home);
    return *state ? setenv("HOME", home, 1) : -1;
}

static int remove_home(void **state)
{
    const char *const words[] = {"rm", "-r", *state, NULL};
    struct command_result result;
    int status = command_run(words, NULL, 180, &result, NULL);
    if (status == 0)
        command_fini(&result);
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_reach_the_script_through_each_shell),
        cmocka_unit_test(a_command_has_only_harmless_letters_within_its_quotes),
        cmocka_unit_test(the_exit_code_is_that_of_the_script),
        cmocka_unit_test(only_the_script_prints),
    };
    return cmocka_run_group_tests(tests, make_home, remove_home);
}
