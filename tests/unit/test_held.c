/* What a person can do about a phase that is held, has failed or was cancelled, and what came of
 * it. */
#include "tests/unit/unit.h"

#include "cli/decide.h"
#include "cli/held.h"
#include "cli/terminal.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <jansson.h>
#include <stdlib.h>

static const struct terminal pipe_output = {.fd = -1};

#define LOGS    "  phasectl logs 7/a               what the run printed\n"
#define FROM    "  phasectl retry 7/a --from STEP  from another checkpoint, or `start`\n"
#define CANCEL  "  phasectl cancel 7/a             end it\n"
#define CORRECT "  to change the file or the time: correct the file and submit it again\n"
#define TRY                                                                                        \
    "  to change the gate: correct the file, try it on what the run printed, and submit it "       \
    "again:\n"                                                                                     \
    "    phasectl logs 7/a | phasectl check FILE --log a=/dev/stdin\n"

#define HELD(hold, verbs) "{'state': 'held', 'hold': '" hold "', 'can': [" verbs "], "
#define FAILED            HELD("failure", "'cancel', 'retry'")
#define RESUMABLE         HELD("failure", "'resume', 'cancel', 'retry'")
#define JUDGED            HELD("gate", "'promote', 'resume', 'cancel', 'retry'")
#define OVER              "{'state': 'failed', 'can': ['resume', 'retry'], "

/* In the text, ' stands for ". */
static json_t *read_json(const char *quoted)
{
    char *text = xstrdup(quoted);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    free(text);
    return json;
}

static void expect(void (*write)(const struct terminal *, const json_t *, struct text *),
                   const char *phase, const char *expected)
{
    json_t *json = read_json(phase);
    struct text text = {0};
    (void)json_object_set_new(json, "address", json_string("7/a"));
    write(&pipe_output, json, &text);
    assert_string_equal(text_string(&text), expected);
    text_fini(&text);
    json_decref(json);
}

/* The text says where the next run begins, and how to begin elsewhere. */
static void a_retry_says_where_it_begins(void **state)
{
    (void)state;
    static const struct {
        const char *phase, *text;
    } rows[] = {
        {FAILED "'run': {'started': 1, 'outcome': 'failed'}}",
         "  phasectl logs 7/a    what the run printed\n"
         "  phasectl retry 7/a   run the phase again\n"
         "  phasectl cancel 7/a  end it\n" CORRECT},
        {RESUMABLE "'checkpoint': '/80', 'checkpoint_step': 80,"
                   " 'run': {'started': 1, 'outcome': 'failed'}}",
         LOGS
         "  phasectl retry 7/a              run again from the checkpoint of step 80\n" FROM CANCEL
             CORRECT},
        {RESUMABLE "'checkpoint': '/20', 'checkpoint_step': 20,"
                   " 'suspects': ['30', '40'], 'run': {'started': 1, 'outcome': 'failed'}}",
         LOGS
         "  phasectl retry 7/a --from 20    run again from the last good checkpoint\n" FROM CANCEL
             CORRECT},
        {FAILED "'suspects': ['30'], 'run': {'started': 1,"
                " 'outcome': 'failed'}}",
         LOGS
         "  phasectl retry 7/a              run again from the start: no checkpoint is good\n" FROM
             CANCEL CORRECT},
        {JUDGED "'checkpoint': '/80', 'checkpoint_step': 80,"
                " 'run': {'started': 1, 'outcome': 'succeeded'}}",
         "  phasectl gate 7/a               what the gate found\n"
         "  phasectl promote 7/a            start the next phases anyway\n"
         "  phasectl retry 7/a              run the phase again\n" FROM
         "  phasectl resume 7/a             resume from the last checkpoint\n" CANCEL TRY},
        {JUDGED "'checkpoint': '/20', 'checkpoint_step': 20, 'suspects': ['30'],"
                " 'run': {'started': 1, 'outcome': 'succeeded'}}",
         "  phasectl gate 7/a               what the gate found\n"
         "  phasectl promote 7/a            start the next phases anyway\n"
         "  phasectl retry 7/a              run the phase again\n" FROM
         "  phasectl resume 7/a             resume from the last good checkpoint\n" CANCEL TRY},
        {OVER "'checkpoint': '/80', 'checkpoint_step': 80,"
              " 'run': {'started': 1, 'outcome': 'failed'}}",
         LOGS "  phasectl retry 7/a              run again from the checkpoint of step 80\n" FROM
             CORRECT},
        {OVER "'checkpoint': '/80', 'checkpoint_step': 80,"
              " 'run': {'started': 1, 'outcome': 'succeeded'}}",
         LOGS "  phasectl retry 7/a              run the phase again\n" FROM
              "  phasectl resume 7/a             resume from the last checkpoint\n" CORRECT},
        {"{'state': 'cancelled', 'can': ['retry']}", "  phasectl retry 7/a  run the phase again\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect(held_ways_out, rows[i].phase, rows[i].text);
}

/* A matrix may have chosen without a member that failed. Nobody can promote a member of a matrix
 * that has failed. */
static void only_what_the_daemon_allows_is_offered(void **state)
{
    (void)state;
    static const struct {
        const char *phase, *text;
    } rows[] = {
        {"{'state': 'held', 'hold': 'failure', 'can': ['cancel'], 'matrix': 'sweep',"
         " 'checkpoint': '/80', 'checkpoint_step': 80, 'run': {'started': 1}}",
         "  phasectl logs 7/a    what the run printed\n"
         "  phasectl cancel 7/a  end it\n"},
        {"{'state': 'failed', 'can': ['retry'], 'members': 3,"
         " 'of_members': {'states': {'succeeded': 2, 'failed': 1}, 'can': {}}}",
         "  phasectl status 7/a  the members, and why they are out\n"
         "  phasectl retry 7/a   judge the members again\n"},
        {"{'state': 'held', 'hold': 'gate', 'can': ['promote', 'cancel', 'retry'], 'members': 3,"
         " 'of_members': {'states': {'succeeded': 3}, 'can': {'promote': 3}}}",
         "  phasectl status 7/a     the members, and why they are out\n"
         "  phasectl promote 7/a    choose among the members anyway\n"
         "  phasectl promote 7/a.N  go on with this member\n"
         "  phasectl retry 7/a      judge the members again\n"
         "  phasectl cancel 7/a     end it\n"},
        {"{'state': 'held', 'hold': 'user', 'can': 'release'}", ""}, /* of another version */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect(held_ways_out, rows[i].phase, rows[i].text);
}

static void the_live_view_names_its_keys(void **state)
{
    (void)state;
    static const struct {
        const char *phase, *text;
    } rows[] = {
        {JUDGED "'checkpoint': '/80', 'checkpoint_step': 80,"
                " 'run': {'started': 1, 'outcome': 'succeeded'}}",
         " p start the next phases anyway   r run the phase again   "
         "R resume from the last checkpoint   c end it"
         "   more: phasectl why 7/a\n"},
        {FAILED "'run': {'started': 1, 'outcome': 'failed'}}",
         " Enter what the run printed   r run the phase again   c end it\n"},
        {RESUMABLE "'checkpoint': '/20', 'checkpoint_step': 20,"
                   " 'suspects': ['30', '40'], 'run': {'started': 1, 'outcome': 'failed'}}",
         " Enter what the run printed   c end it   more: phasectl why 7/a\n"
         " phasectl retry 7/a --from 20  run again from the last good checkpoint\n"},
        {"{'state': 'held', 'hold': 'user', 'can': ['release', 'cancel']}",
         " h let the phase start   c end it\n"},
        {HELD("user", "'release', 'cancel'") "'hold_budget': 'workflow', 'hold_amount': 'usd'}",
         " h let the phase start   c end it\n"
         " phasectl budget 7 --usd N  give the workflow a larger budget first\n"},
        {HELD("user", "'release', 'cancel'") "'hold_budget': 'workflow', 'hold_amount': 'hours'}",
         " h let the phase start   c end it\n"
         " phasectl budget 7 --hours N  give the workflow a larger budget first\n"},
        {HELD("user", "'release', 'cancel'") "'hold_budget': 'month', 'hold_amount': 'usd'}",
         " h let the phase start   c end it\n"
         " limits.yaml: month  raise the budget of the month first\n"},
        {HELD("user", "'release'") "'reason': 'held by its budget, as Anna says'}",
         " h let the phase start\n"}, /* a sentence for people decides nothing */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect(held_keys, rows[i].phase, rows[i].text);
}

#define STILL(phase, budget)                                                                       \
    "{'state': 'held', 'address': '7/" phase "', 'can': ['release'], 'hold_budget': " budget "}"

static void a_new_budget_says_what_is_still_held(void **state)
{
    (void)state;
    static const struct {
        const char *workflow, *text;
    } rows[] = {
        {"{'workflow': 7, 'phases': [" STILL("a", "'workflow'") "]}", ""}, /* it is too small */
        {"{'workflow': 7, 'phases': [" STILL("a", "'workflow'") "," STILL("b", "null") "]}",
         "7/b is still held: phasectl release 7/b\n"},
        {"{'workflow': 7, 'phases': [" STILL("a", "null") "," STILL("b", "null") "]}",
         "2 phases are still held, such as 7/a: phasectl release 7\n"},
        {"{'workflow': 7, 'phases': [{'state': 'held', 'can': ['retry'], 'hold_budget': null}]}",
         ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *workflow = read_json(rows[i].workflow);
        struct text text = {0};
        held_write_releasable(workflow, &text);
        assert_string_equal(text_string(&text), rows[i].text);
        text_fini(&text);
        json_decref(workflow);
    }
}

static void a_resume_names_the_checkpoint_that_is_taken(void **state)
{
    (void)state;
    json_t *reply = read_json("{'phases': ['7/a'], 'stopping': [], 'judging': [], 'skipped': []}");
    struct text text = {0};
    decide_write(COMMAND_RESUME, reply, &text);
    assert_string_equal(text_string(&text), "7/a resumes from its newest good checkpoint\n");
    text_fini(&text);
    json_decref(reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_retry_says_where_it_begins),
        cmocka_unit_test(only_what_the_daemon_allows_is_offered),
        cmocka_unit_test(the_live_view_names_its_keys),
        cmocka_unit_test(a_new_budget_says_what_is_still_held),
        cmocka_unit_test(a_resume_names_the_checkpoint_that_is_taken),
    };
    return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
