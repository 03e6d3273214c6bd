/* What a person can do about a phase that is held, has failed or was cancelled. */
#include "tests/unit/unit.h"

#include "cli/held.h"
#include "cli/terminal.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <jansson.h>
#include <stdlib.h>

static const struct terminal pipe_output = {.fd = -1};

#define LOGS   "  phasectl logs 7/a               what the run printed\n"
#define FROM   "  phasectl retry 7/a --from STEP  from another checkpoint, or `start`\n"
#define CANCEL "  phasectl cancel 7/a             end it\n"

#define HELD(hold, verbs) "{'state': 'held', 'hold': '" hold "', 'can': [" verbs "], "
#define FAILED            HELD("failure", "'cancel', 'retry'")
#define RESUMABLE         HELD("failure", "'resume', 'cancel', 'retry'")
#define JUDGED            HELD("gate", "'promote', 'resume', 'cancel', 'retry'")
#define OVER              "{'state': 'failed', 'can': ['resume', 'retry'], "

/* In `phase`, ' stands for ". */
static void expect(void (*write)(const struct terminal *, const json_t *, struct text *),
                   const char *phase, const char *expected)
{
    char *quoted = xstrdup(phase);
    for (char *c = quoted; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *json = json_loads(quoted, 0, NULL);
    struct text text = {0};
    assert_non_null(json);
    (void)json_object_set_new(json, "address", json_string("7/a"));
    write(&pipe_output, json, &text);
    assert_string_equal(text_string(&text), expected);
    text_fini(&text);
    json_decref(json);
    free(quoted);
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
         "  phasectl cancel 7/a  end it\n"},
        {RESUMABLE "'checkpoint': '/80', 'checkpoint_step': 80,"
                   " 'run': {'started': 1, 'outcome': 'failed'}}",
         LOGS "  phasectl retry 7/a              run again from the checkpoint of step 80\n" FROM
             CANCEL},
        {RESUMABLE "'checkpoint': '/20', 'checkpoint_step': 20,"
                   " 'suspects': ['30', '40'], 'run': {'started': 1, 'outcome': 'failed'}}",
         LOGS
         "  phasectl retry 7/a --from 20    run again from the last good checkpoint\n" FROM CANCEL},
        {FAILED "'suspects': ['30'], 'run': {'started': 1,"
                " 'outcome': 'failed'}}",
         LOGS
         "  phasectl retry 7/a              run again from the start: no checkpoint is good\n" FROM
             CANCEL},
        {JUDGED "'checkpoint': '/80', 'checkpoint_step': 80,"
                " 'run': {'started': 1, 'outcome': 'succeeded'}}",
         "  phasectl gate 7/a               what the gate found\n"
         "  phasectl promote 7/a            start the next phases anyway\n"
         "  phasectl retry 7/a              run the phase again\n" FROM
         "  phasectl resume 7/a             resume from the last checkpoint\n" CANCEL},
        {OVER "'checkpoint': '/80', 'checkpoint_step': 80,"
              " 'run': {'started': 1, 'outcome': 'failed'}}",
         LOGS "  phasectl retry 7/a              run again from the checkpoint of step 80\n" FROM},
        {OVER "'checkpoint': '/80', 'checkpoint_step': 80,"
              " 'run': {'started': 1, 'outcome': 'succeeded'}}",
         LOGS "  phasectl retry 7/a              run the phase again\n" FROM
              "  phasectl resume 7/a             resume from the last checkpoint\n"},
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
         "  phasectl promote 7/a    choose without `where`\n"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_retry_says_where_it_begins),
        cmocka_unit_test(only_what_the_daemon_allows_is_offered),
        cmocka_unit_test(the_live_view_names_its_keys),
    };
    return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
