/* The bodies of the GPU kernels that work row by row, run on a processor, against the reference of
 * the CPU: odd counts of rows, and fewer teams than rows. */
#include "tests/unit/model_arrays.h"

#include "worker/model/cuda/row_bodies.h"

static const struct {
    size_t rows, width;
} sizes[] = {{1, 8}, {3, 64}, {7, 264}, {13, 1000}};

static size_t drawn, borderline; /* tokens; those that a sum of floats has changed */

#define FOR_SIZES(i) for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)

static void sum_rmsnorm(const struct team *team, void *context)
{
    struct call *c = context;
    body_sum_rmsnorm(team, c->state, c->y, c->out, c->a, c->b, c->gain, c->rows, c->width);
}

static void norm_is_of_the_sum(void **state)
{
    struct kernels *kernels = *state;
    FOR_SIZES(i)
    {
        size_t rows = sizes[i].rows, width = sizes[i].width, count = rows * width;
        struct pair_of_arrays a = numbers(count, 2), b = numbers(count, 1);
        struct pair_of_arrays sum = nothing(count), y = nothing(count);
        float *gain = floats(width, 1), *scale = get(rows * sizeof *scale);
        float *wanted = get(rows * sizeof *wanted);
        kernel_sum_rmsnorm(kernels, sum.floats, y.floats, wanted, a.floats, b.floats, gain, rows,
                           width);
        run(sum_rmsnorm, (struct call){.state = sum.bfloats,
                                       .y = y.bfloats,
                                       .out = scale,
                                       .a = a.bfloats,
                                       .b = b.bfloats,
                                       .gain = gain,
                                       .rows = rows,
                                       .width = width});
        assert_same(sum);
        assert_same(y);
        assert_near(scale, wanted, rows, 4e-3); /* it is of the rounded sum */

        /* Without b, and with the state in place of a. */
        kernel_sum_rmsnorm(kernels, NULL, y.floats, wanted, a.floats, NULL, gain, rows, width);
        run(sum_rmsnorm, (struct call){.y = y.bfloats,
                                       .out = scale,
                                       .a = a.bfloats,
                                       .gain = gain,
                                       .rows = rows,
                                       .width = width});
        assert_same(y);
        assert_near(scale, wanted, rows, float_bound);
        kernel_sum_rmsnorm(kernels, a.floats, y.floats, wanted, a.floats, b.floats, gain, rows,
                           width);
        run(sum_rmsnorm, (struct call){.state = a.bfloats,
                                       .y = y.bfloats,
                                       .out = scale,
                                       .a = a.bfloats,
                                       .b = b.bfloats,
                                       .gain = gain,
                                       .rows = rows,
                                       .width = width});
        assert_same(a);
        assert_same(y);
        drop(a), drop(b), drop(sum), drop(y);
        free(gain), free(scale), free(wanted);
    }
}

static void rmsnorm_backward(const struct team *team, void *context)
{
    struct call *c = context;
    body_rmsnorm_backward(team, c->y, c->a, c->b, c->gain, c->scale, c->rows, c->width);
}

static void gain_parts(const struct team *team, void *context)
{
    struct call *c = context;
    body_gain_parts(team, c->parts, c->part_count, c->a, c->b, c->scale, c->rows, c->width);
}

static void add_parts(const struct team *team, void *context)
{
    struct call *c = context;
    body_add_parts(team, c->out, c->parts, c->part_count, c->width);
}

static void norm_goes_back(void **state)
{
    FOR_SIZES(i)
    {
        size_t rows = sizes[i].rows, width = sizes[i].width, count = rows * width;
        struct pair_of_arrays dy = numbers(count, 1), x = numbers(count, 2);
        struct pair_of_arrays dx = numbers(count, 1);
        float *gain = floats(width, 1), *scale = floats(rows, 1), *dgain = floats(width, 1);
        float *wanted = copy_of(dgain, width), *parts = get(5 * width * sizeof *parts);
        kernel_rmsnorm_backward(*state, dx.floats, wanted, dy.floats, x.floats, gain, scale, rows,
                                width);
        struct call call = {.y = dx.bfloats,
                            .a = dy.bfloats,
                            .b = x.bfloats,
                            .out = dgain,
                            .parts = parts,
                            .part_count = rows < 5 ? rows : 5,
                            .gain = gain,
                            .scale = scale,
                            .rows = rows,
                            .width = width};
        run(rmsnorm_backward, call);
        run(gain_parts, call);
        run(add_parts, call);
        assert_same(dx);
        assert_near(dgain, wanted, width, float_bound);
        drop(dy), drop(x), drop(dx);
        free(gain), free(scale), free(dgain), free(wanted), free(parts);
    }
}

static void gate(const struct team *team, void *context)
{
    struct call *c = context;
    body_gate(team, c->y, c->a, c->rows, c->width);
}

static void gate_backward(const struct team *team, void *context)
{
    struct call *c = context;
    body_gate_backward(team, c->y, c->b, c->a, c->rows, c->width);
}

static void gate_goes_both_ways(void **state)
{
    FOR_SIZES(i)
    {
        size_t rows = sizes[i].rows, width = sizes[i].width, count = rows * width;
        struct pair_of_arrays wide = numbers(2 * count, 4), y = nothing(count);
        struct pair_of_arrays dy = numbers(count, 1), dwide = nothing(2 * count);
        struct call call = {.y = y.bfloats, .a = wide.bfloats, .rows = rows, .width = width};
        kernel_gate(*state, y.floats, wide.floats, rows, width);
        run(gate, call);
        assert_same(y);
        call.b = dy.bfloats;
        call.y = dwide.bfloats;
        kernel_gate_backward(*state, dwide.floats, dy.floats, wide.floats, rows, width);
        run(gate_backward, call);
        assert_same(dwide);
        call.y = wide.bfloats; /* in place */
        run(gate_backward, call);
        assert_memory_equal(wide.bfloats, dwide.bfloats, 2 * count * sizeof(uint16_t));
        drop(wide), drop(y), drop(dy), drop(dwide);
    }
}

static void sum(const struct team *team, void *context)
{
    struct call *c = context;
    body_sum(team, c->y, c->a, c->b, c->rows * c->width);
}

static void sum_may_be_in_place(void **state)
{
    FOR_SIZES(i)
    {
        size_t count = sizes[i].rows * sizes[i].width;
        struct pair_of_arrays a = numbers(count, 1), b = numbers(count, 1);
        kernel_sum(*state, a.floats, a.floats, b.floats, count);
        run(sum, (struct call){.y = a.bfloats,
                               .a = a.bfloats,
                               .b = b.bfloats,
                               .rows = sizes[i].rows,
                               .width = sizes[i].width});
        assert_same(a);
        drop(a), drop(b);
    }
}

static void add(const struct team *team, void *context)
{
    struct call *c = context;
    body_add(team, c->y, c->gradient, c->rows * c->width);
}

static void floats_are_added_and_then_rounded(void **state)
{
    (void)state;
    FOR_SIZES(i)
    {
        size_t count = sizes[i].rows * sizes[i].width;
        struct pair_of_arrays y = numbers(count, 1);
        float *sums = floats(count, 2);
        for (size_t j = 0; j < count; j++)
            y.floats[j] = float_of((uint16_t)bfloat_of(y.floats[j] + sums[j]));
        run(add,
            (struct call){
                .y = y.bfloats, .gradient = sums, .rows = sizes[i].rows, .width = sizes[i].width});
        for (size_t j = 0; j < count; j++)
            assert_int_equal(y.bfloats[j], bfloat_of(y.floats[j]));
        assert_same(y);
        drop(y);
        free(sums);
    }
}

static void embed(const struct team *team, void *context)
{
    struct call *c = context;
    body_embed(team, c->y, c->ids, c->a, c->rows, c->width);
}

static void embed_backward(const struct team *team, void *context)
{
    struct call *c = context;
    body_embed_backward(team, c->out, c->a, c->ids, c->rows, c->width);
}

static void embedding_goes_both_ways(void **state)
{
    FOR_SIZES(i)
    {
        enum { IDS = 5 };
        size_t rows = sizes[i].rows, width = sizes[i].width, count = rows * width;
        struct pair_of_arrays table = numbers(IDS * width, 1), y = nothing(count);
        struct pair_of_arrays dy = numbers(count, 1);
        float *dtable = floats(IDS * width, 1), *wanted = copy_of(dtable, IDS * width);
        uint32_t ids[16];
        for (size_t row = 0; row < rows; row++)
            ids[row] = (uint32_t)(row * row % IDS); /* some come several times */
        kernel_embed(*state, y.floats, ids, table.floats, rows, width);
        kernel_embed_backward(*state, wanted, dy.floats, ids, rows, width);
        struct call call = {.y = y.bfloats,
                            .a = table.bfloats,
                            .out = dtable,
                            .ids = ids,
                            .rows = rows,
                            .width = width};
        run(embed, call);
        assert_same(y);
        call.a = dy.bfloats;
        run(embed_backward, call);
        assert_near(dtable, wanted, IDS * width, float_bound);
        drop(table), drop(y), drop(dy);
        free(dtable), free(wanted);
    }
}

static void cross_entropy(const struct team *team, void *context)
{
    struct call *c = context;
    body_cross_entropy(team, c->y, c->parts, c->ids, c->factor, c->rows, c->width);
}

static void add_total(const struct team *team, void *context)
{
    struct call *c = context;
    body_add_total(team, c->out, c->parts, c->part_count);
}

static void loss_and_gradient_are_those_of_the_reference(void **state)
{
    FOR_SIZES(i)
    {
        size_t rows = sizes[i].rows, width = sizes[i].width;
        struct pair_of_arrays logits = numbers(rows * width, 8);
        uint32_t targets[16];
        for (size_t row = 0; row < rows; row++)
            targets[row] = (uint32_t)((row + 1) * 31 % width);
        float loss = 1, wanted = 1, parts[3];
        kernel_cross_entropy(*state, logits.floats, &wanted, targets, 0.125f, rows, width);
        struct call call = {.y = logits.bfloats,
                            .parts = parts,
                            .part_count = 3,
                            .out = &loss,
                            .ids = targets,
                            .factor = 0.125f,
                            .rows = rows,
                            .width = width};
        run(cross_entropy, call);
        run_alone(add_total, call);
        assert_near(&loss, &wanted, 1, float_bound);
        assert_same(logits);
        drop(logits);
    }
}

/* What is drawn from: two parts, of which the second one has fewer classes, and some padding. */
struct draws {
    uint32_t tokens[16];
    const uint16_t *logits;
    double randoms[16];
    size_t rows;
    struct kernel_parts parts;
    struct kernel_draw_options options;
};

static void draw(const struct team *team, void *context)
{
    struct draws *d = context;
    body_draw(team, d->tokens, d->logits, d->randoms, d->rows, &d->parts, &d->options);
}

/* Draws by the reference, with random numbers and a top-p that are larger by `more`. */
static struct draws reference(struct kernels *kernels, const struct draws *from,
                              const float *logits, double more)
{
    struct draws made = *from;
    if (made.options.top_p < 1)
        made.options.top_p = fmin(made.options.top_p * (1 + more), 0.99999999);
    for (size_t row = 0; row < made.rows; row++)
        made.randoms[row] = fmin(fmax(made.randoms[row] + more, 0), 1 - 0x1p-53);
    kernel_draw(kernels, made.tokens, logits, made.randoms, made.rows, &made.parts, &made.options);
    return made;
}

static float logit_of(const struct draws *draws, const float *logits, size_t row, size_t token)
{
    size_t count, first = token / draws->parts.part * draws->parts.part;
    return logits[kernel_parts_row(&draws->parts, first, row, &count) + token - first];
}

/* Whether token a comes before token b, or is b. */
static bool is_before(const struct draws *draws, const float *logits, size_t row, size_t a,
                      size_t b)
{
    float left = logit_of(draws, logits, row, a), right = logit_of(draws, logits, row, b);
    if (draws->options.top_p < 1)
        return left > right || (!(left < right) && a <= b);
    return a >= b;
}

/* Fails if the token of a row is not that of the reference, unless it is so near that sums of
 * floats may differ: between the tokens of random numbers and cuts of top-p that differ by 1 in
 * 100,000. */
static void assert_drawn(struct kernels *kernels, const struct draws *got, const float *logits)
{
    struct draws wanted = reference(kernels, got, logits, 0);
    struct draws low = reference(kernels, got, logits, -1e-5);
    struct draws high = reference(kernels, got, logits, 1e-5);
    drawn += got->rows;
    for (size_t row = 0; row < got->rows; row++) {
        uint32_t token = got->tokens[row];
        if (token == wanted.tokens[row])
            continue;
        borderline++;
        if (!(got->options.temperature > 0) || token >= got->options.tokens ||
            !is_before(got, logits, row, low.tokens[row], token) ||
            !is_before(got, logits, row, token, high.tokens[row]) ||
            isinf(logit_of(got, logits, row, token)))
            fail_msg("row %zu, temperature %g, top-p %g, random %.17g: token %u, not %u", row,
                     got->options.temperature, got->options.top_p, got->randoms[row], token,
                     wanted.tokens[row]);
    }
}

/* Draws with each temperature and each top-p. */
static void draw_all(struct kernels *kernels, struct draws *draws, const float *logits)
{
    static const double temperatures[] = {0, 1e-300, 1e-9, 0.1, 0.7, 1, 100};
    static const double top_ps[] = {1, 0.999, 0.9, 0.5, 1e-3, 0};
    for (size_t t = 0; t < sizeof temperatures / sizeof *temperatures; t++)
        for (size_t p = 0; p < sizeof top_ps / sizeof *top_ps; p++) {
            draws->options.temperature = temperatures[t];
            draws->options.top_p = top_ps[p];
            for (size_t row = 0; row < draws->rows; row++) {
                draws->tokens[row] = UINT32_MAX;
                draws->randoms[row] = random_unit_at(seed++, row);
            }
            draws->randoms[seed % draws->rows] = seed % 2 ? 0 : 1 - 0x1p-53;
            teams_run(3, 32, draw, draws);
            assert_drawn(kernels, draws, logits);
        }
}

/* Logits of a few values have ties, also at the cut of top-p. */
static void tokens_are_those_of_the_reference(void **state)
{
    drawn = borderline = 0;
    FOR_SIZES(i)
    {
        size_t rows = sizes[i].rows, width = sizes[i].width;
        size_t part = width > 64 ? (width / 2 + 63) / 64 * 64 : width;
        struct draws draws = {.rows = rows, .parts = {width, part, rows * part}};
        for (int kind = 0; kind < 4; kind++) {
            struct pair_of_arrays logits = numbers(2 * rows * part, kind == 1 ? 60 : 5);
            draws.options.tokens = kind % 2 ? width : width - width / 8 + 1;
            for (size_t j = 0; j < logits.count && kind >= 2; j++) {
                float tie = kind == 2 ? 0.5f * roundf(logits.floats[j]) : 3; /* -0 and 0, too */
                logits.floats[j] = j % 11 == 5 ? -INFINITY : tie;
                logits.bfloats[j] = (uint16_t)bfloat_of(logits.floats[j]);
            }
            draws.logits = logits.bfloats;
            draw_all(*state, &draws, logits.floats);
            drop(logits);
        }
    }
    print_message("# %zu of %zu draws are borderline\n", borderline, drawn);
    assert_true(borderline * 20 < drawn);
}

/* Nothing but no numbers, nothing but -infinity, and an infinity. */
static void without_probabilities_the_most_likely_token_is_drawn(void **state)
{
    static const float fill[] = {NAN, -INFINITY, 1, 1};
    enum { WIDTH = 264 };
    struct pair_of_arrays logits = nothing(4 * WIDTH);
    for (size_t j = 0; j < logits.count; j++)
        logits.floats[j] = fill[j / WIDTH];
    logits.floats[2 * WIDTH + 77] = logits.floats[2 * WIDTH + 99] = INFINITY;
    logits.floats[3 * WIDTH + 12] = NAN;
    for (size_t j = 0; j < logits.count; j++)
        logits.bfloats[j] = (uint16_t)bfloat_of(logits.floats[j]);
    struct draws draws = {.logits = logits.bfloats,
                          .rows = 4,
                          .parts = {WIDTH, WIDTH, 0},
                          .options = {.tokens = WIDTH}};
    draw_all(*state, &draws, logits.floats);
    assert_int_equal(draws.tokens[0], 0);
    assert_int_equal(draws.tokens[1], 0);
    assert_int_equal(draws.tokens[2], 77);
    drop(logits);
}

static void square_parts(const struct team *team, void *context)
{
    struct call *c = context;
    body_square_parts(team, c->parts, c->gradient, c->width);
}

static void adamw(const struct team *team, void *context)
{
    struct call *c = context;
    body_adamw(team, c->master, c->y, c->moment1, c->moment2, c->gradient, c->width, c->out,
               &c->step);
}

static void update_is_clipped_or_left_out(void **state)
{
    enum { COUNT = 1000 };
    const float clips[] = {0, 1, 1e9f}, extras[] = {0, INFINITY, NAN};
    for (size_t i = 0; i < 9; i++) {
        float *master = floats(COUNT, 1), *wanted = copy_of(master, COUNT);
        float *moment1 = floats(COUNT, 1), *wanted1 = copy_of(moment1, COUNT);
        float *moment2 = floats(COUNT, 1), *wanted2, *gradient = floats(COUNT, 3), parts[3];
        for (size_t j = 0; j < COUNT; j++)
            moment2[j] *= moment2[j];
        wanted2 = copy_of(moment2, COUNT);
        float squares = extras[i / 3], wanted_squares = squares;
        struct pair_of_arrays weights = numbers(COUNT, 1);
        struct kernel_adamw_step step = {0.01f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.3f, 0.2f, clips[i % 3]};
        struct call call = {.y = weights.bfloats,
                            .out = &squares,
                            .parts = parts,
                            .part_count = 3,
                            .gradient = gradient,
                            .master = master,
                            .moment1 = moment1,
                            .moment2 = moment2,
                            .width = COUNT,
                            .step = step};
        kernel_square_sum(*state, &wanted_squares, gradient, COUNT);
        kernel_adamw(*state, wanted, weights.floats, wanted1, wanted2, gradient, COUNT,
                     &wanted_squares, &step);
        run(square_parts, call);
        run_alone(add_total, call);
        run(adamw, call);
        if (i < 3)
            assert_near(&squares, &wanted_squares, 1, float_bound);
        assert_near(master, wanted, COUNT, float_bound);
        assert_near(moment1, wanted1, COUNT, float_bound);
        assert_near(moment2, wanted2, COUNT, float_bound);
        assert_same(weights);
        drop(weights);
        free(master), free(moment1), free(moment2), free(gradient);
        free(wanted), free(wanted1), free(wanted2);
    }
}

static void round_all(const struct team *team, void *context)
{
    struct call *c = context;
    body_round(team, c->y, c->master, c->width);
}

static void rounding_is_to_nearest(void **state)
{
    (void)state;
    const uint32_t bits[8] = {0x3f808000, 0x3f818000, 0x3f808001, 0x3f807fff,
                              0x7f7fffff, 0xff800000, 0x7f800001, 0x80000000};
    const uint16_t wanted[8] = {0x3f80, 0x3f82, 0x3f81, 0x3f80, 0x7f80, 0xff80, 0x7fc0, 0x8000};
    uint16_t *got = get(8 * sizeof *got);
    float *values = get(sizeof bits);
    memcpy(values, bits, sizeof bits);
    run(round_all, (struct call){.y = got, .master = values, .width = 8});
    assert_memory_equal(got, wanted, sizeof wanted);
    free(got), free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norm_is_of_the_sum),
        cmocka_unit_test(norm_goes_back),
        cmocka_unit_test(gate_goes_both_ways),
        cmocka_unit_test(sum_may_be_in_place),
        cmocka_unit_test(floats_are_added_and_then_rounded),
        cmocka_unit_test(embedding_goes_both_ways),
        cmocka_unit_test(loss_and_gradient_are_those_of_the_reference),
        cmocka_unit_test(tokens_are_those_of_the_reference),
        cmocka_unit_test(without_probabilities_the_most_likely_token_is_drawn),
        cmocka_unit_test(update_is_clipped_or_left_out),
        cmocka_unit_test(rounding_is_to_nearest),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
