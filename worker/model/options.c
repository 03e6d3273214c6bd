/* The options of `phase-model train`: one table, parsed and printed. */
#include "worker/model/options.h"

#include "lib/error.h"
#include "lib/text.h"
#include "worker/model/model.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum option_kind { OPTION_TEXT, OPTION_WHOLE, OPTION_NUMBER, OPTION_PRESET };

struct option {
    const char *name, *value_name;
    enum option_kind kind;
    size_t offset; /* in struct options */
    double lowest, highest;
    const char *initial;
    const char *help;
};

#define AT(member) offsetof(struct options, member)

/* The upper bounds keep every size that the model computes far from overflow. */
static const struct option table[] = {
    {"data", "FILE", OPTION_TEXT, AT(data), 0, 0, "/usr/share/common-licenses/GPL-3",
     "text to train on; its last tenth is held out"},
    {"out", "DIR", OPTION_TEXT, AT(out), 0, 0, ".", "folder of checkpoints, made if missing"},
    {"resume", "PATH", OPTION_TEXT, AT(resume), 0, 0, "",
     "checkpoint to go on from; empty: from the start"},
    {"iterations", "N", OPTION_WHOLE, AT(iterations), 1, 1e12, "300",
     "train until step N, counted from the very start"},
    {"device-batch-size", "N", OPTION_WHOLE, AT(device_batch_size), 1, 4096, "16",
     "rows of text a rank takes at once"},
    {"grad-accum", "N", OPTION_WHOLE, AT(grad_accum), 1, 65536, "1",
     "batches a rank adds up before each update"},
    {"sequence-length", "N", OPTION_WHOLE, AT(sequence_length), 2, 8192, "128", "bytes in a row"},
    {"depth", "N", OPTION_WHOLE, AT(depth), 1, 64, "1", "blocks in the stack"},
    {"width", "N", OPTION_WHOLE, AT(width), 1, 8192, "64", "size of the state of a byte"},
    {"heads", "N", OPTION_WHOLE, AT(heads), 1, 256, "4", "attention heads; must divide the width"},
    {"loops", "N", OPTION_WHOLE, AT(loops), 1, MODEL_LOOPS_MAX, "4",
     "refinement loops: times the stack is applied"},
    {"preset", "NAME", OPTION_PRESET, AT(weight_base), 0, 0, "aggressive",
     "aggressive: --weight-base 5; extreme: 10"},
    {"weight-base", "X", OPTION_NUMBER, AT(weight_base), 0.01, 1000, NULL,
     "loop i's loss weighs X^i, all together 1"},
    {"matrix-lr", "X", OPTION_NUMBER, AT(matrix_lr), 0, 10, "0.01",
     "learning rate of blocks and head"},
    {"embedding-lr", "X", OPTION_NUMBER, AT(embedding_lr), 0, 10, "0.1",
     "learning rate of the embedding"},
    {"warmup", "N", OPTION_WHOLE, AT(warmup), 0, 1e12, "10",
     "steps in which the learning rates rise from 0"},
    {"weight-decay", "X", OPTION_NUMBER, AT(weight_decay), 0, 1, "0.01",
     "decay of matrices, times the learning rate"},
    {"grad-clip", "X", OPTION_NUMBER, AT(grad_clip), 0, 1e6, "1",
     "the gradient's norm is held below X; 0: not"},
    {"seed", "N", OPTION_WHOLE, AT(seed), 0, 1e15, "1", "of the first weights and the rows' order"},
    {"save-every", "N", OPTION_WHOLE, AT(save_every), 0, 1e12, "50",
     "steps between checkpoints; 0: only at the end"},
    {"keep", "N", OPTION_WHOLE, AT(keep), 1, 1e6, "2", "checkpoints kept"},
    {"eval-every", "N", OPTION_WHOLE, AT(eval_every), 0, 1e12, "25",
     "steps between looks at the held-out text; 0: never"},
    {"log-every", "N", OPTION_WHOLE, AT(log_every), 1, 1e12, "1", "steps between lines"},
    {"rendezvous-timeout", "SECONDS", OPTION_WHOLE, AT(rendezvous_timeout_s), 1, 86400, "60",
     "for all ranks to come"},
    {"collective-timeout", "SECONDS", OPTION_WHOLE, AT(collective_timeout_s), 1, 86400, "300",
     "for the slowest rank in a step"},
};
enum { TABLE_SIZE = sizeof table / sizeof *table };

static const struct {
    const char *name;
    double weight_base;
} presets[] = {{"aggressive", 5.0}, {"extreme", 10.0}};
enum { PRESET_COUNT = sizeof presets / sizeof *presets };

static int read_preset(const char *value, double *ret_base, struct error *err)
{
    for (size_t i = 0; i < PRESET_COUNT; i++) {
        if (text_equal(presets[i].name, value)) {
            *ret_base = presets[i].weight_base;
            return 0;
        }
    }
    return error_set(err, -ERANGE, "--preset %s: there are aggressive and extreme", value);
}

static int read_value(const struct option *option, const char *value, struct options *options,
                      struct error *err)
{
    void *member = (char *)options + option->offset;
    if (option->kind == OPTION_TEXT) {
        *(const char **)member = value;
        return 0;
    }
    if (option->kind == OPTION_PRESET)
        return read_preset(value, member, err);
    char *end;
    errno = 0;
    double number = strtod(value, &end);
    bool whole = option->kind == OPTION_WHOLE;
    if (end == value || *end || errno || !isfinite(number) || (whole && number != floor(number)))
        return error_set(err, -ERANGE, "--%s %s: not a%s number", option->name, value,
                         whole ? " whole" : "");
    if (number < option->lowest || number > option->highest)
        return error_set(err, -ERANGE, "--%s %s: not from %.15g to %.15g", option->name, value,
                         option->lowest, option->highest);
    if (whole)
        *(uint64_t *)member = (uint64_t)number;
    else
        *(double *)member = number;
    return 0;
}

/* `name` is not NUL-terminated: what follows may be "=value". */
static const struct option *find(const char *name, size_t size)
{
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        if (strlen(table[i].name) == size && memcmp(table[i].name, name, size) == 0)
            return &table[i];
    }
    return NULL;
}

static int fail_unknown(const char *argument, struct error *err)
{
    const char *names[TABLE_SIZE];
    for (size_t i = 0; i < TABLE_SIZE; i++)
        names[i] = table[i].name;
    bool dashes = text_starts(argument, "--");
    if (!dashes)
        return error_set(err, -EINVAL, "%s: options begin with --", argument);
    const char *nearest = text_nearest(argument + 2, names, TABLE_SIZE);
    if (nearest)
        return error_set(err, -EINVAL, "%s: no such option; is --%s meant?", argument, nearest);
    return error_set(err, -EINVAL, "%s: no such option", argument);
}

static int check_together(const struct options *options, struct error *err)
{
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
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        if (table[i].initial && read_value(&table[i], table[i].initial, options, NULL) < 0)
            abort(); /* the table's own value is wrong */
    }
    for (int i = 0; i < count; i++) {
        const char *argument = arguments[i];
        if (text_equal(argument, "--help") || text_equal(argument, "-h"))
            return OPTIONS_HELP;
        const char *equals = strchr(argument, '=');
        size_t size = equals ? (size_t)(equals - argument) : strlen(argument);
        const struct option *option =
            text_starts(argument, "--") ? find(argument + 2, size - 2) : NULL;
        if (!option)
            return fail_unknown(argument, err);
        if (!equals && i + 1 == count)
            return error_set(err, -EINVAL, "%s: its %s is missing", argument, option->value_name);
        int result = read_value(option, equals ? equals + 1 : arguments[++i], options, err);
        if (result < 0)
            return result;
    }
    int result = check_together(options, err);
    return result < 0 ? result : OPTIONS_TRAIN;
}

void options_print_help(FILE *stream)
{
    fputs(
        "Usage: phase-model train [OPTION VALUE]...\n"
        "\n"
        "Trains a small byte-level transformer, whose blocks are applied in refinement loops, on\n"
        "CPUs. Options, with their defaults in brackets:\n\n",
        stream);
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        const struct option *option = &table[i];
        char left[64];
        (void)snprintf(left, sizeof left, "--%s %s", option->name, option->value_name);
        fprintf(stream, "  %-30s %s", left, option->help);
        if (option->initial && *option->initial)
            fprintf(stream, " [%s]", option->initial);
        fputc('\n', stream);
    }
    fputs(
        "\n"
        "Each step prints one line: loss (the weighted sum), step_0 to step_3 (the loss of each\n"
        "loop), grad_norm (before clipping), lr, dt (ms) and tok/sec of all ranks; val_loss where\n"
        "the held-out text was looked at. SIGTERM, SIGUSR1 and SIGUSR2 stop all ranks at the next\n"
        "step with a checkpoint. Several ranks: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as\n"
        "torchrun sets them.\n",
        stream);
}
