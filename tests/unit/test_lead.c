/* The table of the lead: what each event does in each state. */
#include "tests/unit/unit.h"

#include "worker/lead/lead_state.h"

static char letter_of(lead_action *action)
{
    static const struct {
        lead_action *action;
        char letter;
    } letters[] = {
        {lead_ignore, '.'},         {lead_begin, 'b'},         {lead_interrupt, 'i'},
        {lead_time_out, 't'},       {lead_lose_job_step, 's'}, {lead_pass_term, 'p'},
        {lead_leave_stepless, 'e'}, {lead_cancel, 'c'},        {lead_next, 'n'},
        {lead_leave, 'l'},          {lead_over, 'o'},          {lead_wait, 'w'},
    };
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].action == action)
            return letters[i].letter;
    return '?';
}

static void every_state_answers_every_event(void **state)
{
    (void)state;
    /* A row is a state, a column an event: ready, term, limit, step ended, next, stop, end,
     * begun before. A letter is an action. */
    static const char *const rows[LEAD_STATES] = {
        [LEAD_LAUNCHING] = "bitsncow",
        [LEAD_RUNNING] = ".itsoco.",
        [LEAD_LINGERING] = ".lllnll.",
        [LEAD_LEAVING] = ".p.e....",
    };
    for (unsigned from = 0; from < LEAD_STATES; from++) {
        char row[LEAD_EVENTS + 1] = "";
        for (unsigned event = 0; event < LEAD_EVENTS; event++)
            row[event] = letter_of(lead_answer((enum lead_state)from, (enum lead_event)event));
        assert_string_equal(row, rows[from]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_answers_every_event),
    };
    return cmocka_run_group_tests_name("lead", tests, NULL, NULL);
}
