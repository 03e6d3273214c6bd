/* The rule for hangs, as tables of what is seen and when. */
#include "tests/unit/unit.h"

#include "worker/health/hang.h"

/* What happens for how long, in seconds. */
enum happening {
    END,
    SILENT, /* looks that see nothing */
    PRINTS, /* a sign of life each second */
    STEPS,  /* a step each second */
    STANDS, /* the watcher is suspended, and looks once at the end */
    SIGN,   /* one sign of life now, which takes no time */
    STEP,   /* one step now */
    EXCUSE, /* the silence until now had a reason */
};

struct stretch {
    enum happening happening;
    int seconds;
};

static void live(struct hang *hang, const struct stretch *stretch, int64_t *now_ms)
{
    static const enum hang_sign signs[] = {
        [SILENT] = HANG_NOTHING, [PRINTS] = HANG_LIFE, [STEPS] = HANG_STEP,
        [STANDS] = HANG_NOTHING, [SIGN] = HANG_LIFE,   [STEP] = HANG_STEP,
        [EXCUSE] = HANG_EXCUSED};
    for (; stretch->happening != END; stretch++) {
        enum hang_sign sign = signs[stretch->happening];
        if (stretch->happening == STANDS)
            *now_ms += (int64_t)stretch->seconds * 1000;
        if (stretch->happening >= STANDS) {
            hang_look(hang, sign, *now_ms);
            continue;
        }
        for (int second = 0; second < stretch->seconds; second++) {
            for (int look = 0; look < 4; look++)
                hang_look(hang, HANG_NOTHING, *now_ms += 200);
            hang_look(hang, sign, *now_ms += 200);
        }
    }
}

struct row {
    const char *what;
    int setting_s;
    struct stretch stretches[12];
    int64_t limit_s, silence_s;
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct hang hang;
        int64_t now_ms = 1000000;
        print_message("# %s\n", rows[i].what);
        hang_init(&hang, rows[i].setting_s, now_ms);
        live(&hang, rows[i].stretches, &now_ms);
        int64_t limit_ms = hang_limit_ms(&hang);
        assert_int_equal(limit_ms == INT64_MAX ? -1 : limit_ms / 1000, rows[i].limit_s);
        assert_int_equal(hang.silence_ms / 1000, rows[i].silence_s);
        assert_int_equal(hang_is_over(&hang),
                         rows[i].limit_s >= 0 && rows[i].silence_s >= rows[i].limit_s);
    }
}

static void the_limit_follows_the_pace_of_the_run(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"nothing was ever seen", -1, {{SILENT, 899}}, 900, 899},
        {"and a second later", -1, {{SILENT, 900}}, 900, 900},
        {"lines at the start are not steps", -1, {{PRINTS, 60}, {SILENT, 600}}, 900, 600},
        {"a start that was silent for long may be so again",
         -1,
         {{SILENT, 600}, {SIGN, 0}, {SILENT, 60}},
         3000,
         60},
        {"but not once it has made a step",
         -1,
         {{SILENT, 600}, {SIGN, 0}, {SILENT, 60}, {STEP, 0}, {SILENT, 1}},
         900,
         1},
        {"five steps have four intervals", -1, {{STEPS, 5}, {SILENT, 10}}, 900, 10},
        {"six have five", -1, {{STEPS, 6}, {SILENT, 10}}, 300, 10},
        {"fast steps are not taken for the pace of a checkpoint",
         -1,
         {{STEPS, 1000}, {SILENT, 299}},
         300,
         299},
        {"what lasts longer than that is a hang", -1, {{STEPS, 1000}, {SILENT, 300}}, 300, 300},
        {"an evaluation of three minutes allows a quarter of an hour",
         -1,
         {{STEPS, 100}, {SILENT, 180}, {STEP, 0}, {STEPS, 10}, {SILENT, 400}},
         900,
         400},
        {"so does saving, which only prints",
         -1,
         {{STEPS, 100}, {SILENT, 200}, {SIGN, 0}, {STEPS, 10}},
         1000,
         0},
        {"slow steps", -1, {{STEP, 0}, {SILENT, 400}, {STEP, 0}, {SILENT, 5}}, 2000, 5},
        {"a setting is taken as it is", 3, {{STEPS, 100}, {SILENT, 2}}, 3, 2},
        {"from the first second on", 3, {{SILENT, 3}}, 3, 3},
        {"off", 0, {{STEPS, 10}, {SILENT, 100000}}, -1, 100000},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

static void time_in_which_the_whole_node_stood_still_is_no_silence(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"suspended for a night", 600, {{STEPS, 10}, {STANDS, 36000}}, 600, 2},
        {"again and again, as by gang scheduling",
         60,
         {{STEPS, 10}, {SILENT, 10}, {STANDS, 30}, {SILENT, 10}, {STANDS, 30}},
         60,
         24},
        {"it is not a long interval either",
         -1,
         {{STEPS, 10}, {STANDS, 36000}, {STEPS, 1}, {SILENT, 1}},
         300,
         1},
        {"an excused silence is not a measure",
         -1,
         {{STEPS, 10}, {SILENT, 290}, {EXCUSE, 0}, {SILENT, 7}},
         300,
         7},
        {"a clock that does not move", 60, {{SILENT, 5}, {STANDS, 0}}, 60, 5},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_follows_the_pace_of_the_run),
        cmocka_unit_test(time_in_which_the_whole_node_stood_still_is_no_silence),
    };
    return cmocka_run_group_tests_name("hang", tests, NULL, NULL);
}
