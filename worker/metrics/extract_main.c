/* `phase-worker extract`: shows what `metrics:` would read from a log, before any run. */
#include "worker/metrics/extract_main.h"

#include "lib/error.h"
#include "lib/metrics/extract.h"
#include "lib/metrics/speed.h"
#include "lib/option.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] = "usage: phase-worker extract [OPTION]... < LOG\n"
                            "\n"
                            "Prints what would be read from a log: one JSON object a line.\n";

static void extract_print(void *context, const struct extract_row *row)
{
    struct text *text = context;
    text_clear(text);
    extract_row_write(row, text);
    text_add(text, "\n");
    (void)fwrite(text->data, 1, text->size, stdout); /* ferror() shows a failure at the end */
}

/* Returns -1 if the program can continue, otherwise the exit code. */
static int extract_parse(char **words, struct extract_options *options)
{
    bool is_file = false;
    const struct option_rule rules[] = {
        {"pattern", 0, "PATTERN", "a PCRE2 pattern with named groups", .text = &options->pattern},
        {"file", 0, NULL, "only JSON lines, as in a metrics file", .flag = &is_file},
        {"step", 0, "NAME", "the name of the value that is the step", .text = &options->step_name},
        {0},
    };
    int exit_code = option_main("phase-worker extract", usage, words, rules, NULL);
    if (exit_code >= 0)
        return exit_code;
    if (is_file && options->pattern) {
        (void)fputs("phase-worker extract: --file takes no --pattern\n", stderr);
        return 2;
    }
    options->kind = is_file ? EXTRACT_FILE : options->pattern ? EXTRACT_PATTERN : EXTRACT_AUTO;
    return -1;
}

int extract_main(char **words)
{
    struct extract_options options = {0};
    struct extract *extract = NULL;
    struct text text = {0};
    struct error err;
    char chunk[65536], where[600];
    ssize_t size;
    int exit_code = extract_parse(words, &options);
    if (exit_code >= 0)
        return exit_code;
    if (extract_new(&options, extract_print, &text, &extract, &err) < 0) {
        (void)fprintf(stderr, "phase-worker extract: %s\n", error_text(&err, where, sizeof where));
        return 2;
    }
    speed_want_of(extract);
    while ((size = read(STDIN_FILENO, chunk, sizeof chunk)) != 0) {
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            break;
        extract_feed(extract, chunk, (size_t)size);
        (void)fflush(stdout); /* a training may write into the pipe; ferror() shows a failure */
    }
    if (size < 0)
        (void)fprintf(stderr, "phase-worker extract: cannot read the log: %s\n", strerror(errno));
    extract_end(extract);
    char *left_out = extract_left_out(extract);
    if (left_out)
        (void)fprintf(stderr, "phase-worker extract: %s\n", left_out);
    free(left_out);
    extract_free(extract);
    text_fini(&text);
    bool is_written = fflush(stdout) == 0 && !ferror(stdout);
    if (!is_written)
        (void)fprintf(stderr, "phase-worker extract: cannot write: %s\n", strerror(errno));
    return size == 0 && is_written ? 0 : 1;
}
