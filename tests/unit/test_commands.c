/* Which commands a script seems to run. */
#include "tests/unit/unit.h"

#include "lib/memory.h"
#include "lib/sbatch/commands.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct command_case {
    const char *script;
    bool has;
};

static void find_in(const struct command_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!commands_find(cases[i].script, "sbatch") == cases[i].has)
            fail_msg("%s: %s", cases[i].script, cases[i].has ? "not found" : "found");
}

static void commands_are_found_where_they_may_begin(void **state)
{
    (void)state;
    static const struct command_case cases[] = {
        {"sbatch next.sh\n", true},
        {"  sbatch\n", true},
        {"/usr/bin/sbatch next.sh", true},
        {"true && sbatch next.sh", true},
        {"if ok; then sbatch next.sh; fi", true},
        {"for i in 1 2; do sbatch $i; done", true},
        {"id=$(sbatch --parsable next.sh)", true},
        {"id=\"$(sbatch --parsable next.sh)\"", true},
        {"id=`sbatch --parsable next.sh`", true},
        {"echo \"job $(sbatch next.sh)\"", true},
        {"A=$(date) sbatch next.sh", true},
        {"(cd x; sbatch next.sh)", true},
        {"true > sbatch", false},
        {"exec sbatch next.sh", true},
        {"echo one 2>&1 | tee x\nsbatch next.sh", true},
        {"cat <<'EOF'\nhello\nEOF\nsbatch next.sh", true},
        {"echo \"it's\"; sbatch next.sh", true},
        {"echo ${#a[@]} # it's\nsbatch next.sh", true},
        {"a=(x); sbatch next.sh", true},
        {"a=($(sbatch next.sh))", true},
        {"a=(\"$(sbatch next.sh)\" x)", true},
        {"i=$((x + $(sbatch next.sh | wc -l)))", true},
        {"i=$((1 + 2)); sbatch next.sh", true},
        {"echo $(( (1) )) && sbatch next.sh", true},
        {"((i)) || sbatch next.sh", true},
        {"( (sbatch next.sh) )", true},
        {"function go { sbatch x; }", true},
        {"function go\n{\nsbatch x\n}", true},
        {"my_sbatch() { sbatch x; }", true},
        {"sbatch() { command sbatch \"$@\"; }\nsbatch x", true},
        {"# sbatch next.sh\n", false},
        {"echo sbatch next.sh", false},
        {"echo $(date) sbatch next.sh", false},
        {"echo \"run: sbatch next.sh; done\"", false},
        {"./my-sbatch next.sh; sbatcher x; my_sbatch", false},
        {"python sbatch next.sh", false},
        {"grep x 2>&1 sbatch", false},
        {"sbatch_dir=/x; ls $sbatch", false},
        {"a+=(-x sbatch)\n", false},
        {"((sbatch++))", false},
        {"", false},
    };
    find_in(cases, sizeof cases / sizeof *cases);
}

static void an_sbatch_that_submits_nothing_does_not_count(void **state)
{
    (void)state;
    static const struct command_case cases[] = {
        {"sbatch --version", false},
        {"sbatch -V\n", false},
        {"sbatch --help", false},
        {"sbatch -h | less", false},
        {"sbatch --usage", false},
        {"sbatch --test-only next.sh", false},
        {"id=$(sbatch --parsable --test-only next.sh)", false},
        {"sbatch --test-only one.sh && sbatch two.sh", true},
        {"sbatch --version\nsbatch next.sh", true},
        {"sbatch next.sh; other --test-only", true},
        {"sbatch --testing next.sh", true},
    };
    find_in(cases, sizeof cases / sizeof *cases);
}

static void scripts_in_arguments_are_searched(void **state)
{
    (void)state;
    static const struct command_case cases[] = {
        {"bash -c \"sbatch next.sh\"", true},
        {"bash -c 'sbatch next.sh'", true},
        {"/bin/bash -euo pipefail -lc 'cd x && sbatch next.sh'", true},
        {"nohup bash -c 'sleep 5; sbatch next.sh' &", true},
        {"id=$(bash -c 'sbatch next.sh')", true},
        {"bash -c \"cd \\\"$x\\\"; sbatch next.sh\"", true},
        {"eval \"sbatch next.sh\"", true},
        {"eval sbatch next.sh", true},
        {"ssh login sbatch next.sh", true},
        {"ssh $SLURM_SUBMIT_HOST \"cd $PWD && sbatch next.sh\"", true},
        {"if ! ssh -l me login -- true; then ssh login /opt/slurm/bin/sbatch next.sh; fi", true},
        {"bash -c 'echo sbatch next.sh'", false},
        {"bash -c '# sbatch next.sh'", false},
        {"bash -c 'sbatch --version'", false},
        {"bash run.sh -c 'sbatch next.sh'", false},
        {"bash sbatch", false},
        {"bash -n 'sbatch next.sh'", false},
        {"echo bash -c 'sbatch next.sh'", false},
        {"echo \"bash -c 'sbatch next.sh'\"", false},
        {"# ssh login sbatch next.sh", false},
        {"echo ssh login sbatch next.sh", false},
        {"ssh sbatch true", false},
        {"ssh login # sbatch next.sh", false},
        {"ssh login echo sbatch next.sh", false},
        {"eval \"echo sbatch\"", false},
    };
    find_in(cases, sizeof cases / sizeof *cases);
}

static void commands_that_start_another_command_are_seen_through(void **state)
{
    (void)state;
    static const struct command_case cases[] = {
        {"ls *.sh | xargs sbatch", true},
        {"timeout 5 sbatch x", true},
        {"nice sbatch x", true},
        {"nohup sbatch x &", true},
        {"setsid sbatch x", true},
        {"env A=1 sbatch x", true},
        {"env A=$(date) nice sbatch x", true},
        {"command sbatch x", true},
        {"trap 'sbatch $0' USR1", true},
        {"timeout 5 env A=1 bash -c 'sbatch x'", true},
        {"xargs echo sbatch", false},
        {"timeout sbatch true", false},
        {"sudo -u sbatch true", false},
        {"sudo -l sbatch", false},
        {"nice -n sbatch true", false},
        {"command -v sbatch", false},
        {"if ! command -v sbatch >/dev/null; then exit 1; fi", false},
        {"env | grep sbatch", false},
        {"env -u sbatch true", false},
        {"trap 'echo sbatch' USR1", false},
        {"nice sbatch --version", false},
        {"parallel echo sbatch", false},
    };
    find_in(cases, sizeof cases / sizeof *cases);
}

static void a_command_may_be_quoted_and_lie_below_a_variable(void **state)
{
    (void)state;
    static const struct command_case cases[] = {
        {"\"sbatch\" x", true},           {"'sbatch' x", true},
        {"A=1 \"sbatch\" x", true},       {"xargs \"sbatch\"", true},
        {"$SLURM_BIN/sbatch x", true},    {"\"$SLURM_BIN/sbatch\" x", true},
        {"true && \\\n  sbatch x", true}, {"\"$(sbatch x)\"", true},
        {"\"sbatch\" --version", false},  {"echo \"sbatch\" x", false},
        {"\"echo\" sbatch", false},       {"$echo sbatch", false},
        {"\"sbatch$x\"", false},          {"case $1 in\nsbatch) sbatch x;;\nesac", true},
    };
    find_in(cases, sizeof cases / sizeof *cases);
}

static void here_documents_are_searched(void **state)
{
    (void)state;
    static const struct command_case cases[] = {
        {"bash <<EOF\nsbatch x\nEOF\n", true},
        {"bash -s a b <<'EOF' >log\ncd x\nsbatch x\nEOF\n", true},
        {"bash -l > log 2>&1 <<-EOF\n\tsbatch x\n\tEOF\n", true},
        {"ssh login <<EOF\nsbatch x\nEOF\n", true},
        {"ssh login bash -s <<EOF\nsbatch x\nEOF\n", true},
        {"sudo -u me bash <<EOF\nsbatch x\nEOF\n", true},
        {"bash <<EOF\nbash <<E\nsbatch x\nE\nEOF\n", true},
        {"bash <<EOF | tee log\nsbatch x\nEOF\n", true},
        {"bash <<EOF\necho sbatch x\nEOF\n", false},
        {"bash <<EOF\nsbatch", true},
        {"bash 2>log <<EOF\nsbatch x\nEOF\n", true},
    };
    find_in(cases, sizeof cases / sizeof *cases);
}

static void a_command_may_have_an_argument(void **state)
{
    (void)state;
    static const char requeue[] = "scontrol[ \\t]+requeue";
    assert_non_null(commands_find("ssh login 'scontrol requeue 7'", requeue));
    assert_non_null(commands_find("trap 'x' USR1\nscontrol  requeue $SLURM_JOB_ID", requeue));
    assert_non_null(commands_find("scontrol requeue", requeue));
    assert_null(commands_find("scontrol requeuehold 7", requeue));
    assert_null(commands_find("scontrol show job requeue", requeue));
}

static void the_place_is_that_of_the_first_command(void **state)
{
    (void)state;
    const char *script = "echo sbatch\nid=$(/usr/bin/sbatch one.sh)\nsbatch two.sh\n";
    assert_ptr_equal(commands_find(script, "sbatch"), strstr(script, "/usr"));
    script = "x=1\nbash -c \"\n  cd \\\"$x\\\"\n  sbatch one.sh\"\n";
    assert_ptr_equal(commands_find(script, "sbatch"), strstr(script, "sbatch"));
    script = "x=1\nbash <<EOF\ncd x\n  sbatch one.sh\nEOF\n";
    assert_ptr_equal(commands_find(script, "sbatch"), strstr(script, "sbatch"));
    script = "cd x\n\"sbatch\" one.sh";
    assert_ptr_equal(commands_find(script, "sbatch"), strstr(script, "sbatch"));
}

/* Reading a line anew from each of its brackets would take hours. */
static void a_long_line_is_read_once(void **state)
{
    (void)state;
    enum { QUOTES = 500000 };
    static const char quote[] = "\"$(";
    const size_t size = sizeof quote - 1;
    char *script = xmalloc(QUOTES * size + 1);
    for (size_t i = 0; i < QUOTES; i++)
        memcpy(script + i * size, quote, sizeof quote);
    assert_null(commands_find(script, "sbatch"));
    memcpy(script, "sbatch ", strlen("sbatch "));
    assert_ptr_equal(commands_find(script, "sbatch"), script);
    free(script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_found_where_they_may_begin),
        cmocka_unit_test(an_sbatch_that_submits_nothing_does_not_count),
        cmocka_unit_test(scripts_in_arguments_are_searched),
        cmocka_unit_test(commands_that_start_another_command_are_seen_through),
        cmocka_unit_test(a_command_may_be_quoted_and_lie_below_a_variable),
        cmocka_unit_test(here_documents_are_searched),
        cmocka_unit_test(a_command_may_have_an_argument),
        cmocka_unit_test(the_place_is_that_of_the_first_command),
        cmocka_unit_test(a_long_line_is_read_once),
    };
    return cmocka_run_group_tests_name("commands", tests, NULL, NULL);
}
