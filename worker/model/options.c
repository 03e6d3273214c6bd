/* The options of `phase-model train`, in one table. */
#include "worker/model/options.h"

#include "lib/error.h"
#include "lib/text.h"
#include "worker/model/arguments.h"
#include "worker/model/device.h"
#include "worker/model/model.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>

enum { TOKENS_STEP = 8 }; /* a GPU moves so many numbers at once */

#define AT(member) offsetof(struct options, member)

/* The upper bounds keep every size that the model computes far from overflow. */
static const struct argument table[] = {
    {"data", "FILE", ARGUMENT_TEXT, AT(data), 0, 0, "/usr/share/common-licenses/GPL-3",
     "text or shard of tokens to train on; its last tenth is held out"},
    {"out", "DIR", ARGUMENT_TEXT, AT(out), 0, 0, ".", "folder of checkpoints, made if missing"},
    {"resume", "PATH", ARGUMENT_TEXT, AT(resume), 0, 0, "",
     "checkpoint to resume from; empty: from the start"},
    {"iterations", "N", ARGUMENT_WHOLE, AT(iterations), 1, 1e12, "300",
     "train until step N, counted from the very start"},
    {"device-batch-size", "N", ARGUMENT_WHOLE, AT(device_batch_size), 1, 4096, "16",
     "rows of text a rank takes at once"},
    {"grad-accum", "N", ARGUMENT_WHOLE, AT(grad_accum), 1, 65536, "1",
     "batches a rank adds up before each update"},
    {"model", "NAME", ARGUMENT_TEXT, AT(model), 0, 0, "tiny",
     "tiny, 124m, 350m or 1.5b: sets the options whose default is not in brackets"},
    {"sequence-length", "N", ARGUMENT_WHOLE, AT(sequence_length), 2, 65536, NULL,
     "tokens in a row; tiny: 128"},
    {"tokens", "N", ARGUMENT_WHOLE, AT(tokens), 0, MODEL_VOCABULARY_MAX, NULL,
     "different tokens, rounded up to 8; 0, tiny: as many as the text has, 256 if it is bytes"},
    {"depth", "N", ARGUMENT_WHOLE, AT(depth), 1, MODEL_DEPTH_MAX, NULL,
     "blocks in the stack; tiny: 1"},
    {"width", "N", ARGUMENT_WHOLE, AT(width), 2, MODEL_WIDTH_MAX, NULL,
     "size of the state of a token; tiny: 64"},
    {"heads", "N", ARGUMENT_WHOLE, AT(heads), 1, MODEL_HEADS_MAX, NULL,
     "attention heads; must divide the width into even parts; tiny: 4"},
    {"kv-heads", "N", ARGUMENT_WHOLE, AT(kv_heads), 0, MODEL_HEADS_MAX, NULL,
     "heads of keys and values; must divide the heads; 0, tiny: as many as heads"},
    {"hidden", "N", ARGUMENT_WHOLE, AT(hidden), 0, MODEL_HIDDEN_MAX, "0",
     "width inside the MLP; 0: 8/3 of the width, rounded up to 64"},
    {"loops", "N", ARGUMENT_WHOLE, AT(loops), 1, MODEL_LOOPS_MAX, NULL,
     "refinement loops: times the stack is applied; tiny: 4"},
    {"tied", "0|1", ARGUMENT_WHOLE, AT(tied), 0, 1, NULL,
     "1: the head is the table of embeddings; tiny: 0"},
    {"preset", "NAME", ARGUMENT_TEXT, AT(preset), 0, 0, "aggressive",
     "aggressive: --weight-base 5; extreme: 10"},
    {"weight-base", "X", ARGUMENT_NUMBER, AT(weight_base), 0.01, 1000, NULL,
     "the loss of loop i has the weight X^i; the weights sum to 1"},
    {"matrix-lr", "X", ARGUMENT_NUMBER, AT(matrix_lr), 0, 10, NULL,
     "learning rate of blocks and head; tiny: 0.01"},
    {"embedding-lr", "X", ARGUMENT_NUMBER, AT(embedding_lr), 0, 10, NULL,
     "learning rate of an embedding that is not tied; tiny: 0.1"},
    {"warmup", "N", ARGUMENT_WHOLE, AT(warmup), 0, 1e12, "10",
     "steps in which the learning rates rise from 0"},
    {"weight-decay", "X", ARGUMENT_NUMBER, AT(weight_decay), 0, 1, "0.01",
     "decay of matrices, times the learning rate"},
    {"grad-clip", "X", ARGUMENT_NUMBER, AT(grad_clip), 0, 1e6, "1",
     "largest norm of the gradient; 0: no limit"},
    {"seed", "N", ARGUMENT_WHOLE, AT(seed), 0, 1e15, "1",
     "seed of the first weights and the order of rows"},
    {"save-every", "N", ARGUMENT_WHOLE, AT(save_every), 0, 1e12, "50",
     "steps between checkpoints; 0: only at the end"},
    {"keep", "N", ARGUMENT_WHOLE, AT(keep), 1, 1e6, "2", "checkpoints kept"},
    {"eval-every", "N", ARGUMENT_WHOLE, AT(eval_every), 0, 1e12, "25",
     "steps between evaluations on the held-out text; 0: never"},
    {"log-every", "N", ARGUMENT_WHOLE, AT(log_every), 1, 1e12, "1", "steps between lines"},
    {"pace", "MS", ARGUMENT_WHOLE, AT(pace_ms), 0, 60000, "0",
     "pause after each step, for tests of long trainings"},
    {"device", "NAME", ARGUMENT_TEXT, AT(device), 0, 0, "auto", DEVICE_HELP},
    {"precision", "NAME", ARGUMENT_TEXT, AT(precision), 0, 0, "bf16",
     "factors of the products of blocks on a GPU: bf16, or fp8 but for the gradients of weights"},
    {"rendezvous-timeout", "SECONDS", ARGUMENT_WHOLE, AT(rendezvous_timeout_s), 1, 86400, "60",
     "how long to wait for all ranks"},
    {"collective-timeout", "SECONDS", ARGUMENT_WHOLE, AT(collective_timeout_s), 1, 86400, "300",
     "how long to wait for the slowest rank in a step"},
    {0},
};

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

int options_parse(struct options *options, int count, char **arguments, struct error *err)
{
    *options = (struct options){0};
    int status = arguments_read(table, options, count, arguments, err);
    if (status == 0)
        status = take_model(options, options->model, err);
    /* The second reading lets the other options replace what the model has set. */
    if (status == 0)
        status = arguments_read(table, options, count, arguments, err);
    if (status != 0)
        return status < 0 ? status : OPTIONS_HELP;
    status = check_together(options, err);
    return status < 0 ? status : OPTIONS_TRAIN;
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

void options_print_help(FILE *stream)
{
    fputs("usage: phase-model train [OPTION VALUE]...\n"
          "\n"
          "Trains a transformer, whose blocks may be applied in refinement loops. Options, with "
          "their\n"
          "defaults in brackets:\n\n",
          stream);
    arguments_print(table, stream);
    fputs(
        "\n"
        "Each step prints one line: loss (the weighted sum), step_0 to step_3 (the loss of each\n"
        "loop), grad_norm (before clipping), lr, dt (ms) and tok/sec of all ranks, and val_loss\n"
        "after an evaluation. SIGTERM, SIGUSR1 and SIGUSR2 stop all ranks at the next step, with\n"
        "a checkpoint. Several ranks need RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as\n"
        "torchrun sets them.\n",
        stream);
}
