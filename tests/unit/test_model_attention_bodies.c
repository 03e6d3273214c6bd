/* The bodies of attention's own GPU kernels and of the rotary positions, run on a processor,
 * against the reference of the CPU: queries that share keys, and teams that are smaller than a
 * sequence. */
#include "tests/unit/model_arrays.h"

#include "worker/model/cuda/attention_bodies.h"
#include "worker/model/cuda/row_bodies.h"

static const struct kernel_attention_shape shapes[] = {
    {1, 1, 1, 1, 16}, {2, 37, 4, 2, 16}, {1, 70, 3, 3, 32}, {2, 5, 6, 1, 128}, {1, 33, 2, 1, 48}};

#define FOR_SHAPES(i) for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)

static size_t qkv_row(const struct kernel_attention_shape *shape)
{
    return (shape->heads + 2 * shape->kv_heads) * shape->head_width;
}

static void rotary(const struct team *team, void *context)
{
    struct call *c = context;
    body_rotary(team, c->y, c->gain, c->ids, &c->shape, c->factor);
}

static void positions_turn_forth_and_back(void **state)
{
    FOR_SHAPES(i)
    {
        const struct kernel_attention_shape *shape = &shapes[i];
        const uint32_t places[] = {3, 8}, *firsts = i % 2 ? places : NULL;
        struct pair_of_arrays qkv = numbers(shape->batch * shape->sequence * qkv_row(shape), 1);
        float *table = floats((8 + shape->sequence) * shape->head_width, 1);
        struct call call = {
            .y = qkv.bfloats, .gain = table, .ids = firsts, .shape = *shape, .factor = 1};
        kernel_rotary(*state, qkv.floats, table, firsts, shape, KERNEL_FORWARD);
        run(rotary, call);
        assert_same(qkv);
        call.factor = -1;
        kernel_rotary(*state, qkv.floats, table, firsts, shape, KERNEL_BACKWARD);
        run(rotary, call);
        assert_same(qkv);
        drop(qkv);
        free(table);
    }
}

/* Runs with blocks that are smaller than the sequence, so that several turns are needed. */
static void run_blocks(void (*body)(const struct team *team, void *context), struct call call)
{
    teams_run(4, call.shape.head_width > 32 ? 64 : 16, body, &call);
}

static void attention(const struct team *team, void *context)
{
    struct call *c = context;
    body_attention(team, c->y, c->out, c->a, &c->shape);
}

static void attention_dq(const struct team *team, void *context)
{
    struct call *c = context;
    body_attention_dq(team, c->state, c->b, c->y, c->out, c->a, &c->shape);
}

static void attention_dkv(const struct team *team, void *context)
{
    struct call *c = context;
    body_attention_dkv(team, c->state, c->b, c->y, c->out, c->a, &c->shape);
}

static void attention_goes_both_ways(void **state)
{
    FOR_SHAPES(i)
    {
        const struct kernel_attention_shape *shape = &shapes[i];
        size_t rows = shape->batch * shape->sequence;
        size_t area = rows * shape->heads * shape->head_width;
        struct pair_of_arrays qkv = numbers(rows * qkv_row(shape), 2), y = nothing(area);
        struct pair_of_arrays dy = numbers(area, 1), dqkv = nothing(rows * qkv_row(shape));
        float *kept = get(kernel_attention_kept(shape) * sizeof *kept);
        float *own_kept = get(rows * shape->heads * sizeof *own_kept);
        struct call call = {.y = y.bfloats,
                            .state = dqkv.bfloats,
                            .out = own_kept,
                            .a = qkv.bfloats,
                            .b = dy.bfloats,
                            .shape = *shape};
        kernel_attention(*state, y.floats, kept, qkv.floats, shape);
        run_blocks(attention, call);
        assert_same(y);
        kernel_attention_backward(*state, dqkv.floats, dy.floats, y.floats, kept, qkv.floats,
                                  shape);
        run_blocks(attention_dq, call);
        run_blocks(attention_dkv, call);
        assert_same(dqkv);
        drop(qkv), drop(y), drop(dy), drop(dqkv);
        free(kept), free(own_kept);
    }
}

static void keep_newest(const struct team *team, void *context)
{
    struct call *c = context;
    body_keep_newest(team, c->y, c->state, c->a, &c->pages, &c->shape);
}

static struct split split;

static void look_newest(const struct team *team, void *context)
{
    struct call *c = context;
    body_look_newest(team, c->y, c->state, c->a, &c->pages, &c->shape, &split);
}

static void join_newest(const struct team *team, void *context)
{
    struct call *c = context;
    body_join_newest(team, (uint16_t *)(uintptr_t)c->b, &c->pages, &c->shape, &split);
}

/* Cuts keys after every third one, and takes three rows at once. */
static void attend_newest(struct call call)
{
    const struct kernel_attention_shape *shape = &call.shape;
    split = (struct split){.keys = 3, .places = (call.pages.row * KERNEL_PAGE + 2) / 3};
    size_t part = shape->heads * split.places * (SPLIT_MORE + shape->head_width);
    split.parts = get(3 * part * sizeof *split.parts);
    for (; split.first < shape->batch; split.first += 3) {
        for (size_t i = 0; i < 3 * part; i++)
            split.parts[i] = NAN; /* of places that no key reaches */
        split.rows = shape->batch - split.first < 3 ? shape->batch - split.first : 3;
        run_blocks(look_newest, call);
        run(join_newest, call);
    }
    free(split.parts);
}

static void new_tokens_see_what_is_kept_and_each_other(void **state)
{
    FOR_SHAPES(i)
    {
        struct kernel_attention_shape shape = shapes[i];
        /* Two tokens of each sequence, the later one first. The second sequence is shorter. The
         * pages are in falling order, and one page is left. */
        uint32_t positions[4], table[20];
        size_t row = shape.sequence / KERNEL_PAGE + 1, count = shape.batch * row + 1;
        size_t kept = count * shape.kv_heads * KERNEL_PAGE * shape.head_width;
        for (uint32_t j = 0; j < 2 * shape.batch; j++)
            positions[j] = (uint32_t)(shape.sequence / (j % shape.batch ? 3 : 1) - j / shape.batch);
        for (uint32_t j = 0; j < 2 * shape.batch * row; j++)
            table[j] = (uint32_t)(count - 1 - j % (shape.batch * row));
        const struct kernel_pages pages = {positions, table, row};
        shape.batch *= 2;
        shape.sequence = 1;
        struct pair_of_arrays qkv = numbers(shape.batch * qkv_row(&shape), 2);
        struct pair_of_arrays keys = numbers(kept, 2), values = numbers(kept, 1);
        struct pair_of_arrays y = nothing(shape.batch * shape.heads * shape.head_width);
        struct call call = {.y = keys.bfloats,
                            .state = values.bfloats,
                            .a = qkv.bfloats,
                            .b = y.bfloats,
                            .pages = pages,
                            .shape = shape};
        kernel_attention_newest(*state, y.floats, keys.floats, values.floats, qkv.floats, &pages,
                                &shape);
        run(keep_newest, call);
        attend_newest(call);
        assert_same(y);
        assert_same(keys);
        assert_same(values);
        drop(qkv), drop(keys), drop(values), drop(y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_turn_forth_and_back),
        cmocka_unit_test(attention_goes_both_ways),
        cmocka_unit_test(new_tokens_see_what_is_kept_and_each_other),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
