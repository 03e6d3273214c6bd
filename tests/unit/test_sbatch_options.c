/* doc/sbatch.md has the table of lib/sbatch/option.c. With WRITE=1 the page is written anew. */
#include "lib/file.h"
#include "lib/sbatch/option.h"
#include "lib/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char head[] =
    "# sbatch.md: every option of sbatch\n"
    "\n"
    "What becomes of each option in the workflow of a script, for `phasectl submit` and\n"
    "`phasectl import`. An option counts before the script, in a variable, and in a `#SBATCH` "
    "line;\n"
    "the first of these wins. `tests/unit/test_sbatch_options.c` compares this page with the "
    "program.\n"
    "\n"
    "- *taken over*: the phase does the same by a key of its own, or keeps the option.\n"
    "- *not needed*: phased does so anyway, or the option means nothing here.\n"
    "- *left out*: a warning names the option and its line.\n"
    "- *refused*: an error names the option, its line and the reason, and nothing is submitted.\n"
    "\n"
    "The script gets the environment of the submitting shell, and what the site and Slurm set for\n"
    "each job (`TaskProlog`, SPANK plugins, `TMPDIR`), as under sbatch.\n"
    "\n"
    "Heterogeneous jobs (`#SBATCH hetjob`, and `:` between options) are refused: make the parts "
    "phases\n"
    "of a workflow.\n"
    "\n"
    "| option | variable | in a workflow | how |\n"
    "|---|---|---|---|\n";

static void add_fate(struct text *page, const struct sbatch_option *option)
{
    static const char *const words[] = {
        [SBATCH_SHAPE] = "taken over",   [SBATCH_OWN] = "taken over",
        [SBATCH_SLURM] = "taken over",   [SBATCH_STEP] = "taken over",
        [SBATCH_DROPPED] = "not needed", [SBATCH_WARNED] = "left out",
        [SBATCH_REFUSED] = "refused"};
    text_addf(page, "%s | ", words[option->fate]);
    if (option->fate == SBATCH_SHAPE)
        text_add(page, "`resources`, and variables for srun");
    else if (option->fate == SBATCH_SLURM)
        text_add(page, "kept under `slurm`");
    else if (option->fate == SBATCH_STEP)
        text_addf(page, "`%s` for srun in the script", option->detail);
    else
        text_add(page, option->detail);
    text_add(page, " |\n");
}

static void write_page(struct text *page)
{
    text_add(page, head);
    for (size_t i = 0; i < sbatch_option_count; i++) {
        const struct sbatch_option *option = &sbatch_options[i];
        text_add(page, "| ");
        if (option->letter)
            text_addf(page, "`-%c`, ", option->letter);
        text_addf(page, "`--%s` | ", option->name);
        if (option->variable)
            text_addf(page, "`%s`", option->variable);
        text_add(page, " | ");
        add_fate(page, option);
    }
}

static void test_the_page_has_the_table(void **state)
{
    (void)state;
    const char *source = getenv("SRC");
    struct text page = {0};
    char *path = text_format("%s/doc/sbatch.md", source ? source : "."), *data;
    write_page(&page);
    if (getenv("WRITE"))
        assert_int_equal(file_replace(path, page.data, page.size, 0644, NULL), 0);
    assert_int_equal(file_read(path, 1 << 20, &data, NULL, NULL), 0);
    assert_string_equal(data, text_string(&page));
    free(data);
    free(path);
    text_fini(&page);
}

static void test_each_option_is_found_and_explained(void **state)
{
    (void)state;
    assert_true(sbatch_option_count <= SBATCH_OPTIONS_MAX);
    for (size_t i = 0; i < sbatch_option_count; i++) {
        const struct sbatch_option *option = &sbatch_options[i];
        const char *nearest;
        assert_ptr_equal(sbatch_option_find(option->name, &nearest), option);
        if (option->letter)
            assert_ptr_equal(sbatch_option_of_letter(option->letter), option);
        if (i)
            assert_true(strcmp(sbatch_options[i - 1].name, option->name) < 0);
        if (option->fate != SBATCH_SHAPE && option->fate != SBATCH_SLURM)
            assert_non_null(option->detail);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_page_has_the_table),
        cmocka_unit_test(test_each_option_is_found_and_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
