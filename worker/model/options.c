/* The options of `phase-model train`, in one table. */
#include "worker/model/options.h"

#include "lib/error.h"
#include "lib/text.h"
#include "worker/model/arguments.h"
#include "worker/model/model.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>

#define AT(member) offsetof(struct options, member)

/* The upper bounds keep every size that the model computes far from overflow. */
static const struct argument table[] = {
    {"data", "FILE", ARGUMENT_TEXT, AT(data), 0, 0, "/usr/share/common-licenses/GPL-3",
     "text to train on; its last tenth is held out"},
    {"out", "DIR", ARGUMENT_TEXT, AT(out), 0, 0, ".", "folder of checkpoints, made if missing"},
    {"resume", "PATH", ARGUMENT_TEXT, AT(resume), 0, 0, "",
     "checkpoint to resume from; empty: from the start"},
    {"iterations", "N", ARGUMENT_WHOLE, AT(iterations), 1, 1e12, "300",
     "train until step N, counted from the very start"},
    {"device-batch-size", "N", ARGUMENT_WHOLE, AT(device_batch_size), 1, 4096, "16",
     "rows of text a rank takes at once"},
    {"grad-accum", "N", ARGUMENT_WHOLE, AT(grad_accum), 1, 65536, "1",
     "batches a rank adds up before each update"},
    {"sequence-length", "N", ARGUMENT_WHOLE, AT(sequence_length), 2, 8192, "128", "bytes in a row"},
    {"depth", "N", ARGUMENT_WHOLE, AT(depth), 1, 64, "1", "blocks in the stack"},
    {"width", "N", ARGUMENT_WHOLE, AT(width), 1, 8192, "64", "size of the state of a byte"},
    {"heads", "N", ARGUMENT_WHOLE, AT(heads), 1, 256, "4",
     "attention heads; must divide the width"},
    {"loops", "N", ARGUMENT_WHOLE, AT(loops), 1, MODEL_LOOPS_MAX, "4",
     "refinement loops: times the stack is applied"},
    {"preset", "NAME", ARGUMENT_TEXT, AT(preset), 0, 0, "aggressive",
     "aggressive: --weight-base 5; extreme: 10"},
    {"weight-base", "X", ARGUMENT_NUMBER, AT(weight_base), 0.01, 1000, NULL,
     "the loss of loop i has the weight X^i; the weights sum to 1"},
    {"matrix-lr", "X", ARGUMENT_NUMBER, AT(matrix_lr), 0, 10, "0.01",
     "learning rate of blocks and head"},
    {"embedding-lr", "X", ARGUMENT_NUMBER, AT(embedding_lr), 0, 10, "0.1",
     "learning rate of the embedding"},
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
    {"rendezvous-timeout", "SECONDS", ARGUMENT_WHOLE, AT(rendezvous_timeout_s), 1, 86400, "60",
     "how long to wait for all ranks"},
    {"collective-timeout", "SECONDS", ARGUMENT_WHOLE, AT(collective_timeout_s), 1, 86400, "300",
     "how long to wait for the slowest rank in a step"},
    {0},
};

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
    if (options->width % options->heads != 0)
        return error_set(err, -ERANGE, "--heads %" PRIu64 " does not divide --width %" PRIu64,
                         options->heads, options->width);
    if (!*options->out)
        return error_set(err, -ERANGE, "--out is empty");
    return 0;
}

int options_parse(struct options *options, int count, char **arguments, struct error *err)
{
    *options = (struct options){0};
    int result = arguments_read(table, options, count, arguments, err);
    if (result != 0)
        return result < 0 ? result : OPTIONS_HELP;
    result = check_together(options, err);
    return result < 0 ? result : OPTIONS_TRAIN;
}

void options_print_help(FILE *stream)
{
    fputs(
        "usage: phase-model train [OPTION VALUE]...\n"
        "\n"
        "Trains a small byte-level transformer, whose blocks are applied in refinement loops, on\n"
        "CPUs. Options, with their defaults in brackets:\n\n",
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
