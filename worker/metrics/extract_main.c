/* `phase-worker extract`: shows what `metrics:` would read from a log, before any run. */
#include "worker/metrics/extract_main.h"

#include "lib/error.h"
#include "lib/text.h"
#include "worker/metrics/extract.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char usage[] = "usage: phase-worker extract [OPTION]... < LOG\n"
                            "Prints what would be read from a log, one JSON object a line.\n"
                            "\n"
                            "  --pattern=PATTERN  a PCRE2 pattern with named groups\n"
                            "  --file             JSON lines only, as of a metrics file\n"
                            "  --step=NAME        the value that is the step\n";

static void extract_print(void *context, const struct extract_row *row)
{
    struct text *text = context;
    text_clear(text);
    extract_row_write(row, text);
    text_add(text, "\n");
    (void)fwrite(text->data, 1, text->size, stdout); /* told by ferror() at the end */
}

static int extract_parse(int argc, char **argv, struct extract_options *options)
{
    static const struct option long_options[] = {{"pattern", required_argument, NULL, 'p'},
                                                 {"file", no_argument, NULL, 'f'},
                                                 {"step", required_argument, NULL, 's'},
                                                 {"help", no_argument, NULL, 'h'},
                                                 {NULL, 0, NULL, 0}};
    int option;
    optind = 1;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) >= 0) {
        switch (option) {
        case 'p':
            options->kind = EXTRACT_PATTERN;
            options->pattern = optarg;
            break;
        case 'f':
            options->kind = EXTRACT_FILE;
            break;
        case 's':
            options->step_name = optarg;
            break;
        case 'h':
            (void)fputs(usage, stdout); /* nothing to be done about it */
            return 1;
        default:
            return -EINVAL;
        }
    }
    return optind == argc ? 0 : -EINVAL;
}

int extract_main(int argc, char **argv)
{
    struct extract_options options = {.kind = EXTRACT_AUTO};
    struct extract *extract = NULL;
    struct text text = {0};
    struct error err;
    char chunk[65536], where[600];
    ssize_t size;
    int parsed = extract_parse(argc, argv, &options);
    if (parsed) {
        if (parsed < 0)
            (void)fputs(usage, stderr); /* nothing to be done about it */
        return parsed < 0 ? 2 : 0;
    }
    if (extract_new(&options, extract_print, &text, &extract, &err) < 0) {
        (void)fprintf(stderr, "phase-worker extract: %s\n", error_text(&err, where, sizeof where));
        return 2;
    }
    while ((size = read(STDIN_FILENO, chunk, sizeof chunk)) != 0) {
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            break;
        extract_feed(extract, chunk, (size_t)size);
    }
    if (size < 0)
        (void)fprintf(stderr, "phase-worker extract: cannot read the log: %s\n", strerror(errno));
    extract_end(extract);
    extract_free(extract);
    text_fini(&text);
    bool is_written = fflush(stdout) == 0 && !ferror(stdout);
    if (!is_written)
        (void)fprintf(stderr, "phase-worker extract: cannot write: %s\n", strerror(errno));
    return size == 0 && is_written ? 0 : 1;
}
