/* Tokens per second and MFU, from the lines of trainers. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/metrics/extract.h"
#include "lib/metrics/peak.h"
#include "lib/metrics/speed.h"
#include "lib/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A model of 1.5e9 params: 6 * 1.5e9 + 12 * 48 * 1600 * 1024 = 9 943 718 400 operations for a
 * token. */
#define SIZES "\"params\": 1.5e9, \"layers\": 48, \"width\": 1600, \"sequence\": 1024"

struct world {
    struct speed speed;
    struct extract *extract;
    struct text seen; /* what the last row has about speed */
    int64_t now_ms;
};

static void world_row(void *context, const struct extract_row *row)
{
    struct world *world = context;
    const struct extract_row *wider = speed_read(&world->speed, row, world->now_ms);
    text_clear(&world->seen);
    for (size_t i = 0; i < wider->count; i++) {
        const struct extract_value *value = &wider->values[i];
        if (text_equal(value->name, "tokens_per_s") || text_equal(value->name, "samples_per_s") ||
            strstr(value->name, "mfu"))
            text_addf(&world->seen, "%s %.9g ", value->name, value->value);
    }
}

/* With 8 GPUs of this model; NULL: the model is unknown. */
static void world_init(struct world *world, const char *sizes, const char *model)
{
    static const struct extract_options options = {.kind = EXTRACT_AUTO};
    struct error err;
    *world = (struct world){0};
    char *text = text_format("{\"mfu\": %s}", sizes);
    json_t *spec = json_loads(text, 0, NULL);
    assert_non_null(spec);
    speed_init(&world->speed, spec, 8);
    if (model)
        speed_model(&world->speed, model);
    assert_int_equal(extract_new(&options, world_row, world, &world->extract, &err), 0);
    json_decref(spec);
    free(text);
}

static void world_fini(struct world *world)
{
    extract_free(world->extract);
    speed_fini(&world->speed);
    text_fini(&world->seen);
}

static const char *world_print(struct world *world, const char *line)
{
    text_clear(&world->seen);
    extract_feed(world->extract, line, strlen(line));
    extract_feed(world->extract, "\n", 1);
    return text_string(&world->seen);
}

static void tokens_per_s_means_the_whole_run(void **state)
{
    (void)state;
    static const struct {
        const char *line, *seen;
    } rows[] = {
        {"step 00200/01000 (20.00%) | loss: 5.1 | dt: 1234.56ms | tok/sec: 58,679",
         "tokens_per_s 58679 "},
        {"step    2/19560 | loss 10.99 | 2131.50 ms | 245912 tok/s", "tokens_per_s 245912 "},
        {"step=3 tokens/s=1200 loss=2", "tokens_per_s 1200 "},
        {"{\"step\": 4, \"tokens_per_second\": 99.5}", "tokens_per_s 99.5 "},
        {"step=5 tokens_per_s=70", "tokens_per_s 70 "},
        /* values of one of eight GPUs */
        {"step: 10  loss: 11.6  memory: 55.82GiB(70.57%)  tps: 6,106  tflops: 353.58",
         "tokens_per_s 48848 "},
        {"step=11 tokens_per_second_per_gpu=100", "tokens_per_s 800 "},
        {"step:2 - actor/grad_norm:1.5 - perf/total_num_tokens:30000 - perf/time_per_step:15.0 - "
         "perf/throughput:250.0",
         "tokens_per_s 2000 "},
        /* 16 samples of 1024 tokens in 1.6384 s */
        {" iteration       10/   1000 | consumed samples:          160 | elapsed time per "
         "iteration "
         "(ms): 1638.4 | global batch size:    16 | lm loss: 1.074412E+01 |",
         "tokens_per_s 10000 "},
        /* names that can mean anything */
        {"step=12 tps=100", ""},
        {"step=13 throughput=100", ""},
        {"step=14 tok_s=0", ""},
        {"step=15 tok_s=nan", ""},
    };
    struct world world;
    world_init(&world, "{" SIZES "}", NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(world_print(&world, rows[i].line), rows[i].seen);
    world_fini(&world);
}

static void mfu_follows_palm_and_the_dense_peak(void **state)
{
    (void)state;
    static const struct {
        const char *sizes, *model, *line, *seen;
    } rows[] = {
        /* 9.9437184e9 * 400000 / (8 * 989e12) */
        {"{" SIZES "}", "NVIDIA H100 80GB HBM3", "step=1 tok_s=400000",
         "tokens_per_s 400000 mfu 50.27 "},
        {"{" SIZES "}", "NVIDIA H100 PCIe", "step=1 tok_s=400000",
         "tokens_per_s 400000 mfu 65.77 "},
        /* a peak that was set by hand wins */
        {"{" SIZES ", \"peak_tflops\": 500}", NULL, "step=1 tok_s=400000",
         "tokens_per_s 400000 mfu 99.44 "},
        {"{" SIZES ", \"peak_tflops\": 500}", "NVIDIA H200", "step=1 tok_s=200000",
         "tokens_per_s 200000 mfu 49.72 "},
        /* the program's own value follows another convention */
        {"{" SIZES "}", "NVIDIA H200", "step=1 tok_s=400000 mfu=61.5",
         "mfu_printed 61.5 tokens_per_s 400000 mfu 50.27 "},
        {"null", "NVIDIA H200", "step=1 tok_s=400000 mfu=61.5", "mfu 61.5 tokens_per_s 400000 "},
        {"{" SIZES "}", "NVIDIA H200", "step=1 loss=2", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world world;
        world_init(&world, rows[i].sizes, rows[i].model);
        assert_string_equal(world_print(&world, rows[i].line), rows[i].seen);
        world_fini(&world);
    }
}

static void a_message_says_why_mfu_cannot_be_computed(void **state)
{
    (void)state;
    static const struct {
        const char *sizes, *model, *line, *trouble;
    } rows[] = {
        {"null", NULL, "step=1 loss=2", NULL},
        {"{" SIZES "}", "NVIDIA H200", "step=1 tok_s=400000", NULL},
        {"{" SIZES "}", "NVIDIA H200", "step=1 loss=2",
         "mfu cannot be computed: the program prints no tokens per second"},
        {"{" SIZES "}", NULL, "step=1 tok_s=400000",
         "mfu cannot be computed: no driver names the GPUs; set mfu.peak_tflops to what one GPU "
         "can do"},
        {"{" SIZES "}", "NVIDIA Titan", "step=1 tok_s=400000",
         "mfu cannot be computed: the speed of NVIDIA Titan is not known; set mfu.peak_tflops"},
        {"{" SIZES "}", "NVIDIA H200", "step=1 tok_s=4000000",
         "mfu cannot be computed: 503 percent is impossible; check the sizes in mfu, "
         "and tokens_per_s"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world world;
        world_init(&world, rows[i].sizes, rows[i].model);
        (void)world_print(&world, rows[i].line); /* the other test checks it */
        char *trouble = speed_trouble(&world.speed);
        if (rows[i].trouble)
            assert_string_equal(trouble, rows[i].trouble);
        else
            assert_null(trouble);
        free(trouble);
        world_fini(&world);
    }
}

static void a_phase_without_gpus_has_no_mfu(void **state)
{
    (void)state;
    json_t *spec = json_loads("{\"mfu\": {" SIZES ", \"peak_tflops\": 1}}", 0, NULL);
    const struct extract_value value = {"tok_s", 100};
    const struct extract_row row = {.has_step = true, .step = 1, .values = &value, .count = 1};
    struct speed speed;
    speed_init(&speed, spec, 0);
    const struct extract_row *wider = speed_read(&speed, &row, 0);
    assert_int_equal(wider->count, 2);
    assert_string_equal(wider->values[1].name, "tokens_per_s");
    assert_null(speed_trouble(&speed));
    speed_fini(&speed);
    json_decref(spec);
}

static void the_widest_row_has_room_for_more(void **state)
{
    (void)state;
    struct extract_value values[EXTRACT_VALUES_MAX];
    struct world world;
    for (size_t i = 0; i < EXTRACT_VALUES_MAX; i++)
        values[i] = (struct extract_value){"x", 1};
    values[0] = (struct extract_value){"tok_s", 400000};
    values[1] = (struct extract_value){"samples_s", 400};
    const struct extract_row row = {
        .has_step = true, .step = 1, .values = values, .count = EXTRACT_VALUES_MAX};
    world_init(&world, "{" SIZES "}", "NVIDIA H200");
    assert_int_equal(speed_read(&world.speed, &row, 0)->count, EXTRACT_VALUES_MAX + SPEED_VALUES);
    world_fini(&world);
}

static void the_pace_of_steps_gives_speeds_that_the_program_does_not_print(void **state)
{
    (void)state;
    static const struct {
        int64_t now_ms;
        const char *line, *seen;
    } rows[] = {
        {1000, "step=10 loss=3", ""}, /* measured from here on; compiling came before */
        {3000, "step=14 loss=3", "samples_per_s 32 tokens_per_s 2000 "},
        {3000, "lr=0.1", ""},
        {3400, "step=18 loss=3", ""}, /* too early to say */
        {3999, "step=19 loss=3", ""},
        {5000, "step=22 loss=3", "samples_per_s 64 tokens_per_s 4000 "},
        {9000, "step=1 loss=3", ""}, /* the next epoch begins */
        {9000, "step=2 loss=3", ""},
        {11000, "step=3 loss=3", "samples_per_s 16 tokens_per_s 1000 "},
        /* printed values win */
        {13000, "step=4 samples/sec=7", "samples_per_s 7 tokens_per_s 500 "},
        {15000, "step=5 tok/s=70", "samples_per_s 8 tokens_per_s 70 "},
        {17000, "step=6 samples_per_s=7 tokens_per_s=70", "samples_per_s 7 tokens_per_s 70 "},
    };
    struct world world;
    world_init(&world, "null, \"progress\": {\"samples\": 16, \"tokens\": 1000}", NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        world.now_ms = rows[i].now_ms;
        assert_string_equal(world_print(&world, rows[i].line), rows[i].seen);
    }
    world_fini(&world);
}

static void mfu_can_come_from_the_pace(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, "{" SIZES "}, \"progress\": {\"tokens\": 400000}", "NVIDIA H200");
    (void)world_print(&world, "step=1 loss=3"); /* the beginning */
    world.now_ms = 1000;
    assert_string_equal(world_print(&world, "step=2 loss=3"), "tokens_per_s 400000 mfu 50.27 ");
    assert_null(speed_trouble(&world.speed));
    world_fini(&world);
}

static void a_gpu_is_known_by_whole_words_of_its_name(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double tflops;
    } rows[] = {
        {"NVIDIA H100 80GB HBM3", 989},
        {"NVIDIA H100 PCIe", 756},
        {"NVIDIA H100 NVL", 835},
        {"NVIDIA H200", 989},
        {"NVIDIA H200 NVL", 835},
        {"NVIDIA GH200 480GB", 989},
        {"NVIDIA H20", 148},
        {"NVIDIA B200", 2250},
        {"NVIDIA GB200", 2500},
        {"NVIDIA A100-SXM4-80GB", 312},
        {"NVIDIA A100 80GB PCIe", 312},
        {"NVIDIA L4", 121},
        {"NVIDIA L40S", 362},
        {"NVIDIA H100 80GB HBM3 MIG 1g.10gb", 0},
        {"NVIDIA L400", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(peak_tflops(rows[i].model) == rows[i].tflops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_per_s_means_the_whole_run),
        cmocka_unit_test(mfu_follows_palm_and_the_dense_peak),
        cmocka_unit_test(a_message_says_why_mfu_cannot_be_computed),
        cmocka_unit_test(a_phase_without_gpus_has_no_mfu),
        cmocka_unit_test(the_widest_row_has_room_for_more),
        cmocka_unit_test(the_pace_of_steps_gives_speeds_that_the_program_does_not_print),
        cmocka_unit_test(mfu_can_come_from_the_pace),
        cmocka_unit_test(a_gpu_is_known_by_whole_words_of_its_name),
    };
    return cmocka_run_group_tests_name("speed", tests, NULL, NULL);
}
