/* phase-model: the model that phased itself trains, in demos and tests. */
#include "config.h"
#include "lib/error.h"
#include "lib/option.h"
#include "lib/text.h"
#include "worker/model/bench.h"
#include "worker/model/device.h"
#include "worker/model/generate.h"
#include "worker/model/kernels.h"
#include "worker/model/options.h"
#include "worker/model/prose.h"
#include "worker/model/ranks.h"
#include "worker/model/stop.h"
#include "worker/model/tokenize.h"
#include "worker/model/train.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <unistd.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static const char usage[] =
    "usage: phase-model text|tokenize|train|generate|bench [OPTION VALUE]... | --help | --version\n"
    "`phase-model COMMAND --help` lists the options of a command.\n";

static int print_error(const struct error *err, int exit_code)
{
    char message[sizeof err->where + sizeof err->message];
    fprintf(stderr, "phase-model: %s\n", error_text(err, message, sizeof message));
    if (exit_code == EXIT_USAGE)
        fputs(usage, stderr);
    return exit_code;
}

/* Reads the options that train and bench have in common, and finds the device. Returns -1 if the
 * program can go on, otherwise the exit code. */
static int take_options(struct options *options, const char *name, char **words, char **all)
{
    struct error err;
    int exit_code = options_read(options, name, words);
    if (exit_code >= 0)
        return exit_code;
    int status = device_choose(options->device, all, &err);
    if (status < 0)
        return status == -ERANGE ? option_refuse(name, &err) : print_error(&err, EXIT_FAILED);
    /* Readers of logs want whole lines as soon as they are printed, also through a pipe. */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    return -1;
}

static int command_train(char **words, char **all)
{
    struct options options;
    struct ranks_place place;
    struct error err;
    int exit_code = take_options(&options, "phase-model train", words, all);
    if (exit_code >= 0)
        return exit_code;
    stop_install();
    if (ranks_place_from_environment(&place, &err) < 0 || train_run(&options, &place, &err) < 0)
        return print_error(&err, EXIT_FAILED);
    return EXIT_OK;
}

static int command_bench(char **words, char **all)
{
    struct options options;
    struct error err;
    int exit_code = take_options(&options, "phase-model bench", words, all);
    if (exit_code >= 0)
        return exit_code;
    return bench_run(&options, &err) < 0 ? print_error(&err, EXIT_FAILED) : EXIT_OK;
}

static int command_generate(char **words, char **all)
{
    struct generate_options options;
    struct error err;
    int exit_code = generate_read(&options, words);
    if (exit_code >= 0)
        return exit_code;
    int status = device_choose(options.device, all, &err);
    if (status < 0)
        return status == -ERANGE ? option_refuse("phase-model generate", &err)
                                 : print_error(&err, EXIT_FAILED);
    stop_install();
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    return generate_run(&options, &err) < 0 ? print_error(&err, EXIT_FAILED) : EXIT_OK;
}

static int command_tokenize(char **words)
{
    struct tokenize_options options;
    struct error err;
    int exit_code = tokenize_read(&options, words);
    if (exit_code >= 0)
        return exit_code;
    return tokenize_run(&options, &err) < 0 ? print_error(&err, EXIT_FAILED) : EXIT_OK;
}

/* Returns the exit code. */
static int run(int count, char **arguments)
{
    struct error err;
    const char *command = count > 1 ? arguments[1] : "";
    if (sodium_init() < 0) {
        error_set(&err, -ENOSYS, "cannot start libsodium");
        return print_error(&err, EXIT_FAILED);
    }
    if (text_equal(command, "train"))
        return command_train(arguments + 2, arguments);
    if (text_equal(command, "bench"))
        return command_bench(arguments + 2, arguments);
    if (text_equal(command, "generate"))
        return command_generate(arguments + 2, arguments);
    if (text_equal(command, "tokenize"))
        return command_tokenize(arguments + 2);
    if (text_equal(command, "text"))
        return prose_command(arguments + 2);
    if (text_equal(command, "--version")) {
        printf("phase-model %s\n", PACKAGE_VERSION);
        return EXIT_OK;
    }
    if (text_equal(command, "--help") || text_equal(command, "-h")) {
        fputs(usage, stdout);
        return EXIT_OK;
    }
    if (*command)
        error_set(&err, -EINVAL, "%s: no such command", command);
    else
        error_set(&err, -EINVAL, "a command is missing");
    return print_error(&err, EXIT_USAGE);
}

int main(int count, char **arguments)
{
    int exit_code = run(count, arguments);
    if (!kernels_are_left())
        return exit_code;
    (void)fflush(NULL); /* a reader may be gone */
    _exit(exit_code);
}
