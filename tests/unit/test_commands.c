/* Which commands a script runs: in every place where bash would start one, and in no other. */
#include "tests/unit/unit.h"

#include "lib/sbatch/commands.h"

#include <stdbool.h>
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

static void commands_are_found_where_bash_starts_them(void **state)
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
        {"A=1 B='x y' sbatch next.sh", true},
        {"A=$(date) sbatch next.sh", true},
        {"(cd x; sbatch next.sh)", true},
        {"exec sbatch next.sh", true},
        {"echo one 2>&1 | tee x\nsbatch next.sh", true},
        {"cat <<'EOF'\nhello\nEOF\nsbatch next.sh", true},
        {"case $x in a) sbatch next.sh;; esac", true},
        {"echo \"it's\"; sbatch next.sh", true},
        {"echo ${#a[@]} # it's\nsbatch next.sh", true},
        {"# sbatch next.sh\n", false},
        {"echo sbatch next.sh", false},
        {"echo $(date) sbatch next.sh", false},
        {"echo 'then; sbatch next.sh'", false},
        {"echo \"run: sbatch next.sh; done\"", false},
        {"cat > job.sh <<EOF\nsbatch next.sh\nEOF\n", false},
        {"cat <<-\tEOF\n\tsbatch next.sh\n\tEOF\n", false},
        {"./my-sbatch next.sh; sbatcher x; my_sbatch", false},
        {"python sbatch next.sh", false},
        {"grep x 2>&1 sbatch", false},
        {"sbatch_dir=/x; ls $sbatch", false},
        {"x='", false},
        {"x=\"$(", false},
        {"\\", false},
        {"cat <<EOF", false},
        {"", false},
    };
    find_in(cases, sizeof cases / sizeof *cases);
}

static void arrays_arithmetic_and_sbatch_without_a_submission_start_no_job(void **state)
{
    (void)state;
    static const struct command_case cases[] = {
        {"a=(sbatch b)", false},
        {"a+=(-x sbatch)\n", false},
        {"local a=(x\nsbatch b)", false},
        {"a=([0]=sbatch\n(sbatch) )", false},
        {"a=(x); sbatch next.sh", true},
        {"a=($(sbatch next.sh))", true},
        {"a=(\"$(sbatch next.sh)\" x)", true},
        {"i=$((sbatch + 1))", false},
        {"echo $((sbatch))", false},
        {"((sbatch++))", false},
        {"i=$(( (sbatch) * (1 + sbatch) ))", false},
        {"i=$((x + $(sbatch next.sh | wc -l)))", true},
        {"i=$((1 + 2)); sbatch next.sh", true},
        {"echo $(( (1) )) && sbatch next.sh", true},
        {"((i)) || sbatch next.sh", true},
        {"( (sbatch next.sh) )", true},
        {"sbatch --version", false},
        {"sbatch -V\n", false},
        {"sbatch --help", false},
        {"sbatch -h | less", false},
        {"sbatch --usage", false},
        {"sbatch --test-only next.sh", false},
        {"id=$(sbatch --parsable --test-only next.sh)", false},
        {"sbatch --time 5 \\\n  --test-only next.sh", false},
        {"sbatch --test-only one.sh && sbatch two.sh", true},
        {"sbatch --version\nsbatch next.sh", true},
        {"sbatch next.sh --test-only", true},
        {"sbatch next.sh; other --test-only", true},
        {"sbatch next.sh # --test-only", true},
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
        {"sh -c sbatch\\ next.sh", true},
        {"/bin/bash -euo pipefail -lc 'cd x && sbatch next.sh'", true},
        {"nohup bash -c 'sleep 5; sbatch next.sh' &", true},
        {"id=$(bash -c 'sbatch next.sh')", true},
        {"bash \\\n  -c 'sbatch next.sh'", true},
        {"bash -c 'bash -c \"sbatch next.sh\"'", true},
        {"bash -c \"cd \\\"$x\\\"; sbatch next.sh\"", true},
        {"eval \"sbatch next.sh\"", true},
        {"eval sbatch next.sh", true},
        {"ssh login sbatch next.sh", true},
        {"ssh -p 22 -tt -o BatchMode=yes \"$USER@login\" sbatch next.sh", true},
        {"ssh $SLURM_SUBMIT_HOST \"cd $PWD && sbatch next.sh\"", true},
        {"ssh \"$(hostname -s)\" 'sbatch next.sh' >log", true},
        {"ssh login \"bash -lc 'sbatch next.sh'\"", true},
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
        {"ssh -J sbatch login; true", false},
        {"eval \"echo sbatch\"", false},
        {"bash -c", false},
        {"bash -c '", false},
        {"ssh", false},
        {"ssh -p", false},
        {"ssh \"$(", false},
        {"bash -c \"\\", false},
    };
    find_in(cases, sizeof cases / sizeof *cases);
    assert_non_null(commands_find("ssh login 'scontrol requeue 7'", "scontrol requeue"));
}

static void a_command_may_have_an_argument(void **state)
{
    (void)state;
    assert_non_null(
        commands_find("trap 'x' USR1\nscontrol  requeue $SLURM_JOB_ID", "scontrol requeue"));
    assert_non_null(commands_find("scontrol requeue", "scontrol requeue"));
    assert_null(commands_find("scontrol requeuehold 7", "scontrol requeue"));
    assert_null(commands_find("scontrol show job requeue", "scontrol requeue"));
}

static void the_place_is_that_of_the_first_command(void **state)
{
    (void)state;
    const char *script = "echo sbatch\nid=$(/usr/bin/sbatch one.sh)\nsbatch two.sh\n";
    assert_ptr_equal(commands_find(script, "sbatch"), strstr(script, "/usr"));
    script = "x=1\nbash -c \"\n  cd \\\"$x\\\"\n  sbatch one.sh\"\n";
    assert_ptr_equal(commands_find(script, "sbatch"), strstr(script, "sbatch"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_found_where_bash_starts_them),
        cmocka_unit_test(arrays_arithmetic_and_sbatch_without_a_submission_start_no_job),
        cmocka_unit_test(scripts_in_arguments_are_searched),
        cmocka_unit_test(a_command_may_have_an_argument),
        cmocka_unit_test(the_place_is_that_of_the_first_command),
    };
    return cmocka_run_group_tests_name("commands", tests, NULL, NULL);
}
