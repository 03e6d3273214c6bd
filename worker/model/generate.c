/* The loop of generation. All ranks of the group read the same lines. The first rank draws the
 * tokens, gives them to the others, and writes the texts.
 *
 * A step has KERNEL_STEP_ROWS rows. Each line whose prompt is read takes one row, for the token
 * that was drawn last. The other rows read prompts, in the order of the lines. So a prompt is read
 * in few steps, and no line waits for the prompt of another line. A line that has ended makes room
 * for the next one at once. Texts wait in memory until all lines before them are written. If the
 * pool of pages is empty, the last of the running lines goes back to the queue with the tokens that
 * it has. The model reads these tokens again later. The keys and values get the same bits again, so
 * the text is the same. The running lines keep the order of the input, so the first of them always
 * goes on. */
#include "worker/model/generate.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/option.h"
#include "lib/text.h"
#include "worker/model/checkpoint.h"
#include "worker/model/decode.h"
#include "worker/model/device.h"
#include "worker/model/group.h"
#include "worker/model/model.h"
#include "worker/model/prompts.h"
#include "worker/model/random.h"
#include "worker/model/stop.h"
#include "worker/model/tokenizer.h"
#include "worker/model/vocabulary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_MAX = 256, TEXT_MAX = 8192 };

static const char usage[] =
    "usage: phase-model generate --model PATH --input FILE --output FILE [OPTION VALUE]...\n"
    "\n"
    "Continues each line of a file. SIGTERM, SIGUSR1 and SIGUSR2 stop it after the lines that it\n"
    "works on; the same command continues with the next lines. For every --batch-size lines it\n"
    "prints step (lines done), tok/sec and lines/step (the mean number of lines that it works on\n"
    "at once). Options, with their defaults in brackets:\n";

/* A line that has begun. */
struct sequence {
    uint32_t *tokens; /* of the prompt, then of the text; NULL when it has ended */
    size_t prompt_count, count;
    size_t rows; /* of the next step */
    struct decode_kept kept;
    struct text text;
};

struct generate {
    const struct generate_options *options;
    struct model_shape shape;
    size_t context; /* tokens of a prompt that are read */
    size_t length;  /* tokens of the longest line */
    size_t pages;
    struct vocabulary vocabulary;
    struct tokenizer tokenizer;
    struct kernels *kernels;
    struct model model;
    struct group group;
    struct decode *decode;
    struct prompts prompts;
    struct sequence **sequences; /* of each line; NULL: it has not begun, or it is written */
    size_t running[BATCH_MAX];   /* lines that have pages, in the order of the input */
    size_t running_count;
    size_t next; /* the first line of the queue; later lines may have ended already */
    size_t done; /* lines that are written */
    bool is_stopping;
    size_t generated; /* tokens since the start */
    size_t steps;
    size_t line_steps; /* the sum of running lines over the steps */
};

int generate_read(struct generate_options *options, char **words)
{
    *options = (struct generate_options){0};
    const struct option_rule rules[] = {
        {"model", 0, "PATH", "checkpoint of train; required", .text = &options->model,
         .is_required = true},
        {"input", 0, "FILE", "one prompt on each line; required", .text = &options->input,
         .is_required = true},
        {"output", 0, "FILE", "JSON lines, continued if the file exists; required",
         .text = &options->output, .is_required = true},
        {"vocabulary", 0, "FILE",
         "vocabulary of the shard that the model was trained on; empty: bytes",
         .text = &options->vocabulary, .initial = ""},
        {"tp", 0, "N",
         "processes that share each matrix; a power of two that divides heads, kv-heads and hidden",
         .large = &options->tensor, .least = 1, .most = GROUP_SIZE_MAX, .initial = "1"},
        {"device", 0, "NAME", DEVICE_HELP, .text = &options->device, .initial = "auto"},
        {"batch-size", 0, "N", "most lines at once", .large = &options->batch, .least = 1,
         .most = BATCH_MAX, .initial = "8"},
        {"cache", 0, "N",
         "tokens of all lines whose keys and values are kept; 0: enough for all lines at once",
         .large = &options->cache, .most = 1e9, .initial = "0"},
        {"context", 0, "N",
         "how many of the last tokens of a prompt are read; 0: what rows of training leave for "
         "them",
         .large = &options->context, .most = TEXT_MAX, .initial = "0"},
        {"bytes", 0, "N", "most bytes to write; the end of a line ends the text",
         .large = &options->bytes, .least = 1, .most = TEXT_MAX, .initial = "64"},
        {"temperature", 0, "X",
         "divides the logits of the tokens that are drawn; 0: always the most likely token",
         .decimal = &options->temperature, .most = 100, .initial = "0"},
        {"top-p", 0, "X",
         "draw only from the most likely tokens, which have this probability together",
         .decimal = &options->top_p, .most = 1, .initial = "1"},
        {"seed", 0, "N", "seed of the draws", .large = &options->seed, .most = 1e15,
         .initial = "1"},
        {0},
    };
    struct error err;
    int exit_code = option_main("phase-model generate", usage, words, rules, NULL);
    if (exit_code >= 0 || !(options->tensor & (options->tensor - 1)))
        return exit_code;
    error_set(&err, -ERANGE, "--tp %" PRIu64 ": must be a power of two", options->tensor);
    return option_refuse("phase-model generate", &err);
}

/* Whether a model with this digest was trained on bytes. */
static bool is_of_bytes(const uint8_t *digest)
{
    struct vocabulary bytes;
    vocabulary_init_bytes(&bytes);
    bool is_same = memcmp(bytes.digest, digest, sizeof bytes.digest) == 0;
    vocabulary_fini(&bytes);
    return is_same;
}

static int load_vocabulary(struct generate *generate, const uint8_t *digest, struct error *err)
{
    const char *path = generate->options->vocabulary, *model = generate->options->model;
    struct vocabulary *vocabulary = &generate->vocabulary;
    int status = 0;
    if (*path)
        status = vocabulary_load(vocabulary, path, err);
    else
        vocabulary_init_bytes(vocabulary);
    if (status < 0 || (memcmp(vocabulary->digest, digest, sizeof vocabulary->digest) == 0 &&
                       vocabulary->tokens <= generate->shape.vocabulary))
        return status;
    if (!*path)
        return error_set(err, -EINVAL, "--vocabulary is missing: %s is not a model of bytes",
                         model);
    if (is_of_bytes(digest))
        return error_set(err, -EINVAL,
                         "--vocabulary %s: %s is a model of bytes: leave the option out", path,
                         model);
    return error_set(err, -EINVAL, "--vocabulary %s: %s was trained with another vocabulary", path,
                     model);
}

/* The model knows no positions after the length of a row of training. So the prompt gets what the
 * text leaves of this length, but at least half of it. */
static int read_shape(struct generate *generate, struct error *err)
{
    const struct generate_options *options = generate->options;
    size_t sequence;
    uint8_t digest[VOCABULARY_DIGEST];
    int status = checkpoint_shape(options->model, &generate->shape, &sequence, digest, err);
    if (status == 0)
        status = load_vocabulary(generate, digest, err);
    if (status < 0)
        return status;
    unsigned tensor = (unsigned)options->tensor;
    if (decode_group_max(&generate->shape) % tensor)
        return error_set(err, -ERANGE,
                         "--tp %u: the model has %u heads and %u kv-heads; --tp must divide both, "
                         "and the width %u of its MLP",
                         tensor, generate->shape.heads, generate->shape.kv_heads,
                         generate->shape.hidden);
    struct kernels_needs needs = model_needs(&generate->shape, sequence);
    struct error why;
    needs.hidden /= tensor;
    if (kernels_check(&needs, &why) < 0)
        return error_set(err, -ERANGE, "--tp %u: for the share of each rank %s", tensor,
                         why.message);
    size_t bytes = (size_t)options->bytes, half = (sequence + 1) / 2;
    size_t left = sequence > bytes + half ? sequence - bytes : half;
    generate->context = options->context ? (size_t)options->context : left;
    generate->length = generate->context + bytes;
    size_t pages = decode_pages(generate->length);
    generate->pages =
        options->cache ? (size_t)options->cache / KERNEL_PAGE : (size_t)options->batch * pages;
    if (generate->pages < pages)
        return error_set(err, -ERANGE, "--cache %" PRIu64 ": the longest line needs %zu",
                         options->cache, pages * KERNEL_PAGE);
    return 0;
}

/* Each rank of a group loads its share of the model: a GPU does not survive fork(). */
static int load(struct generate *generate, struct error *err)
{
    const struct generate_options *options = generate->options;
    struct ranks *ranks = &generate->group.ranks;
    generate->kernels = kernels_new((int)ranks->rank, err);
    if (!generate->kernels)
        return err->code;
    int status = model_init(&generate->model, generate->kernels, &generate->shape, generate->length,
                            MODEL_DECODES, (struct model_rank){ranks->rank, ranks->size}, err);
    if (status == 0)
        status = checkpoint_load_weights(options->model, &generate->model, err);
    if (status < 0)
        return status;
    status = kernels_join(generate->kernels, ranks, err);
    if (status < 0)
        return status;
    generate->decode = decode_new(&generate->model, (size_t)options->batch, KERNEL_STEP_ROWS,
                                  generate->length, generate->pages);
    return kernels_status(generate->kernels, err);
}

/* Begins with the last tokens of the prompt. An empty line is replaced by the end of a line. */
static struct sequence *sequence_new(struct generate *generate, const struct prompt *prompt)
{
    const uint8_t *bytes = prompt->size ? prompt->bytes : (const uint8_t *)"\n";
    size_t size = prompt->size ? prompt->size : 1;
    struct sequence *sequence = xcalloc(1, sizeof *sequence);
    struct text all = {0};
    for (size_t at = 0; at < size;) {
        uint32_t word[VOCABULARY_TOKEN_SIZE_MAX];
        size_t count;
        at += tokenizer_next(&generate->tokenizer, bytes + at, size - at, word, &count);
        text_add_bytes(&all, word, count * sizeof *word);
    }
    sequence->tokens = xcalloc(generate->length, sizeof *sequence->tokens);
    size_t kept = generate->context * sizeof *sequence->tokens;
    kept = all.size < kept ? all.size : kept;
    memcpy(sequence->tokens, all.data + all.size - kept, kept);
    text_fini(&all);
    sequence->prompt_count = sequence->count = kept / sizeof *sequence->tokens;
    return sequence;
}

static void sequence_free(struct sequence *sequence, struct decode *decode)
{
    if (!sequence)
        return;
    decode_release(decode, &sequence->kept);
    text_fini(&sequence->text);
    free(sequence->tokens);
    free(sequence);
}

/* Takes a token that was drawn. Returns whether it ends the text. */
static bool take_token(struct generate *generate, struct sequence *sequence, uint32_t token)
{
    size_t size, room = (size_t)generate->options->bytes - sequence->text.size;
    const uint8_t *bytes = vocabulary_token(&generate->vocabulary, token, &size);
    const uint8_t *end = memchr(bytes, '\n', size);
    size_t kept = end ? (size_t)(end - bytes) : size;
    sequence->tokens[sequence->count++] = token;
    generate->generated++;
    text_add_bytes(&sequence->text, bytes, kept < room ? kept : room);
    return end || kept >= room;
}

static struct sequence *running_at(const struct generate *generate, size_t index)
{
    return generate->sequences[generate->running[index]];
}

/* Lets lines of the queue run as long as there is room and pages for all tokens that they have. */
static void admit(struct generate *generate)
{
    while (generate->running_count < generate->options->batch &&
           generate->next < generate->prompts.count) {
        struct sequence **sequence = &generate->sequences[generate->next];
        if (!*sequence)
            *sequence = sequence_new(generate, &generate->prompts.prompts[generate->next]);
        if ((*sequence)->tokens) {
            if (!decode_reserve(generate->decode, &(*sequence)->kept, (*sequence)->count))
                return;
            generate->running[generate->running_count++] = generate->next;
        }
        generate->next++;
    }
}

/* Gets each running line the pages for all its tokens. If pages are missing, the last lines go back
 * to the queue. */
static void make_room(struct generate *generate)
{
    for (size_t i = 0; i < generate->running_count; i++) {
        struct sequence *sequence = running_at(generate, i);
        while (i < generate->running_count &&
               !decode_reserve(generate->decode, &sequence->kept, sequence->count)) {
            generate->next = generate->running[--generate->running_count];
            decode_release(generate->decode, &generate->sequences[generate->next]->kept);
        }
    }
}

/* Shares the rows of a step among the running lines. A line with one token to read gets one row,
 * before the others read prompts. */
static void share_rows(struct generate *generate)
{
    _Static_assert(KERNEL_STEP_ROWS - BATCH_MAX > 0, "some rows are left for prompts");
    size_t left = KERNEL_STEP_ROWS;
    for (size_t i = 0; i < generate->running_count; i++) {
        struct sequence *sequence = running_at(generate, i);
        sequence->rows = sequence->count - sequence->kept.length == 1;
        left -= sequence->rows;
    }
    for (size_t i = 0; i < generate->running_count; i++) {
        struct sequence *sequence = running_at(generate, i);
        size_t unread = sequence->count - sequence->kept.length;
        if (unread == 1)
            continue;
        sequence->rows = unread < left ? unread : left;
        left -= sequence->rows;
    }
}

static bool is_read(const struct sequence *sequence)
{
    return sequence->kept.length == sequence->count;
}

/* The first rank draws the next token of each line whose tokens the model has read. The step has a
 * piece of each line with rows. The draws of pieces that end inside of a prompt are not used. A
 * float holds the number of any token. All ranks take the draws of the first rank: numbers of GPUs
 * may differ by a rounding, and then the ranks would go on with different texts. */
static int draw(struct generate *generate, float *tokens, size_t count, struct error *err)
{
    const struct generate_options *options = generate->options;
    const struct kernel_draw_options how = {generate->vocabulary.tokens, options->temperature,
                                            options->top_p};
    double randoms[BATCH_MAX];
    uint32_t drawn[BATCH_MAX] = {0};
    size_t piece = 0;
    bool is_any = false;
    for (size_t i = 0; i < count; i++) {
        const struct sequence *sequence = running_at(generate, i);
        if (sequence->rows)
            randoms[piece++] = random_unit_at(random_at(options->seed, generate->running[i]),
                                              sequence->count - sequence->prompt_count);
    }
    int status = decode_draw(generate->decode, &how, randoms, drawn, err);
    for (size_t i = 0, next = 0; i < count; i++) {
        const struct sequence *sequence = running_at(generate, i);
        tokens[i] = is_read(sequence) ? (float)drawn[next] : 0;
        is_any |= is_read(sequence);
        next += sequence->rows > 0;
    }
    if (status < 0 || !is_any)
        return status;
    return ranks_sum(&generate->group.ranks, tokens, count, err);
}

/* The model reads tokens of the running lines, and tokens are drawn. The lines whose text ends stop
 * running. */
static int run_step(struct generate *generate, struct error *err)
{
    float tokens[BATCH_MAX];
    struct decode_piece pieces[BATCH_MAX];
    size_t count = generate->running_count, piece_count = 0;
    share_rows(generate);
    for (size_t i = 0; i < count; i++) {
        struct sequence *sequence = running_at(generate, i);
        if (sequence->rows)
            pieces[piece_count++] = (struct decode_piece){
                &sequence->kept, sequence->tokens + sequence->kept.length, sequence->rows};
    }
    decode_step(generate->decode, pieces, piece_count);
    int status = draw(generate, tokens, count, err);
    if (status < 0)
        return status;
    generate->steps++;
    generate->line_steps += count;
    generate->running_count = 0;
    for (size_t i = 0; i < count; i++) {
        size_t line = generate->running[i];
        struct sequence *sequence = generate->sequences[line];
        if (is_read(sequence) && take_token(generate, sequence, (uint32_t)tokens[i])) {
            decode_release(generate->decode, &sequence->kept);
            free(sequence->tokens);
            sequence->tokens = NULL;
        } else {
            generate->running[generate->running_count++] = line;
        }
    }
    return 0;
}

/* Writes the texts up to the first line that has not ended. */
static int write_ended(struct generate *generate, struct error *err)
{
    int status = 0;
    while (status == 0 && generate->done < generate->prompts.count) {
        struct sequence **sequence = &generate->sequences[generate->done];
        if (!*sequence || (*sequence)->tokens)
            break;
        const struct text *text = &(*sequence)->text;
        if (generate->group.ranks.rank == 0)
            status = prompts_write(&generate->prompts, generate->done, text_string(text),
                                   text->size, err);
        sequence_free(*sequence, generate->decode);
        *sequence = NULL;
        generate->done++;
    }
    return status;
}

static void print_line(const struct generate *generate, int64_t began_ms)
{
    double seconds = (double)(clock_steady_ms() - began_ms) / 1000;
    if (generate->group.ranks.rank == 0)
        printf("step %zu/%zu | tok/sec %.0f | lines/step %.2f\n", generate->done,
               generate->prompts.count,
               (double)generate->generated / (seconds > 0 ? seconds : 1e-3),
               (double)generate->line_steps / (double)generate->steps);
}

/* Before lines begin, all ranks learn whether any rank was asked to stop. */
static int agree_to_go_on(struct generate *generate, struct error *err)
{
    if (generate->is_stopping || generate->running_count == generate->options->batch ||
        generate->next == generate->prompts.count)
        return 0;
    float wish = stop_is_wanted();
    int status = ranks_sum(&generate->group.ranks, &wish, 1, err);
    generate->is_stopping = wish > 0;
    return status;
}

static int run_group(struct generate *generate, struct error *err)
{
    int64_t began_ms = clock_steady_ms();
    size_t printed = generate->done;
    for (;;) {
        int status = agree_to_go_on(generate, err);
        if (status < 0)
            return status;
        if (!generate->is_stopping)
            admit(generate);
        make_room(generate);
        if (generate->running_count == 0)
            break;
        status = run_step(generate, err);
        if (status == 0)
            status = write_ended(generate, err);
        if (status < 0)
            return status;
        if (generate->done - printed >= generate->options->batch) {
            printed = generate->done;
            print_line(generate, began_ms);
        }
    }
    if (generate->done > printed)
        print_line(generate, began_ms);
    return 0;
}

static int generate_all(struct generate *generate, struct error *err)
{
    const struct generate_options *options = generate->options;
    size_t count = generate->prompts.count;
    generate->done = generate->next = generate->prompts.done;
    generate->sequences = xcalloc(count, sizeof *generate->sequences);
    if (generate->done)
        printf("resumed after %zu lines of %s\n", generate->done, options->output);
    int status = group_fork(&generate->group, (unsigned)options->tensor, err);
    if (status == 0)
        status = load(generate, err);
    if (status == 0)
        status = run_group(generate, err);
    if (status < 0 && generate->kernels)
        kernels_abandon(generate->kernels, err);
    for (size_t i = 0; i < count; i++)
        sequence_free(generate->sequences[i], generate->decode);
    free(generate->sequences);
    decode_free(generate->decode);
    model_fini(&generate->model);
    kernels_free(generate->kernels);
    status = group_end(&generate->group, status, err); /* the other ranks end here */
    if (status == 0)
        status = prompts_sync(&generate->prompts, err);
    if (status == 0)
        printf("%s after %zu of %zu lines: %s\n", generate->done < count ? "stopped" : "finished",
               generate->done, count, options->output);
    return status;
}

int generate_run(const struct generate_options *options, struct error *err)
{
    struct generate generate = {.options = options};
    int status = read_shape(&generate, err);
    tokenizer_init(&generate.tokenizer, &generate.vocabulary);
    if (status == 0) {
        status = prompts_open(&generate.prompts, options->input, options->output, err);
        if (status == 0)
            status = generate_all(&generate, err);
        status = prompts_close(&generate.prompts, status, err);
    }
    tokenizer_fini(&generate.tokenizer);
    vocabulary_fini(&generate.vocabulary);
    return status;
}
