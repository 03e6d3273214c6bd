/* Which commands a script runs: in every place where bash would start one, and in no other. */
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
        {">log sbatch next.sh", true},
        {"\"$(dirname $x)/sbatch\" next.sh", true},
        {"true `hostname` sbatch", false},
        {"true > sbatch", false},
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

static void commands_that_start_another_command_are_seen_through(void **state)
{
    (void)state;
    static const struct command_case cases[] = {
        {"ls *.sh | xargs sbatch", true},
        {"ls *.sh | xargs -0 -n 1 -I {} sbatch {}", true},
        {"ls | xargs -I{} sh -c 'sbatch {}'", true},
        {"ls | xargs --max-args 1 sbatch", true},
        {"timeout 5 sbatch x", true},
        {"timeout -k 9 --signal=KILL 5m sbatch x", true},
        {"timeout --signal KILL 5m sbatch x", true},
        {"nice sbatch x", true},
        {"nice -n 5 sbatch x", true},
        {"nice -5 sbatch x", true},
        {"ionice -c 2 -n 7 sbatch x", true},
        {"nohup sbatch x &", true},
        {"setsid sbatch x", true},
        {"sudo -u me sbatch x", true},
        {"sudo -nu me -- sbatch x", true},
        {"sudo --user me A=1 sbatch x", true},
        {"env A=1 sbatch x", true},
        {"env -i -u B A='1 2' sbatch x", true},
        {"env A=$(date) nice sbatch x", true},
        {"time -p sbatch x", true},
        {"/usr/bin/time -f %e sbatch x", true},
        {"exec -a me sbatch x", true},
        {"command sbatch x", true},
        {"stdbuf -oL sbatch x", true},
        {"flock -w 5 lock sbatch x", true},
        {"parallel sbatch ::: a.sh b.sh", true},
        {"parallel -j 4 'sbatch {}' ::: a.sh b.sh", true},
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
        {"xargs -I{} echo '; sbatch {}'", false},
        {"trap 'echo sbatch' USR1", false},
        {"trap - USR1", false},
        {"nice sbatch --version", false},
        {"parallel echo sbatch", false},
        {"timeout", false},
        {"timeout 5", false},
        {"sudo -u", false},
    };
    find_in(cases, sizeof cases / sizeof *cases);
}

static void a_command_may_be_quoted_and_lie_below_a_variable(void **state)
{
    (void)state;
    static const struct command_case cases[] = {
        {"\"sbatch\" x", true},
        {"'sbatch' x", true},
        {"\\sbatch x", true},
        {"/opt/slurm/bin/'sbatch' x", true},
        {"A=1 \"sbatch\" x", true},
        {"xargs \"sbatch\"", true},
        {"$SLURM_BIN/sbatch x", true},
        {"\"$SLURM_BIN/sbatch\" x", true},
        {"${BIN:-/usr/bin}/sbatch x", true},
        {"\"bash\" -c 'sbatch x'", true},
        {"true && \\\n  sbatch x", true},
        {"\"$(sbatch x)\"", true},
        {"\"sbatch x\"", false},
        {"\"sbatch\" --version", false},
        {"echo \"sbatch\" x", false},
        {"\"echo\" sbatch", false},
        {"$echo sbatch", false},
        {"\"sbatch$x\"", false},
        {"case $1 in\n\"sbatch\") true;; sbatch) true;;\nesac", false},
        {"case $1 in\nsbatch) sbatch x;;\nesac", true},
    };
    find_in(cases, sizeof cases / sizeof *cases);
}

static void here_documents_of_a_shell_are_searched(void **state)
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
        {"bash run.sh <<EOF\nsbatch x\nEOF\n", false},
        {"bash -c 'cat' <<EOF\nsbatch x\nEOF\n", false},
        {"bash -n <<EOF\nsbatch x\nEOF\n", false},
        {"ssh login cat <<EOF\nsbatch x\nEOF\n", false},
        {"bash; cat <<EOF\nsbatch x\nEOF\n", false},
        {"bash <<EOF\necho sbatch x\nEOF\n", false},
        {"bash <<EOF\ntrue\nEOF\ncat <<EOF\nsbatch x\nEOF\n", false},
        {"bash <<EOF\nsbatch", true},
        {"bash <<EOF", false},
        {"bash <<EOF\n", false},
        {"bash 2>log <<EOF\nsbatch x\nEOF\n", true},
    };
    find_in(cases, sizeof cases / sizeof *cases);
}

static void a_function_of_the_same_name_is_not_the_command(void **state)
{
    (void)state;
    static const struct command_case cases[] = {
        {"sbatch() {\n  echo \"$@\"\n}\nsbatch x\n", false},
        {"sbatch () { echo; }; sbatch x", false},
        {"function sbatch { echo; }\nsbatch x", false},
        {"function sbatch() { echo; }\nid=$(sbatch x)", false},
        {"go() { sbatch x; }\nsbatch() { echo; }\ngo", false},
        {"sbatch() { echo; }\neval 'sbatch x'", false},
        {"sbatch() { command sbatch --test-only \"$@\"; }\nsbatch x", false},
        {"sbatch() { command sbatch \"$@\"; }\nsbatch x", true},
        {"sbatch() { echo; }\n/usr/bin/sbatch x", true},
        {"sbatch() { echo; }\nls | xargs sbatch", true},
        {"sbatch() { echo; }\nbash -c 'sbatch x'", true},
        {"function go { sbatch x; }", true},
        {"function go\n{\nsbatch x\n}", true},
        {"my_sbatch() { sbatch x; }", true},
    };
    find_in(cases, sizeof cases / sizeof *cases);
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
    script = "x=1\nbash <<EOF\ncd x\n  sbatch one.sh\nEOF\n";
    assert_ptr_equal(commands_find(script, "sbatch"), strstr(script, "sbatch"));
    script = "cd x\n\"sbatch\" one.sh";
    assert_ptr_equal(commands_find(script, "sbatch"), strstr(script, "\""));
}

/* Each quote is read once. Reading a quote again at each bracket inside of it would take hours. */
static void deep_quotes_are_read_once(void **state)
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
        cmocka_unit_test(commands_are_found_where_bash_starts_them),
        cmocka_unit_test(arrays_arithmetic_and_sbatch_without_a_submission_start_no_job),
        cmocka_unit_test(scripts_in_arguments_are_searched),
        cmocka_unit_test(commands_that_start_another_command_are_seen_through),
        cmocka_unit_test(a_command_may_be_quoted_and_lie_below_a_variable),
        cmocka_unit_test(here_documents_of_a_shell_are_searched),
        cmocka_unit_test(a_function_of_the_same_name_is_not_the_command),
        cmocka_unit_test(a_command_may_have_an_argument),
        cmocka_unit_test(the_place_is_that_of_the_first_command),
        cmocka_unit_test(deep_quotes_are_read_once),
    };
    return cmocka_run_group_tests_name("commands", tests, NULL, NULL);
}
