/* The options of `phase-model train`, in one table. */
#include "worker/model/options.h"

#include "lib/error.h"
#include "lib/option.h"
#include "lib/text.h"
#include "worker/model/device.h"
#include "worker/model/model.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>

enum { TOKENS_STEP = 8 }; /* a GPU moves so many numbers at once */

static const char usage[] =
    "usage: phase-model train [OPTION VALUE]...\n"
    "       phase-model bench [OPTION VALUE]...\n"
    "\n"
    "Trains a transformer, whose blocks may be applied in refinement loops, or measures how fast\n"
    "this device trains it and generates text. Each step of train prints one line: loss (the\n"
    "weighted sum), step_0 to step_3 (the loss of each loop), grad_norm (before clipping), lr,\n"
    "dt (ms) and tok/sec of all ranks, and val_loss after an evaluation. SIGTERM, SIGUSR1 and\n"
    "SIGUSR2 stop all ranks at the next step, with a checkpoint. Several ranks need RANK,\n"
    "WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun sets them. Options, with their\n"
    "defaults in brackets:\n";

/* What --model sets. The larger models have the shape of GPT-2's small and medium models and of
 * llama-like models, so that their speed can be compared. */
struct preset {
    const char *name;
    uint64_t tokens, depth, width, heads, kv_heads, loops, tied, sequence_length;
    double matrix_lr, embedding_lr;
};
static const struct preset models[] = {
    {"tiny", 0, 1, 64, 4, 0, 4, 0, 128, 0.01, 0.1},
    {"124m", 50304, 12, 768, 12, 0, 1, 1, 1024, 6e-4, 6e-4},
    {"350m", 50304, 24, 1024, 16, 0, 1, 1, 1024, 3e-4, 3e-4},
    {"1.5b", 50304, 28, 2048, 16, 8, 1, 0, 1024, 2e-4, 2e-4},
};

static int take_model(struct options *options, const char *name, struct error *err)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const struct preset *preset = &models[i];
        if (!text_equal(preset->name, name))
            continue;
        *options = (struct options){
            .tokens = preset->tokens,
            .depth = preset->depth,
            .width = preset->width,
            .heads = preset->heads,
            .kv_heads = preset->kv_heads,
            .loops = preset->loops,
            .tied = preset->tied,
            .sequence_length = preset->sequence_length,
            .matrix_lr = preset->matrix_lr,
            .embedding_lr = preset->embedding_lr,
        };
        return 0;
    }
    return error_set(err, -ERANGE, "--model %s: use tiny, 124m, 350m or 1.5b", name);
}

static int check_together(struct options *options, struct error *err)
{
    static const struct {
        const char *name;
        double weight_base;
    } presets[] = {{"aggressive", 5.0}, {"extreme", 10.0}};
    double base = 0;
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (text_equal(presets[i].name, options->preset))
            base = presets[i].weight_base;
    if (base == 0)
        return error_set(err, -ERANGE, "--preset %s: use aggressive or extreme", options->preset);
    if (options->weight_base == 0)
        options->weight_base = base;
    if (options->kv_heads == 0)
        options->kv_heads = options->heads;
    if (options->hidden == 0)
        options->hidden = (options->width * 8 + 191) / 192 * 64;
    options->is_fp8 = text_equal(options->precision, "fp8");
    if (!options->is_fp8 && !text_equal(options->precision, "bf16"))
        return error_set(err, -ERANGE, "--precision %s: use bf16 or fp8", options->precision);
    if (!*options->out)
        return error_set(err, -ERANGE, "--out is empty");
    struct model_shape shape = options_shape(options, MODEL_BYTES);
    return model_check(&shape, options->sequence_length, err);
}

#define TEXT(option, name, member, value, line)                                                    \
    option, 0, name, line, .text = &options->member, .initial = value
#define WHOLE(option, member, from, to, value, line)                                               \
    option, 0, "N", line, .large = &options->member, .least = from, .most = to, .initial = value
#define DECIMAL(option, member, from, to, value, line)                                             \
    option, 0, "X", line, .decimal = &options->member, .least = from, .most = to, .initial = value

/* The upper bounds keep every size that the model computes far from overflow. */
static int read_words(struct options *options, const char *name, char **words)
{
    const struct option_rule rules[] = {
        {TEXT("data", "FILE", data, "",
              "text or shard of tokens to train on; its last tenth is held out; empty: what "
              "`phase-model text` prints")},
        {TEXT("out", "DIR", out, ".", "folder of checkpoints, made if missing")},
        {TEXT("resume", "PATH", resume, "", "checkpoint to resume from; empty: from the start")},
        {WHOLE("iterations", iterations, 1, 1e12, "300",
               "train until step N, counted from the very start")},
        {WHOLE("device-batch-size", device_batch_size, 1, 4096, "16",
               "rows of text a rank takes at once")},
        {WHOLE("grad-accum", grad_accum, 1, 65536, "1",
               "batches a rank adds up before each update")},
        {TEXT("model", "NAME", model, "tiny",
              "tiny, 124m, 350m or 1.5b: sets the options whose default is not in brackets")},
        {WHOLE("sequence-length", sequence_length, 2, 65536, NULL, "tokens in a row; tiny: 128")},
        {WHOLE("tokens", tokens, 0, MODEL_VOCABULARY_MAX, NULL,
               "different tokens, rounded up to 8; 0, tiny: as many as the text has, 256 if it is "
               "bytes")},
        {WHOLE("depth", depth, 1, MODEL_DEPTH_MAX, NULL, "blocks in the stack; tiny: 1")},
        {WHOLE("width", width, 2, MODEL_WIDTH_MAX, NULL, "size of the state of a token; tiny: 64")},
        {WHOLE("heads", heads, 1, MODEL_HEADS_MAX, NULL,
               "attention heads; must divide the width into even parts; tiny: 4")},
        {WHOLE("kv-heads", kv_heads, 0, MODEL_HEADS_MAX, NULL,
               "heads of keys and values; must divide the heads; 0, tiny: as many as heads")},
        {WHOLE("hidden", hidden, 0, MODEL_HIDDEN_MAX, "0",
               "width inside the MLP; 0: 8/3 of the width, rounded up to 64")},
        {WHOLE("loops", loops, 1, MODEL_LOOPS_MAX, NULL,
               "refinement loops: times the stack is applied; tiny: 4")},
        {WHOLE("tied", tied, 0, 1, NULL, "1: the head is the table of embeddings; tiny: 0")},
        {TEXT("preset", "NAME", preset, "aggressive", "aggressive: --weight-base 5; extreme: 10")},
        {DECIMAL("weight-base", weight_base, 0.01, 1000, NULL,
                 "the loss of loop i has the weight X^i; the weights sum to 1")},
        {DECIMAL("matrix-lr", matrix_lr, 0, 10, NULL,
                 "learning rate of blocks and head; tiny: 0.01")},
        {DECIMAL("embedding-lr", embedding_lr, 0, 10, NULL,
                 "learning rate of an embedding that is not tied; tiny: 0.1")},
        {WHOLE("warmup", warmup, 0, 1e12, "10", "steps in which the learning rates rise from 0")},
        {DECIMAL("weight-decay", weight_decay, 0, 1, "0.01",
                 "decay of matrices, times the learning rate")},
        {DECIMAL("grad-clip", grad_clip, 0, 1e6, "1", "largest norm of the gradient; 0: no limit")},
        {WHOLE("seed", seed, 0, 1e15, "1", "seed of the first weights and the order of rows")},
        {WHOLE("save-every", save_every, 0, 1e12, "50",
               "steps between checkpoints; 0: only at the end")},
        {WHOLE("keep", keep, 1, 1e6, "2", "checkpoints kept")},
        {WHOLE("eval-every", eval_every, 0, 1e12, "25",
               "steps between evaluations on the held-out text; 0: never")},
        {WHOLE("log-every", log_every, 1, 1e12, "1", "steps between lines")},
        {WHOLE("pace", pace_ms, 0, 60000, "0",
               "pause of N ms after each step, for tests of long trainings")},
        {TEXT("device", "NAME", device, "auto", DEVICE_HELP)},
        {TEXT("precision", "NAME", precision, "bf16",
              "factors of the products of blocks on a GPU: bf16, or fp8 except for the gradients "
              "of weights")},
        {WHOLE("rendezvous-timeout", rendezvous_timeout_s, 1, 86400, "60",
               "how many seconds to wait for all ranks")},
        {WHOLE("collective-timeout", collective_timeout_s, 1, 86400, "300",
               "how many seconds to wait for the slowest rank in a step")},
        {0},
    };
    return option_main(name, usage, words, rules, NULL);
}

int options_read(struct options *options, const char *name, char **words)
{
    struct error err;
    *options = (struct options){0};
    int exit_code = read_words(options, name, words);
    if (exit_code >= 0)
        return exit_code;
    if (take_model(options, options->model, &err) < 0)
        return option_refuse(name, &err);
    /* The second reading lets the other options replace what the model has set. */
    (void)read_words(options, name, words);
    return check_together(options, &err) < 0 ? option_refuse(name, &err) : -1;
}

struct model_shape options_shape(const struct options *options, uint32_t tokens)
{
    uint32_t wanted = options->tokens ? (uint32_t)options->tokens : tokens;
    return (struct model_shape){
        .vocabulary = (wanted + TOKENS_STEP - 1) / TOKENS_STEP * TOKENS_STEP,
        .width = (uint32_t)options->width,
        .depth = (uint32_t)options->depth,
        .heads = (uint32_t)options->heads,
        .kv_heads = (uint32_t)options->kv_heads,
        .hidden = (uint32_t)options->hidden,
        .loops = (uint32_t)options->loops,
        .tied = (uint32_t)options->tied,
    };
}
