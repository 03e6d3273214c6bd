/* What the job of a run asks of Slurm. */
#include "tests/unit/unit.h"

#include "daemon/core/model.h"
#include "daemon/launch/launch.h"
#include "daemon/store/store.h"
#include "lib/text.h"

#include <jansson.h>

/* The least time is a quarter of the time, but at least ten minutes and four times what a stop
 * takes. It is the whole time if the job serves one member after another, because such members need
 * not wait for another job. */
static void a_phase_with_a_checkpoint_accepts_less_time(void **state)
{
    static const struct {
        unsigned time_s, stop_s, lanes;
        bool is_member, is_parallel, has_checkpoint;
        unsigned least; /* minutes; 0: the whole time */
    } rows[] = {
        {.time_s = 7200, .stop_s = 60, .has_checkpoint = true, .least = 30},
        {.time_s = 1800, .stop_s = 60, .has_checkpoint = true, .least = 10},
        {.time_s = 1800, .stop_s = 300, .has_checkpoint = true, .least = 20},
        {.time_s = 7200, .stop_s = 60, .has_checkpoint = true, .is_member = true, .least = 30},
        {.time_s = 7200, .stop_s = 60, .has_checkpoint = true, .is_member = true, .lanes = 1},
        {.time_s = 7200,
         .stop_s = 60,
         .has_checkpoint = true,
         .is_member = true,
         .lanes = 2,
         .is_parallel = true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct phase phases[2] = {0};
        struct workflow workflow = {
            .name = "w", .submitted_ms = 1769860800123, .phase_count = 2, .phases = phases};
        struct phase *phase = &phases[0];
        struct matrix matrix = {
            .phase = &phases[1], .lanes = rows[i].lanes, .is_parallel = rows[i].is_parallel};
        *phase = (struct phase){.workflow = &workflow,
                                .name = "p.1",
                                .nodes = 1,
                                .has_checkpoint = rows[i].has_checkpoint,
                                .time_s = rows[i].time_s,
                                .stop_s = rows[i].stop_s,
                                .matrix = rows[i].is_member ? &matrix : NULL,
                                .beside = rows[i].is_parallel ? &phases[1] : NULL};
        phases[1] = (struct phase){.workflow = &workflow,
                                   .index = 1,
                                   .name = "p",
                                   .has_checkpoint = rows[i].has_checkpoint,
                                   .members = &matrix};
        struct allocation job = {.token = "ab"};
        struct run run = {.phase = phase};
        struct folder folder = {.job = "/job", .own = "/job"};
        struct store_launch launch = {
            .spec = json_object(), .environment = json_object(), .workdir = "/"};
        struct job_order order;
        job_order_init(&order, &run, &job, &folder, &launch, "/bin/phase-worker", NULL);
        if (order.description.time_min_minutes != rows[i].least)
            fail_msg("row %zu: %u minutes", i, order.description.time_min_minutes);
        assert_int_equal(order.description.time_minutes, rows[i].time_s / 60);
        assert_int_equal(order.description.can_chain, rows[i].has_checkpoint);
        assert_int_equal(order.description.submitted, 1769860800);
        job_order_fini(&order);
        json_decref(launch.spec);
        json_decref(launch.environment);
    }
}

/* What a spec asks of Slurm, and the nodes to keep away from, become options of the job. */
static void options_come_from_the_spec(void **state)
{
    static const struct {
        const char *spec, *excluded, *options;
    } rows[] = {
        {"{}", NULL, ""},
        {"{}", "n1", "exclude=n1 "},
        {"{\"resources\": {\"mem_mb\": 512}}", NULL, "mem=512 "},
        {"{\"slurm\": {\"exclude\": \"n9\", \"nice\": 5, \"contiguous\": true}}", NULL,
         "exclude=n9 nice=5 contiguous=true "},
        {"{\"slurm\": {\"nice\": 5, \"exclude\": \"n9\"}, \"resources\": {\"mem_mb\": 512}}",
         "n1,n2", "exclude=n9,n1,n2 nice=5 mem=512 "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct workflow workflow = {.name = "w"};
        struct phase phase = {.workflow = &workflow, .name = "p", .nodes = 1};
        struct allocation job = {.token = "ab"};
        struct run run = {.phase = &phase};
        struct folder folder = {.job = "/job", .own = "/job"};
        struct store_launch launch = {.spec = json_loads(rows[i].spec, 0, NULL),
                                      .environment = json_pack("{s:s, s:s}", "A", "1", "B", "2"),
                                      .workdir = "/"};
        struct job_order order;
        struct text options = {0};
        job_order_init(&order, &run, &job, &folder, &launch, "/bin/phase-worker", rows[i].excluded);
        const struct cluster_description *description = &order.description;
        for (size_t k = 0; k < description->option_count; k++)
            text_addf(&options, "%s=%s ", description->options[k].name,
                      description->options[k].value);
        assert_string_equal(text_string(&options), rows[i].options);
        assert_string_equal(description->name, "w.p");
        assert_string_equal(description->environment[1], "B=2");
        assert_null(description->environment[2]);
        if (rows[i].excluded)
            assert_string_equal(description->excluded, rows[i].excluded);
        job_order_fini(&order);
        text_fini(&options);
        json_decref(launch.spec);
        json_decref(launch.environment);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_phase_with_a_checkpoint_accepts_less_time),
        cmocka_unit_test(options_come_from_the_spec),
    };
    return cmocka_run_group_tests_name("job_order", tests, NULL, NULL);
}
