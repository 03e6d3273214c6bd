/* Metrics from logs: the logs of tests/logs, single lines, streams in pieces, hostile output. */
#include "tests/unit/extracting.h"
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/metrics/extract.h"
#include "lib/text.h"
#include "worker/metrics/extract_main.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *log_path(const char *name, size_t size, const char *end)
{
    const char *source = getenv("SRC");
    return text_format("%s/tests/logs/%.*s%s", source ? source : ".", (int)size, name, end);
}

static void assert_log(const char *name, size_t name_size)
{
    static const size_t pieces[] = {1, 7, 1000, 1 << 20};
    struct extract_options options = {.kind = EXTRACT_AUTO};
    char *log_name = log_path(name, name_size, ".log"), *log, *expected;
    char *expected_name = log_path(name, name_size, ".jsonl");
    size_t size;
    assert_int_equal(file_read(log_name, 1 << 20, &log, &size, NULL), 0);
    assert_int_equal(file_read(expected_name, 1 << 20, &expected, NULL, NULL), 0);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        char *rows = rows_of(&options, log, size, pieces[i]);
        if (!text_equal(rows, expected))
            fail_msg("%s in pieces of %zu bytes gives\n%s", log_name, pieces[i], rows);
        free(rows);
    }
    free(log);
    free(expected);
    free(log_name);
    free(expected_name);
}

static void every_log_gives_the_expected_rows(void **state)
{
    (void)state;
    char *folder = log_path("", 0, "");
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (text_ends(entry->d_name, ".log")) {
            assert_log(entry->d_name, strlen(entry->d_name) - 4);
            count++;
        }
    assert_true(count >= 10);
    (void)closedir(dir); /* was only read */
    free(folder);
}

/* Blocks that name no language are examples: a line with an arrow is the row of the line before.
 * Each heading begins a new log. The last heading has no examples. */
static void the_examples_in_doc_metrics_are_true(void **state)
{
    (void)state;
    struct extract_options options = {.kind = EXTRACT_AUTO};
    const char *source = getenv("SRC");
    char *name = text_format("%s/doc/metrics.md", source ? source : "."), *page, *rest;
    struct text input = {0}, expected = {0};
    bool is_block = false, is_example = false;
    unsigned rows = 0;
    assert_int_equal(file_read(name, 1 << 20, &page, NULL, NULL), 0);
    rest = page;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (text_starts(line, "```")) {
            is_block = !is_block;
            is_example = is_block && text_equal(line, "```");
        } else if (!is_block && line[0] == '#') {
            assert_rows(&options, text_string(&input), text_string(&expected));
            text_fini(&input);
            text_fini(&expected);
        } else if (is_example) {
            bool is_row = text_starts(line, "-> ");
            text_addf(is_row ? &expected : &input, "%s\n", is_row ? line + 3 : line);
            rows += is_row;
        }
    }
    assert_true(rows > 30 && !input.size);
    free(page);
    free(name);
}

static void any_number_of_pairs_may_have_no_separator(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        {"step 10 loss 2.5 lr 0.01", "{\"step\": 10, \"loss\": 2.5, \"lr\": 0.01}\n"},
        {"[step 10] loss 2.5 grad norm 1.5", "{\"step\": 10, \"loss\": 2.5, \"grad_norm\": 1.5}\n"},
        {"loss 2.5 step 10 acc 0.5", "{\"step\": 10, \"loss\": 2.5, \"acc\": 0.5}\n"},
        {"step: 10 loss 2.5 lr: 0.01 auc 0.5",
         "{\"step\": 10, \"lr\": 0.01, \"loss\": 2.5, \"auc\": 0.5}\n"},
        {"step 10 lr 0.01 tok/s 1234 time 34ms",
         "{\"step\": 10, \"lr\": 0.01, \"tok_s\": 1234, \"time\": 34}\n"},
        {"epoch 3 train_loss 0.5 auc 0.75",
         "{\"step\": 3, \"epoch\": 3, \"train_loss\": 0.5, \"auc\": 0.75}\n"},
        {"step 10 loss 2.5 saving to disk", "{\"step\": 10, \"loss\": 2.5}\n"},
        {"epoch 3 train_loss 0.5 val_acc 0.6 auc 0.75 saving best",
         "{\"step\": 3, \"epoch\": 3, \"train_loss\": 0.5, \"val_acc\": 0.6}\n"},
        {"Epoch: 3 loss 0.5 improved", "{\"step\": 3, \"epoch\": 3, \"loss\": 0.5}\n"},
        {"step 10 wrote 5 files to 3 folders", ""},
        {"saw 10 samples in 3 batches took 5 seconds", ""},
        {"10 loss 2.5 lr 0.01", ""},
        {"the loss 2.5 was better than 3", ""},
        {"Resuming from step 500", ""},
    };
    assert_lines(cases, sizeof cases / sizeof *cases);
}

static void numbers_have_commas_units_and_exponents(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        {"a=1,234,567", "{\"a\": 1234567}\n"},
        {"a=1,23", ""},
        {"a=0,123 b=5", "{\"b\": 5}\n"},
        {"a=12345,678", ""},
        {"a=1e-3 b=1.5E+2 c=-.5 d=+2. e=1e400", "{\"a\": 0.001, \"b\": 150, \"c\": -0.5, "
                                                "\"d\": 2, \"e\": \"inf\"}\n"},
        {"a=5ms b=1.2GB c=3% d=11.5it/s e=7TFLOP/s/GPU",
         "{\"a\": 5, \"b\": 1.2, \"c\": 3, \"d\": 11.5, \"e\": 7}\n"},
        {"a: 5.0 ms, b: 1.2 GiB, c: 3 %", "{\"a\": 5, \"b\": 1.2, \"c\": 3}\n"},
        {"a=58.7K b=1.2M c=3B d=2k", "{\"a\": 58700, \"b\": 1200000, \"c\": 3000000000, "
                                     "\"d\": 2000}\n"},
        {"a=nan b=NaN c=inf d=-inf e=Infinity f=info g=nano",
         "{\"a\": \"nan\", \"b\": \"nan\", \"c\": \"inf\", \"d\": \"-inf\", \"e\": \"inf\"}\n"},
        {"a=0.1 b=123456789012345678 c=3.14159265358979323846",
         "{\"a\": 0.1, \"b\": 1.2345678901234568e+17, \"c\": 3.141592653589793}\n"},
        {"a=4.9406564584124654e-324 b=1.7976931348623157e308",
         "{\"a\": 4.94065645841247e-324, \"b\": 1.7976931348623157e+308}\n"},
    };
    assert_lines(cases, sizeof cases / sizeof *cases);
}

static void a_letter_is_a_unit_or_begins_a_name(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        {"step 1 time 0.5 s lr 0.01", "{\"step\": 1, \"time\": 0.5, \"lr\": 0.01}\n"},
        {"step: 1 time: 5 s", "{\"step\": 1, \"time\": 5}\n"},
        {"step 1 mem 12 G power 300 W lr 0.01",
         "{\"step\": 1, \"mem\": 12, \"power\": 300, \"lr\": 0.01}\n"},
        {"step 1 params 1.5 M lr 0.01", "{\"step\": 1, \"params\": 1500000, \"lr\": 0.01}\n"},
        {"step 1 D loss 0.5 G loss 1.5", "{\"step\": 1, \"d_loss\": 0.5, \"g_loss\": 1.5}\n"},
        {"step 1 t loss 0.5 s loss 1.5", "{\"step\": 1, \"t_loss\": 0.5, \"s_loss\": 1.5}\n"},
        {"step 1 x 0.5 s -0.25", "{\"step\": 1, \"x\": 0.5, \"s\": -0.25}\n"},
    };
    assert_lines(cases, sizeof cases / sizeof *cases);
}

static void nan_is_also_a_number_without_a_separator(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        {"step 2/9 | loss nan (+nanz)| norm inf | val loss NaN | dt 3ms",
         "{\"step\": 2, \"loss\": \"nan\", \"norm\": \"inf\", \"val_loss\": \"nan\", "
         "\"dt\": 3}\n"},
        {"iter 10: loss nan, time 45.2ms", "{\"step\": 10, \"loss\": \"nan\", \"time\": 45.2}\n"},
        {"loss nan", "{\"loss\": \"nan\"}\n"},
        {"step nan | loss 1.5", "{\"loss\": 1.5}\n"},
        {"step 3 | the gradient is nan", ""},
        {"step 3 | found nan in the gradient", ""},
        {"step 3 | loss nan detected", ""},
        {"user nan", ""},
    };
    assert_lines(cases, sizeof cases / sizeof *cases);
}

static void names_become_plain(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        {"Train/Loss=1 val-acc=2 top@1=3 x__y_=4", "{\"train_loss\": 1, \"val_acc\": 2, "
                                                   "\"top_1\": 3, \"x_y\": 4}\n"},
        {"Avg Train Loss (MSE): 1.5", "{\"avg_train_loss_mse\": 1.5}\n"},
        {"INFO Training loss: 4.5", "{\"training_loss\": 4.5}\n"},
        {"one two three four five six seven: 8.5", ""},
        {"loss=1 loss=2", "{\"loss\": 2}\n"},
        {"1b_loss=3", ""},
        {"step=4 error=0.5", "{\"step\": 4, \"error\": 0.5}\n"},
        {"_step=4 loss=1", "{\"step\": 4, \"loss\": 1}\n"},
    };
    assert_lines(cases, sizeof cases / sizeof *cases);
}

static void a_line_without_a_step_has_the_last_step(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        {"loss=1", "{\"loss\": 1}\n"},
        {"step 5\nloss=1\nstep=6 loss=2\nloss=3",
         "{\"step\": 5, \"loss\": 1}\n{\"step\": 6, \"loss\": 2}\n{\"step\": 6, \"loss\": 3}\n"},
        {"iter=7 loss=1", "{\"step\": 7, \"loss\": 1}\n"},
        {"Iteration: 8, loss: 1", "{\"step\": 8, \"loss\": 1}\n"},
        {"step=3 global_step=9 loss=1", "{\"step\": 9, \"loss\": 1}\n"},
        {"step=1.5 loss=1", "{\"loss\": 1}\n"},
        {"epoch=2 loss=1\nloss=2", "{\"step\": 2, \"epoch\": 2, \"loss\": 1}\n"
                                   "{\"step\": 2, \"loss\": 2}\n"},
        {"step=7\nepoch=2 loss=1", "{\"step\": 7, \"epoch\": 2, \"loss\": 1}\n"},
    };
    assert_lines(cases, sizeof cases / sizeof *cases);
}

/* Programs print -1 for "none yet". The daemon takes no metric of such a step. */
static void a_negative_number_is_no_step(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        {"step -1 | loss 5.5", "{\"loss\": 5.5}\n"},
        {"step=4 loss=2\nstep=-1 loss=1",
         "{\"step\": 4, \"loss\": 2}\n{\"step\": 4, \"loss\": 1}\n"},
        {"step=0 loss=1", "{\"step\": 0, \"loss\": 1}\n"},
        {"iter=-1 loss=1", "{\"iter\": -1, \"loss\": 1}\n"},
        {"Namespace(batch_size=64, epoch=-1, lr=0.5)",
         "{\"batch_size\": 64, \"epoch\": -1, \"lr\": 0.5}\n"},
        {"Epoch -1: 10%|# | 5/100 [0, loss=1]", "{\"loss\": 1}\n"},
        {" 10%|# | -5/100 [0, loss=1]", "{\"loss\": 1}\n"},
        {"{\"step\": -1, \"loss\": 1}", "{\"loss\": 1}\n"},
    };
    assert_lines(cases, sizeof cases / sizeof *cases);
    struct extract_options options = {.kind = EXTRACT_FILE};
    assert_rows(&options, "{\"step\": -1, \"loss\": 1}", "{\"loss\": 1}\n");
    options = (struct extract_options){.kind = EXTRACT_PATTERN,
                                       .pattern = "it (?<step>\\S+) L (?<loss>\\S+)"};
    assert_rows(&options, "it -1 L 2", "{\"loss\": 2}\n");
}

static void a_count_that_restarts_in_each_epoch_becomes_one_count(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        {"Epoch [1/10], Step [600/600], Loss: 2.5\nEpoch [2/10], Step [100/600], Loss: 1.5",
         "{\"step\": 1200, \"epoch\": 1, \"loss\": 2.5}\n"
         "{\"step\": 1300, \"epoch\": 2, \"loss\": 1.5}\n"},
        {"| epoch   1 |   200/ 2983 batches | lr 5.00 | ms/batch 9.5 | loss  8.15 | ppl  3463.5",
         "{\"step\": 3183, \"epoch\": 1, \"lr\": 5, \"ms_batch\": 9.5, \"loss\": 8.15, "
         "\"ppl\": 3463.5}\n"},
        {"Epoch: [0][ 10/100]\tTime 0.5 (0.75)\tLoss 2.5 (3.5)",
         "{\"step\": 10, \"epoch\": 0, \"time\": 0.5, \"loss\": 2.5}\n"},
        {"Train Epoch: 2 [640/60000 (1%)]\tLoss: 2.5",
         "{\"step\": 120640, \"epoch\": 2, \"loss\": 2.5}\n"},
        {"INFO Epoch 3/9 - batch 7/50 - loss: 2.5",
         "{\"step\": 157, \"epoch\": 3, \"loss\": 2.5}\n"},
        {"Epoch [1/10], Step [100/600], global_step: 7, loss: 2.5",
         "{\"step\": 7, \"epoch\": 1, \"loss\": 2.5}\n"},
        /* the step may be that of the whole run, and a part of an epoch is not a count */
        {"[Epoch 2] step 50/1000 loss 2.0", "{\"step\": 50, \"epoch\": 2, \"loss\": 2}\n"},
        {"Epoch [1/10], Loss: 2.5", "{\"step\": 1, \"epoch\": 1, \"loss\": 2.5}\n"},
        {"Epoch [1/10], Time [3/4], Loss: 2.5", "{\"step\": 1, \"epoch\": 1, \"loss\": 2.5}\n"},
    };
    assert_lines(cases, sizeof cases / sizeof *cases);
    struct extract_options options = {.kind = EXTRACT_AUTO, .step_name = "step"};
    assert_rows(&options, "Epoch [1/10], Step [100/600], Loss: 2.5",
                "{\"step\": 100, \"epoch\": 1, \"loss\": 2.5}\n");
}

static void the_name_of_the_step_can_be_given(void **state)
{
    (void)state;
    struct extract_options options = {.kind = EXTRACT_AUTO, .step_name = "tokens/seen"};
    assert_rows(&options, "\x1b[1mstep=1 tokens_seen=500 loss=2\x1b(B\x1b[m",
                "{\"step\": 500, \"loss\": 2}\n");
    options.step_name = "step";
    assert_rows(&options, "iter=3 loss=2", "{\"step\": 3, \"loss\": 2}\n");
}

/* Each line might be a state of a bar until the line feed comes. */
static void a_line_that_ends_with_a_carriage_return_keeps_its_values(void **state)
{
    (void)state;
    struct text line = {0};
    for (int i = 0; i < EXTRACT_VALUES_MAX; i++)
        text_addf(&line, "%sa%d=%d", i ? " " : "", i, i);
    struct extract_options options = {.kind = EXTRACT_AUTO};
    char *plain = rows_of(&options, text_string(&line), line.size, 4096);
    text_add(&line, "\r\n");
    assert_rows(&options, text_string(&line), plain);
    assert_non_null(strstr(plain, "\"a255\": 255}"));
    free(plain);
    text_fini(&line);
}

static void a_file_of_json_lines_is_read_strictly(void **state)
{
    (void)state;
    struct extract_options options = {.kind = EXTRACT_FILE};
    assert_rows(&options,
                "{\"step\": 1, \"loss\": NaN}\nstep=2 loss=3\n{\"step\": 3, \"lo\n\n"
                "  {\"step\": 4, \"a\": {\"b\": 1}}\r\n[1]\n{}\n{\"step\": 5, \"x\": 1}",
                "{\"step\": 1, \"loss\": \"nan\"}\n{\"step\": 4, \"a_b\": 1}\n"
                "{\"step\": 5, \"x\": 1}\n");
}

/* Returns so many bytes of `piece`, again and again. */
static char *flood(const char *piece, size_t size)
{
    char *bytes = malloc(size + 1);
    assert_non_null(bytes);
    size_t piece_size = strlen(piece);
    for (size_t i = 0; i < size; i++)
        bytes[i] = piece[i % piece_size];
    bytes[size] = '\0';
    return bytes;
}

static void hostile_output_costs_neither_memory_nor_time(void **state)
{
    (void)state;
    static const char *const pieces[] = {"x",       "{",      "[",        "(",
                                         "{'a':",   "a=1 ",   "\x1b[",    "\x1b",
                                         "\r",      "x 1 s ", "%|1|",     "1,234",
                                         "'",       "a(",     "tensor(",  "a=[1,",
                                         "\xff",    "-",      "a b: ",    "0:00:00 a:b:1 ",
                                         "=",       ":",      "%|",       "1 a|",
                                         "{'a': [", "\x1b]",  "epoch 1 ", "epoch 1 batch 2/"};
    struct extract_options options = {.kind = EXTRACT_AUTO};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        char *bytes = flood(pieces[i], 4 << 20);
        char *rows = rows_of(&options, bytes, 4 << 20, 65536);
        assert_true(strlen(rows) < EXTRACT_LINE_MAX);
        free(rows);
        free(bytes);
    }
}

static void the_end_of_a_long_line_is_left_out(void **state)
{
    (void)state;
    struct extract_options options = {.kind = EXTRACT_AUTO};
    struct text text = {0};
    char *padding = flood("x ", 100000);
    text_addf(&text, "loss=1 %s lost=2\nloss=3\n", padding);
    assert_rows(&options, text_string(&text), "{\"loss\": 1}\n{\"loss\": 3}\n");
    free(padding);
    text_fini(&text);
}

static void binary_lines_have_no_metrics(void **state)
{
    (void)state;
    struct extract_options options = {.kind = EXTRACT_AUTO};
    static const char bytes[] = "loss=1\0loss=2\nloss=3\n";
    char *rows = rows_of(&options, bytes, sizeof bytes - 1, 100);
    assert_string_equal(rows, "{\"loss\": 3}\n");
    free(rows);
}

static void the_names_of_a_stream_are_bounded(void **state)
{
    (void)state;
    struct extract_options options = {.kind = EXTRACT_AUTO};
    struct text text = {0};
    for (int i = 0; i < 3 * EXTRACT_NAMES_MAX; i++)
        text_addf(&text, "n%d=%d\n", i, i);
    text_add(&text, "n5=7\n");
    char *rows = rows_of(&options, text_string(&text), text.size, 4096);
    assert_non_null(strstr(rows, "{\"n999\": 999}\n{\"n5\": 7}\n"));
    assert_null(strstr(rows, "n1000"));
    free(rows);
    text_fini(&text);
}

static char *rows_after_layers(const char *line, const char *wanted, char **ret_left_out)
{
    struct extract_options options = {.kind = EXTRACT_AUTO};
    struct extract *extract;
    struct text text = {0}, rows = {0};
    for (int i = 0; i < EXTRACT_NAMES_MAX * 3 / 2; i++)
        text_addf(&text, "layer%d_weight: 7\n", i);
    assert_int_equal(extract_new(&options, collect, &rows, &extract, NULL), 0);
    extract_want(extract, wanted);
    extract_feed(extract, text_string(&text), text.size);
    text_clear(&rows);
    extract_feed(extract, line, strlen(line));
    *ret_left_out = extract_left_out(extract);
    extract_free(extract);
    text_fini(&text);
    return text_steal(&rows);
}

static void many_names_of_layers_leave_room_for_known_and_wanted_names(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        {"step=5 loss=2 other=1\n", "{\"step\": 5, \"loss\": 2}\n"},
        {"epoch=5 val_acc=2 other=1\n", "{\"step\": 5, \"epoch\": 5, \"val_acc\": 2}\n"},
        {"step=5 my_speed=2\n", "{\"step\": 5, \"my_speed\": 2}\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *left_out, *rows = rows_after_layers(cases[i].line, "my_speed", &left_out);
        assert_string_equal(rows, cases[i].rows);
        assert_non_null(strstr(left_out, "more than 1000 names of metrics"));
        assert_non_null(strstr(left_out, "'layer1000_weight'"));
        free(rows);
        free(left_out);
    }
}

static void collect_step(void *context, const struct extract_row *row)
{
    text_addf(context, "%s%lld ", row->has_step ? "=" : "", (long long)row->step);
}

static void rows_without_any_step_count_rounds(void **state)
{
    (void)state;
    struct extract_options options = {.kind = EXTRACT_AUTO};
    struct extract *extract;
    struct text text = {0};
    static const char log[] = "a=1\nb=2\na=3 c=1\nb=4\nb=5\nd=1 b=1\nstep=7 a=1\na=2\n";
    assert_int_equal(extract_new(&options, collect_step, &text, &extract, NULL), 0);
    extract_feed(extract, log, sizeof log - 1);
    assert_string_equal(text_string(&text), "1 1 2 2 3 4 =7 =7 ");
    extract_free(extract);
    text_fini(&text);
}

static void options_come_from_the_resolved_workflow(void **state)
{
    (void)state;
    struct extract_options options;
    json_t *json = json_pack("{s:s, s:s}", "kind", "pattern", "pattern", "(?<a>1)");
    assert_int_equal(extract_options_from_json(json, &options, NULL), 0);
    assert_int_equal(options.kind, EXTRACT_PATTERN);
    assert_string_equal(options.pattern, "(?<a>1)");
    (void)json_object_set_new(json, "kind", json_string("guess"));
    assert_int_equal(extract_options_from_json(json, &options, NULL), -EINVAL);
    (void)json_object_set_new(json, "kind", json_string("auto"));
    assert_int_equal(extract_options_from_json(json, &options, NULL), 0);
    assert_int_equal(options.kind, EXTRACT_AUTO);
    json_decref(json);
}

/* Runs `phase-worker extract` with this input. Returns its exit code, and what it printed. */
static int run_main(char **words, const char *input, char *output, size_t size)
{
    int in[2], out[2], status;
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(in[0], STDIN_FILENO); /* the test fails if it does not work */
        (void)dup2(out[1], STDOUT_FILENO);
        (void)close(in[1]); /* otherwise the end would never be seen */
        (void)dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        _exit(extract_main(words));
    }
    (void)close(in[0]);
    (void)close(out[1]);
    assert_int_equal(write(in[1], input, strlen(input)), (ssize_t)strlen(input));
    (void)close(in[1]);
    size_t used = 0;
    ssize_t got;
    while ((got = read(out[0], output + used, size - 1 - used)) > 0)
        used += (size_t)got;
    output[used] = '\0';
    (void)close(out[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
}

static void the_program_prints_one_object_a_line(void **state)
{
    (void)state;
    static const struct {
        const char *argument, *input, *output;
        int exit_code;
    } cases[] = {
        {NULL, "step 200/1000 | loss: 5.147944 | tok/sec: 58,679\n",
         "{\"step\": 200, \"loss\": 5.147944, \"tok_sec\": 58679}\n", 0},
        {"--file", "loss=1\n{\"loss\": 2}", "{\"loss\": 2}\n", 0},
        {"--pattern=L(?<l>.)", "L3", "{\"l\": 3}\n", 0},
        {"--step=n", "n=3 l=4", "{\"step\": 3, \"l\": 4}\n", 0},
        {"--pattern=(", "", "", 2},
        {"--nonsense", "", "", 2},
        {"file", "", "", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char output[1024];
        char *argument = cases[i].argument ? xstrdup(cases[i].argument) : NULL;
        char *words[] = {argument, NULL};
        assert_int_equal(run_main(words, cases[i].input, output, sizeof output),
                         cases[i].exit_code);
        assert_string_equal(output, cases[i].output);
        free(argument);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_log_gives_the_expected_rows),
        cmocka_unit_test(numbers_have_commas_units_and_exponents),
        cmocka_unit_test(a_letter_is_a_unit_or_begins_a_name),
        cmocka_unit_test(nan_is_also_a_number_without_a_separator),
        cmocka_unit_test(the_examples_in_doc_metrics_are_true),
        cmocka_unit_test(any_number_of_pairs_may_have_no_separator),
        cmocka_unit_test(names_become_plain),
        cmocka_unit_test(a_line_without_a_step_has_the_last_step),
        cmocka_unit_test(a_negative_number_is_no_step),
        cmocka_unit_test(a_count_that_restarts_in_each_epoch_becomes_one_count),
        cmocka_unit_test(the_name_of_the_step_can_be_given),
        cmocka_unit_test(a_line_that_ends_with_a_carriage_return_keeps_its_values),
        cmocka_unit_test(a_file_of_json_lines_is_read_strictly),
        cmocka_unit_test(hostile_output_costs_neither_memory_nor_time),
        cmocka_unit_test(the_end_of_a_long_line_is_left_out),
        cmocka_unit_test(binary_lines_have_no_metrics),
        cmocka_unit_test(the_names_of_a_stream_are_bounded),
        cmocka_unit_test(many_names_of_layers_leave_room_for_known_and_wanted_names),
        cmocka_unit_test(rows_without_any_step_count_rounds),
        cmocka_unit_test(options_come_from_the_resolved_workflow),
        cmocka_unit_test(the_program_prints_one_object_a_line),
    };
    return cmocka_run_group_tests_name("extract", tests, NULL, NULL);
}
