/* Tables: what gives way where a line is too long. */
#include "tests/unit/unit.h"

#include "cli/table.h"
#include "cli/terminal.h"
#include "lib/text.h"

#include <string.h>

static const struct terminal pipe_output = {.fd = -1};

static void a_table_aligns_its_columns(void **state)
{
    (void)state;
    static const struct table_column columns[] = {{"NAME", TABLE_LEFT, TABLE_WHOLE},
                                                  {"N", TABLE_RIGHT, TABLE_WHOLE},
                                                  {"NOTE", TABLE_LEFT, TABLE_REST}};
    struct table table;
    struct text text = {0};
    table_init(&table, columns, 3);
    table_add(&table, "äb");
    table_addf(&table, "%d", 1200);
    table_add(&table, "");
    table_add_in(&table, COLOUR_RED, "longer");
    table_addf(&table, "%d", 7);
    table_add(&table, "two\nlines");
    table_write(&table, &pipe_output, 2, &text);
    assert_string_equal(text_string(&text), "  NAME       N  NOTE\n"
                                            "  äb      1200\n"
                                            "  longer     7  two?lines\n");
    text_fini(&text);
    table_fini(&table);
}

static void a_table_fits_the_terminal(void **state)
{
    (void)state;
    static const struct table_column columns[] = {{"A", TABLE_LEFT, TABLE_WHOLE},
                                                  {"BOUNDS", TABLE_LEFT, TABLE_REST},
                                                  {"C", TABLE_LEFT, TABLE_WHOLE}};
    const struct terminal output = {.fd = -1, .live = true}; /* 80 columns when nobody knows */
    char wide[200];
    struct table table;
    struct text text = {0};
    memset(wide, 'x', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    table_init(&table, columns, 3);
    table_add(&table, "a");
    table_add(&table, wide);
    table_add(&table, "passed");
    table_write(&table, &output, 0, &text);
    const char *row = strchr(text_string(&text), '\n') + 1;
    assert_int_equal(strcspn(row, "\n"), 80);
    assert_true(text_ends(row, "xx..  passed\n"));
    text_fini(&text);
    table_fini(&table);
}

static void a_narrow_terminal_cuts_or_folds_columns(void **state)
{
    (void)state;
    static const struct table_column columns[] = {
        {"ID", TABLE_RIGHT, TABLE_WHOLE},   {"NAME", TABLE_LEFT, TABLE_GIVES},
        {"ETA", TABLE_RIGHT, TABLE_WHOLE},  {"PHASE", TABLE_LEFT, TABLE_GIVES},
        {"STEP", TABLE_RIGHT, TABLE_WHOLE}, {"NOTE", TABLE_LEFT, TABLE_REST},
    };
    static const struct {
        int columns;
        const char *text;
    } rows[] = {
        {0, "ID  NAME                  ETA  PHASE        STEP  NOTE\n"
            " 7  distil-large-student       pretraining   120  limits.yaml allows one job at a "
            "time\n"
            " 8  a                          b               3\n"},
        {64, "ID  NAME             PHASE        STEP  NOTE\n" /* nothing stands in ETA */
             " 7  distil-..tudent  pretraining   120  limits.yaml allows one\n"
             "                                        job at a time\n"
             " 8  a                b               3\n"},
        {40, "ID NAME                 PHASE       STEP\n"
             " 7 distil-large-student pretraining  120\n"
             "    limits.yaml allows one job at a time\n"
             " 8 a                    b              3\n"},
        {25, "ID NAME     PHASE    STEP\n"
             " 7 dis..ent pre..ing  120\n"
             "    limits.yaml allows\n"
             "    one job at a time\n"
             " 8 a        b           3\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct terminal output = {.fd = -1, .columns = rows[i].columns};
        struct table table;
        struct text text = {0};
        table_init(&table, columns, sizeof columns / sizeof columns[0]);
        static const char *const cells[] = {
            "7",   "distil-large-student",
            "",    "pretraining",
            "120", "limits.yaml allows one job at a time",
            "8",   "a",
            "",    "b",
            "3",   "",
        };
        for (size_t cell = 0; cell < sizeof cells / sizeof cells[0]; cell++)
            table_add(&table, cells[cell]);
        table_write(&table, &output, 0, &text);
        assert_string_equal(text_string(&text), rows[i].text);
        text_fini(&text);
        table_fini(&table);
    }
}

static void a_name_is_cut_only_if_no_other_column_can_be(void **state)
{
    (void)state;
    static const struct table_column columns[] = {{"NAME", TABLE_LEFT, TABLE_NAME},
                                                  {"NODES", TABLE_LEFT, TABLE_GIVES},
                                                  {"NOTE", TABLE_LEFT, TABLE_REST}};
    static const struct {
        int columns;
        const char *text;
    } rows[] = {
        {40, "NAME        NODES\n"
             "production  gpu-node-17,gpu-node-18\n"
             "    where two nodes have it\n"},
        {24, "NAME       NODES\n"
             "production gpu-no..de-18\n"
             "    where two nodes have\n"
             "    it\n"},
        {17, "NAME     NODES\n"
             "pro..ion gpu..-18\n"
             "    where two\n"
             "    nodes have it\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct terminal output = {.fd = -1, .columns = rows[i].columns};
        struct table table;
        struct text text = {0};
        table_init(&table, columns, sizeof columns / sizeof columns[0]);
        table_add(&table, "production");
        table_add(&table, "gpu-node-17,gpu-node-18");
        table_add(&table, "where two nodes have it");
        table_write(&table, &output, 0, &text);
        assert_string_equal(text_string(&text), rows[i].text);
        text_fini(&text);
        table_fini(&table);
    }
}

static void a_row_of_a_screen_is_one_line(void **state)
{
    (void)state;
    static const struct table_column columns[] = {
        {"ID", TABLE_RIGHT, TABLE_WHOLE},    {"NAME", TABLE_LEFT, TABLE_NAME},
        {"STEP", TABLE_RIGHT, TABLE_USEFUL}, {"ETA", TABLE_RIGHT, TABLE_USEFUL},
        {"BAR", TABLE_LEFT, TABLE_SPARE},    {"COST", TABLE_RIGHT, TABLE_SPARE},
        {"NOTE", TABLE_LEFT, TABLE_REST},
    };
    static const struct {
        int columns;
        const char *text;
    } rows[] = {
        {90,
         "ID  NAME                  STEP    ETA  BAR      COST  NOTE\n"
         " 7  distil-large-student   120  1m04s  ###...  $3.20  limits.yaml allows one job at a "
         "time\n"},
        {71, "ID  NAME                  STEP    ETA  BAR     NOTE\n" /* the rest has 24 columns */
             " 7  distil-large-student   120  1m04s  ###...  limits.yaml allows one..\n"},
        {70, "ID  NAME                  STEP    ETA  NOTE\n"
             " 7  distil-large-student   120  1m04s  limits.yaml allows one job at..\n"},
        {60, "ID  NAME                  STEP    ETA  NOTE\n"
             " 7  distil-large-student   120  1m04s  limits.yaml allows ..\n"},
        {51, "ID  NAME                  STEP    ETA  NOTE\n"
             " 7  distil-large-student   120  1m04s  limits.yam..\n"},
        {50, "ID  NAME                  STEP    ETA  BAR\n" /* the rest before the name */
             " 7  distil-large-student   120  1m04s  ###...\n"},
        {46, "ID  NAME                  STEP    ETA  BAR\n" /* the rest is left out */
             " 7  distil-large-student   120  1m04s  ###...\n"},
        {37, "ID  NAME                  STEP    ETA\n"
             " 7  distil-large-student   120  1m04s\n"},
        {33, "ID  NAME              STEP    ETA\n"
             " 7  distil-..student   120  1m04s\n"},
        {32, "ID  NAME                  STEP\n"
             " 7  distil-large-student   120\n"},
        {24, "ID  NAME\n"
             " 7  distil-large-student\n"},
        {20, "ID  NAME\n"
             " 7  distil-..student\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct terminal output = {.fd = -1, .columns = rows[i].columns, .one_line = true};
        static const char *const cells[] = {
            "7",
            "distil-large-student",
            "120",
            "1m04s",
            "###...",
            "$3.20",
            "limits.yaml allows one job at a time",
        };
        struct table table;
        struct text text = {0};
        table_init(&table, columns, sizeof columns / sizeof columns[0]);
        for (size_t cell = 0; cell < sizeof cells / sizeof cells[0]; cell++)
            table_add(&table, cells[cell]);
        table_write(&table, &output, 0, &text);
        assert_string_equal(text_string(&text), rows[i].text);
        text_fini(&text);
        table_fini(&table);
    }
}

static void a_long_name_gives_way_before_the_rest(void **state)
{
    (void)state;
    static const struct table_column columns[] = {
        {"NAME", TABLE_LEFT, TABLE_NAME},
        {"ETA", TABLE_RIGHT, TABLE_USEFUL},
        {"COST", TABLE_RIGHT, TABLE_SPARE},
        {"NOTE", TABLE_LEFT, TABLE_REST},
    };
    static const struct {
        int columns;
        const char *text;
    } rows[] = {
        {66, "NAME                            ETA   COST  NOTE\n"
             "distillation-of…eacher-into-8b   1m  $3.20  gate failed: grad_norm\n"},
        {60, "NAME                      ETA   COST  NOTE\n"
             "distillation…her-into-8b   1m  $3.20  gate failed: grad_norm\n"},
        {50, "NAME                      ETA  NOTE\n"
             "distillation…her-into-8b   1m  gate failed: grad_…\n"},
        {35, "NAME              ETA  NOTE\n"
             "distilla…into-8b   1m  gate failed…\n"},
        {34, "NAME                           ETA\n"
             "distillation-o…eacher-into-8b   1m\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct terminal output = {
            .fd = -1, .columns = rows[i].columns, .one_line = true, .unicode = true};
        struct table table;
        struct text text = {0};
        table_init(&table, columns, sizeof columns / sizeof columns[0]);
        table_add(&table, "distillation-of-the-large-teacher-into-8b");
        table_add(&table, "1m");
        table_add(&table, "$3.20");
        table_add(&table, "gate failed: grad_norm");
        table_write(&table, &output, 0, &text);
        assert_string_equal(text_string(&text), rows[i].text);
        text_fini(&text);
        table_fini(&table);
    }
}

static void a_column_in_the_middle_may_wrap(void **state)
{
    (void)state;
    static const struct table_column columns[] = {{"CHECK", TABLE_LEFT, TABLE_WHOLE},
                                                  {"BOUNDS", TABLE_LEFT, TABLE_WRAPS},
                                                  {"VERDICT", TABLE_LEFT, TABLE_WHOLE}};
    const struct terminal output = {.fd = -1, .columns = 40};
    struct table table;
    struct text text = {0};
    table_init(&table, columns, 3);
    table_add(&table, "order");
    table_add(&table, "last(a) > last(b) and last(b) > last(c)");
    table_add(&table, "failed");
    table_add(&table, "low");
    table_add(&table, "below 3");
    table_add(&table, "passed");
    table_write(&table, &output, 0, &text);
    assert_string_equal(text_string(&text), "CHECK  BOUNDS                    VERDICT\n"
                                            "order  last(a) > last(b) and     failed\n"
                                            "       last(b) > last(c)\n"
                                            "low    below 3                   passed\n");
    text_fini(&text);
    table_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_aligns_its_columns),
        cmocka_unit_test(a_table_fits_the_terminal),
        cmocka_unit_test(a_narrow_terminal_cuts_or_folds_columns),
        cmocka_unit_test(a_name_is_cut_only_if_no_other_column_can_be),
        cmocka_unit_test(a_row_of_a_screen_is_one_line),
        cmocka_unit_test(a_long_name_gives_way_before_the_rest),
        cmocka_unit_test(a_column_in_the_middle_may_wrap),
    };
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
