/* Which of several modules phased opens, and what it says if none fits. The modules are made by the
 * compiler of the machine; they have no libslurm. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "daemon/slurm/interface.h"
#include "daemon/slurm/module.h"
#include "lib/command.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMPILER_WAIT_S = 60 };

static char *home, *library; /* two folders of modules */

static void run(const char *const *words)
{
    struct command_result result;
    struct error err;
    if (command_run(words, NULL, COMPILER_WAIT_S, &result, &err) < 0)
        fail_msg("%s", err.message);
    if (result.exit_code != 0)
        fail_msg("%s: %s", words[0], text_string(&result.err));
    command_fini(&result);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    assert_int_equal(file_replace(path, text, strlen(text), mode, NULL), 0);
}

/* Makes a module of this release. `with` is a library that the module needs, or NULL. */
static void make_module(const char *where, const char *release, const char *interface,
                        const char *with)
{
    char *source = text_format("%s/module.c", folder);
    char *path = text_format("%s/phased-slurm-%.5s.so", where, release);
    char *text = text_format("const struct { const char *interface, *release; void *calls[2]; }\n"
                             "phased_slurm_module = {\"%s\", \"%s\"};\n",
                             interface, release);
    const char *const words[] = {"cc",   "-shared", "-fPIC", "-Wl,--no-as-needed", "-o", path,
                                 source, with,      NULL};
    write_file(source, text, 0600);
    run(words);
    free(source);
    free(path);
    free(text);
}

/* What `scontrol --version` prints after "slurm"; NULL: it fails, as without a slurm.conf. */
static void set_scontrol(const char *said)
{
    char *path = text_format("%s/scontrol", folder);
    char *text =
        said ? text_format("#!/bin/sh\necho slurm%s\n", said) : text_format("#!/bin/sh\nexit 1\n");
    write_file(path, text, 0700);
    free(path);
    free(text);
}

static int setup(void **state)
{
    static char *path;
    folder_make(state);
    if (!path)
        path = xstrdup(getenv("PATH"));
    char *changed = text_format("%s:%s", folder, path);
    home = text_format("%s/home", folder);
    library = text_format("%s/library", folder);
    int status = setenv("PATH", changed, 1);
    free(changed);
    set_scontrol(NULL);
    return status == 0 && mkdir(home, 0700) == 0 && mkdir(library, 0700) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    free(home);
    free(library);
    return folder_remove(state);
}

static int open_any(struct module *module, struct error *err)
{
    const char *const folders[] = {home, library};
    return module_open_from(folders, 2, module, err);
}

/* phased opens the module of this folder and release. */
static void expect_module(const char *where, const char *release)
{
    struct module module;
    struct error err;
    if (open_any(&module, &err) < 0)
        fail_msg("%s", err.message);
    char *path = text_format("%s/phased-slurm-%.5s.so", where, release);
    assert_string_equal(module.path, path);
    assert_string_equal(module.calls->release, release);
    free(path);
    module_fini(&module);
}

/* No module is opened, and the error has these words. */
static void expect_error(const char *words)
{
    struct module module;
    struct error err;
    assert_int_equal(open_any(&module, &err), -ENOENT);
    if (!strstr(err.message, words))
        fail_msg("'%s' is not in: %s", words, err.message);
    assert_non_null(strstr(err.message, "`phasectl daemon build-slurm`"));
}

static void without_a_module_the_error_names_the_slurm_and_the_command(void **state)
{
    (void)state;
    set_scontrol(" 99.05.1");
    expect_error("phased has no module for Slurm 99.05.1: build one with `phasectl daemon "
                 "build-slurm` (there are no modules)");
    assert_int_equal(rmdir(home), 0);
    expect_error("(there are no modules)");
}

static void a_module_without_its_libslurm_does_not_fit(void **state)
{
    (void)state;
    char *source = text_format("%s/absent.c", folder);
    char *absent = text_format("%s/libslurm.so.7", folder);
    const char *const words[] = {"cc", "-shared", "-fPIC", "-Wl,-soname,libslurm.so.7",
                                 "-o", absent,    source,  NULL};
    write_file(source, "int x;\n", 0600);
    run(words);
    make_module(library, "21.08.1", CLUSTER_INTERFACE, absent);
    assert_int_equal(unlink(absent), 0);
    set_scontrol(" 24.11.5");
    expect_error("phased has no module for Slurm 24.11.5: ");
    expect_error("/phased-slurm-21.08.so: libslurm.so.7: cannot open shared object file");
    make_module(library, "20.11.1", CLUSTER_INTERFACE, NULL);
    expect_module(library, "20.11.1"); /* an older client may still be understood */
    free(source);
    free(absent);
}

static void a_module_of_another_phased_is_not_used(void **state)
{
    (void)state;
    make_module(home, "24.11.5", "1 2", NULL);
    expect_error("/phased-slurm-24.11.so: it was built for another version of phased");
    make_module(library, "24.11.5", CLUSTER_INTERFACE, NULL);
    expect_module(library, "24.11.5");
}

static void a_damaged_module_ends_nothing(void **state)
{
    (void)state;
    struct stat status;
    char *path = text_format("%s/phased-slurm-24.11.so", home);
    make_module(home, "24.11.5", CLUSTER_INTERFACE, NULL);
    assert_int_equal(stat(path, &status), 0);
    for (off_t size = status.st_size - 1; size > 0; size = size * 3 / 4) {
        assert_int_equal(truncate(path, size), 0);
        expect_error(size >= 64 ? ": the file is cut off" : ": file too short");
    }
    write_file(path, "this is a text, and it is longer than the header of a program would be",
               0700);
    expect_error(": invalid ELF header");
    make_module(library, "22.05.8", CLUSTER_INTERFACE, NULL);
    expect_module(library, "22.05.8");
    free(path);
}

static void of_two_modules_the_one_of_scontrol_is_used_or_the_newest(void **state)
{
    (void)state;
    make_module(library, "22.05.8", CLUSTER_INTERFACE, NULL);
    make_module(library, "24.11.5", CLUSTER_INTERFACE, NULL);
    expect_module(library, "24.11.5");
    set_scontrol("-wlm 22.05.11");
    expect_module(library, "22.05.8");
    set_scontrol(" 22.0");
    expect_module(library, "24.11.5");
    set_scontrol(" 23.11.1");
    expect_module(library, "24.11.5");
}

static void a_module_of_the_home_comes_first(void **state)
{
    (void)state;
    make_module(home, "22.05.8", CLUSTER_INTERFACE, NULL);
    make_module(library, "22.05.9", CLUSTER_INTERFACE, NULL);
    make_module(library, "24.11.5", CLUSTER_INTERFACE, NULL);
    expect_module(home, "22.05.8");
    set_scontrol(" 22.05.9");
    expect_module(home, "22.05.8");
    set_scontrol(" 24.11.5");
    expect_module(library, "24.11.5");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(without_a_module_the_error_names_the_slurm_and_the_command),
        T(a_module_without_its_libslurm_does_not_fit),
        T(a_module_of_another_phased_is_not_used),
        T(a_damaged_module_ends_nothing),
        T(of_two_modules_the_one_of_scontrol_is_used_or_the_newest),
        T(a_module_of_the_home_comes_first),
    };
#undef T
    return cmocka_run_group_tests_name("module", tests, NULL, NULL);
}
