/* The loop of generation: lines in, a batch at a time, JSON lines out. All ranks of the group read
 * the same lines and compute the same bytes. The first rank writes them. */
#include "worker/model/generate.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "worker/model/arguments.h"
#include "worker/model/checkpoint.h"
#include "worker/model/decode.h"
#include "worker/model/device.h"
#include "worker/model/group.h"
#include "worker/model/model.h"
#include "worker/model/prompts.h"
#include "worker/model/stop.h"
#include "worker/model/tokenizer.h"
#include "worker/model/vocabulary.h"
#include "worker/model/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_MAX = 256, TEXT_MAX = 8192 };

#define AT(member) offsetof(struct generate_options, member)

static const struct argument table[] = {
    {"model", "FILE", ARGUMENT_TEXT, AT(model), 0, 0, "", "checkpoint of train; required"},
    {"input", "FILE", ARGUMENT_TEXT, AT(input), 0, 0, "", "one prompt on each line; required"},
    {"output", "FILE", ARGUMENT_TEXT, AT(output), 0, 0, "",
     "JSON lines, continued if the file exists; required"},
    {"vocabulary", "FILE", ARGUMENT_TEXT, AT(vocabulary), 0, 0, "",
     "vocabulary of the shard that the model was trained on; empty: bytes"},
    {"tp", "N", ARGUMENT_WHOLE, AT(tensor), 1, GROUP_SIZE_MAX, "1",
     "processes that share each matrix; a power of two that divides heads and kv-heads"},
    {"device", "NAME", ARGUMENT_TEXT, AT(device), 0, 0, "auto", DEVICE_HELP},
    {"batch-size", "N", ARGUMENT_WHOLE, AT(batch), 1, BATCH_MAX, "8", "lines at once"},
    {"context", "N", ARGUMENT_WHOLE, AT(context), 0, TEXT_MAX, "0",
     "how many of the last tokens of a prompt are read; 0: what rows of training leave for them"},
    {"bytes", "N", ARGUMENT_WHOLE, AT(bytes), 1, TEXT_MAX, "64",
     "most bytes to write; the end of a line ends the text"},
    {"temperature", "X", ARGUMENT_NUMBER, AT(sample.temperature), 0, 100, "0",
     "divides the logits of the tokens that are drawn; 0: always the most likely token"},
    {"top-p", "X", ARGUMENT_NUMBER, AT(sample.top_p), 0, 1, "1",
     "draw only from the most likely tokens, which have this probability together"},
    {"seed", "N", ARGUMENT_WHOLE, AT(sample.seed), 0, 1e15, "1", "seed of the draws"},
    {0},
};

struct generate {
    const struct generate_options *options;
    struct model_shape shape;
    size_t context; /* tokens of a prompt that are read */
    struct vocabulary vocabulary;
    struct tokenizer tokenizer;
    struct kernels *kernels;
    struct model model;
    struct group group;
    struct decode *decode;
    struct sampler *sampler;
    struct prompts prompts;
    size_t done;      /* lines that are written */
    size_t generated; /* tokens since the start */
};

/* One sequence that is being generated. */
struct sequence {
    uint32_t *tokens; /* of the prompt, then of the text */
    size_t prompt_count, count;
    uint8_t text[TEXT_MAX];
    size_t size;
    bool has_ended;
};

int generate_parse(struct generate_options *options, int count, char **arguments, struct error *err)
{
    *options = (struct generate_options){0};
    int result = arguments_read(table, options, count, arguments, err);
    if (result != 0)
        return result;
    const char *const needed[] = {options->model, options->input, options->output};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!*needed[i])
            return error_set(err, -EINVAL, "--%s is missing", table[i].name);
    if (options->tensor & (options->tensor - 1))
        return error_set(err, -ERANGE, "--tp %" PRIu64 ": not a power of two", options->tensor);
    return 0;
}

void generate_print_help(FILE *stream)
{
    fputs("usage: phase-model generate --model FILE --input FILE --output FILE [OPTION VALUE]...\n"
          "\n"
          "Continues each line of a file. Options, with their defaults in brackets:\n\n",
          stream);
    arguments_print(table, stream);
    fputs("\n"
          "SIGTERM, SIGUSR1 and SIGUSR2 stop it after the current batch; the same command\n"
          "continues with the next lines. Each batch prints a line with step (lines done) and\n"
          "tok/sec.\n",
          stream);
}

/* Takes the vocabulary that the model was trained with. */
static int load_vocabulary(struct generate *generate, const uint8_t *digest, struct error *err)
{
    const char *path = generate->options->vocabulary;
    struct vocabulary *vocabulary = &generate->vocabulary;
    int result = 0;
    if (*path)
        result = vocabulary_load(vocabulary, path, err);
    else
        vocabulary_init_bytes(vocabulary);
    if (result == 0 && (memcmp(vocabulary->digest, digest, sizeof vocabulary->digest) != 0 ||
                        vocabulary->tokens > generate->shape.vocabulary))
        return *path ? error_set(err, -EINVAL, "--vocabulary %s: %s was trained with another one",
                                 path, generate->options->model)
                     : error_set(err, -EINVAL, "--vocabulary is missing: %s is no model of bytes",
                                 generate->options->model);
    return result;
}

/* The model knows no positions after the length of a row of training. So the prompt gets what the
 * text leaves of this length, but at least half of it. */
static int read_shape(struct generate *generate, struct error *err)
{
    const struct generate_options *options = generate->options;
    size_t sequence;
    uint8_t digest[VOCABULARY_DIGEST];
    int result = checkpoint_shape(options->model, &generate->shape, &sequence, digest, err);
    if (result == 0)
        result = load_vocabulary(generate, digest, err);
    if (result < 0)
        return result;
    unsigned tensor = (unsigned)options->tensor;
    if (decode_group_max(&generate->shape) % tensor)
        return error_set(err, -ERANGE,
                         "--tp %u: the model has %u heads and %u kv-heads; --tp must divide both, "
                         "and the width %u of its MLP",
                         tensor, generate->shape.heads, generate->shape.kv_heads,
                         generate->shape.hidden);
    size_t bytes = (size_t)options->bytes, half = (sequence + 1) / 2;
    size_t left = sequence > bytes + half ? sequence - bytes : half;
    generate->context = options->context ? (size_t)options->context : left;
    return 0;
}

/* Each rank of a group loads the model: a GPU does not survive fork(). */
static int load(struct generate *generate, struct error *err)
{
    const struct generate_options *options = generate->options;
    generate->kernels = kernels_new((int)generate->group.rank, err);
    if (!generate->kernels)
        return err->code;
    size_t length = generate->context + (size_t)options->bytes;
    int result = model_init(&generate->model, generate->kernels, &generate->shape, length,
                            MODEL_DECODES, (struct model_rank){0, 1}, err);
    if (result == 0)
        result = checkpoint_load_weights(options->model, &generate->model, err);
    if (result < 0)
        return result;
    generate->decode =
        decode_new(&generate->model, &generate->group, (size_t)options->batch, length);
    generate->sampler = sampler_new(&options->sample, generate->vocabulary.tokens);
    return kernels_status(generate->kernels, err);
}

/* Takes a token that the model has generated after the prompt. */
static void take_token(const struct generate *generate, struct sequence *sequence, uint32_t token)
{
    size_t size;
    const uint8_t *bytes = vocabulary_token(&generate->vocabulary, token, &size);
    sequence->tokens[sequence->count++] = token;
    for (size_t i = 0; i < size && !sequence->has_ended; i++) {
        sequence->has_ended = bytes[i] == '\n';
        if (!sequence->has_ended)
            sequence->text[sequence->size++] = bytes[i];
        sequence->has_ended |= sequence->size == generate->options->bytes;
    }
}

/* Begins with the last tokens of the prompt. An empty line is replaced by the end of a line. */
static void begin_sequence(struct generate *generate, struct sequence *sequence, uint32_t *tokens,
                           const struct prompt *prompt)
{
    const uint8_t *bytes = prompt->size ? prompt->bytes : (const uint8_t *)"\n";
    size_t size = prompt->size ? prompt->size : 1;
    struct text all = {0};
    for (size_t at = 0; at < size;) {
        uint32_t word[VOCABULARY_TOKEN_SIZE_MAX];
        size_t count;
        at += tokenizer_next(&generate->tokenizer, bytes + at, size - at, word, &count);
        text_add_bytes(&all, word, count * sizeof *word);
    }
    size_t kept = generate->context * sizeof *tokens;
    kept = all.size < kept ? all.size : kept;
    memcpy(tokens, all.data + all.size - kept, kept);
    text_fini(&all);
    *sequence = (struct sequence){.tokens = tokens, .count = kept / sizeof *tokens};
    sequence->prompt_count = sequence->count;
}

static int write_sequences(struct generate *generate, struct sequence *sequences, size_t batch,
                           struct error *err)
{
    uint32_t ids[BATCH_MAX];
    size_t vocabulary = generate->shape.vocabulary;
    bool has_more = true;
    decode_begin(generate->decode, batch);
    for (size_t position = 0; has_more; position++) {
        const float *logits;
        for (size_t i = 0; i < batch; i++) {
            const struct sequence *sequence = &sequences[i];
            bool is_over = position >= sequence->count;
            ids[i] = is_over ? 0 : sequence->tokens[position];
        }
        int result = decode_step(generate->decode, ids, &logits, err);
        if (result < 0)
            return result;
        has_more = false;
        for (size_t i = 0; i < batch; i++) {
            if (position + 1 >= sequences[i].count && !sequences[i].has_ended)
                take_token(generate, &sequences[i],
                           sampler_draw(generate->sampler, logits + i * vocabulary,
                                        generate->done + i,
                                        sequences[i].count - sequences[i].prompt_count));
            has_more |= !sequences[i].has_ended;
        }
    }
    return 0;
}

static void print_line(struct generate *generate, const struct sequence *sequences, size_t batch,
                       int64_t began_ms)
{
    for (size_t i = 0; i < batch; i++)
        generate->generated += sequences[i].count - sequences[i].prompt_count;
    double seconds = (double)(wire_now_ms() - began_ms) / 1000;
    printf("step %zu/%zu | tok/sec %.0f\n", generate->done, generate->prompts.count,
           (double)generate->generated / (seconds > 0 ? seconds : 1e-3));
}

/* Before each batch all ranks learn whether any rank was asked to stop. */
static int agree_to_go_on(struct generate *generate, bool *ret_goes_on, struct error *err)
{
    float wish = stop_is_wanted();
    int result = group_sum(&generate->group, &wish, 1, err);
    *ret_goes_on = !(wish > 0) && generate->done < generate->prompts.count;
    return result;
}

static int run_group(struct generate *generate, struct error *err)
{
    size_t batch_max = (size_t)generate->options->batch;
    int64_t began_ms = wire_now_ms();
    size_t length = generate->context + (size_t)generate->options->bytes;
    struct sequence *sequences = xcalloc(batch_max, sizeof *sequences);
    uint32_t *tokens = xcalloc(batch_max * length, sizeof *tokens);
    bool goes_on;
    int result = agree_to_go_on(generate, &goes_on, err);
    while (result == 0 && goes_on) {
        size_t left = generate->prompts.count - generate->done;
        size_t batch = left < batch_max ? left : batch_max;
        for (size_t i = 0; i < batch; i++)
            begin_sequence(generate, &sequences[i], tokens + i * length,
                           &generate->prompts.prompts[generate->done + i]);
        result = write_sequences(generate, sequences, batch, err);
        if (result == 0 && generate->group.rank == 0)
            for (size_t i = 0; i < batch && result == 0; i++)
                result = prompts_write(&generate->prompts, generate->done + i,
                                       (const char *)sequences[i].text, sequences[i].size, err);
        if (result < 0)
            break;
        generate->done += batch;
        if (generate->group.rank == 0)
            print_line(generate, sequences, batch, began_ms);
        result = agree_to_go_on(generate, &goes_on, err);
    }
    free(sequences);
    free(tokens);
    return result;
}

static int generate_all(struct generate *generate, struct error *err)
{
    const struct generate_options *options = generate->options;
    generate->done = generate->prompts.done;
    if (generate->done)
        printf("resumed after %zu lines of %s\n", generate->done, options->output);
    int result = group_fork(&generate->group, (unsigned)options->tensor, err);
    if (result == 0)
        result = load(generate, err);
    if (result == 0)
        result = run_group(generate, err);
    sampler_free(generate->sampler);
    decode_free(generate->decode);
    model_fini(&generate->model);
    kernels_free(generate->kernels);
    result = group_end(&generate->group, result, err); /* the other ranks end here */
    if (result == 0)
        result = prompts_sync(&generate->prompts, err);
    if (result == 0)
        printf("%s after %zu of %zu lines: %s\n",
               generate->done < generate->prompts.count ? "stopped" : "finished", generate->done,
               generate->prompts.count, options->output);
    return result;
}

int generate_run(const struct generate_options *options, struct error *err)
{
    struct generate generate = {.options = options};
    int result = read_shape(&generate, err);
    tokenizer_init(&generate.tokenizer, &generate.vocabulary);
    if (result == 0) {
        result = prompts_open(&generate.prompts, options->input, options->output, err);
        if (result == 0)
            result = generate_all(&generate, err);
        result = prompts_close(&generate.prompts, result, err);
    }
    tokenizer_fini(&generate.tokenizer);
    vocabulary_fini(&generate.vocabulary);
    return result;
}
