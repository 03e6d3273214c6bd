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
        {"{'state': 'held', 'hold': 'failure', 'run': {'started': 1, 'outcome': 'failed'}}",
         "  phasectl logs 7/a    what the run printed\n"
         "  phasectl retry 7/a   run the phase again\n"
         "  phasectl cancel 7/a  end it\n"},
        {"{'state': 'held', 'hold': 'failure', 'checkpoint': '/80', 'checkpoint_step': 80,"
         " 'run': {'started': 1, 'outcome': 'failed'}}",
         LOGS "  phasectl retry 7/a              run again from the checkpoint of step 80\n" FROM
             CANCEL},
        {"{'state': 'held', 'hold': 'failure', 'checkpoint': '/20', 'checkpoint_step': 20,"
         " 'suspects': ['30', '40'], 'run': {'started': 1, 'outcome': 'failed'}}",
         LOGS
         "  phasectl retry 7/a --from 20    run again from the last good checkpoint\n" FROM CANCEL},
        {"{'state': 'held', 'hold': 'failure', 'suspects': ['30'], 'run': {'started': 1,"
         " 'outcome': 'failed'}}",
         LOGS
         "  phasectl retry 7/a              run again from the start: no checkpoint is good\n" FROM
             CANCEL},
        {"{'state': 'held', 'hold': 'gate', 'checkpoint': '/80', 'checkpoint_step': 80,"
         " 'run': {'started': 1, 'outcome': 'succeeded'}}",
         "  phasectl gate 7/a               what the gate found\n"
         "  phasectl promote 7/a            start the next phases anyway\n"
         "  phasectl retry 7/a              run the phase again\n" FROM
         "  phasectl resume 7/a             resume from the last checkpoint\n" CANCEL},
        {"{'state': 'failed', 'checkpoint': '/80', 'checkpoint_step': 80,"
         " 'run': {'started': 1, 'outcome': 'failed'}}",
         LOGS "  phasectl retry 7/a              run again from the checkpoint of step 80\n" FROM},
        {"{'state': 'failed', 'checkpoint': '/80', 'checkpoint_step': 80,"
         " 'run': {'started': 1, 'outcome': 'succeeded'}}",
         LOGS "  phasectl retry 7/a              run the phase again\n" FROM
              "  phasectl resume 7/a             resume from the last checkpoint\n"},
        {"{'state': 'cancelled'}", "  phasectl retry 7/a  run the phase again\n"},
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
        {"{'state': 'held', 'hold': 'gate', 'checkpoint': '/80', 'checkpoint_step': 80,"
         " 'run': {'started': 1, 'outcome': 'succeeded'}}",
         " p start the next phases anyway   r run the phase again   "
         "R resume from the last checkpoint   c end it"
         "   more: phasectl why 7/a\n"},
        {"{'state': 'held', 'hold': 'failure', 'run': {'started': 1, 'outcome': 'failed'}}",
         " Enter what the run printed   r run the phase again   c end it\n"},
        {"{'state': 'held', 'hold': 'failure', 'checkpoint': '/20', 'checkpoint_step': 20,"
         " 'suspects': ['30', '40'], 'run': {'started': 1, 'outcome': 'failed'}}",
         " Enter what the run printed   c end it   more: phasectl why 7/a\n"
         " phasectl retry 7/a --from 20  run again from the last good checkpoint\n"},
        {"{'state': 'held', 'hold': 'user'}", " h let the phase start   c end it\n"},
        {"{'state': 'held', 'hold': 'budget', 'reason': 'held by its budget: $3 are spent'}",
         " r run the phase again   c end it\n"
         " phasectl budget 7 --usd N  give the workflow more first\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect(held_keys, rows[i].phase, rows[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_retry_says_where_it_begins),
        cmocka_unit_test(the_live_view_names_its_keys),
    };
    return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
