/* The costs of recognising failures on a node.
 *
 *   bench_failures keep FOLDER LINES   keeps the newest lines, and writes them to a log in the
 *                                      folder; prints the ns per line of both
 *   bench_failures look                searches the newest lines of 8 ranks after a failure;
 *                                      prints ms */
#include "lib/failures/catalogue.h"
#include "lib/failures/recognizer.h"
#include "lib/text.h"
#include "worker/node/ranklog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FAILURES_RANKS = 8, FAILURES_CHUNK = 60000 };

static double failures_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Makes the n-th line of a trainer. */
static void failures_line(unsigned n, struct text *line)
{
    text_clear(line);
    text_addf(line,
              "step %05u/50000 (%.2f%%) | loss: %.6f | grad norm: %.4f | lrm: 1.00 | dt: %.2fms | "
              "tok/sec: %u | mfu: 41.%02u\n",
              n, n / 500.0, 5.0 - n * 1e-6, 0.5 + (n % 97) / 100.0, 200 + (n % 13) / 10.0,
              374000 + n % 1000, n % 100);
}

static void failures_keep(const char *folder, unsigned lines)
{
    struct text line = {0}, chunk = {0};
    struct text recent = {0};
    struct ranklog *ranklog = ranklog_open(folder, 0, 0);
    double begin_s = failures_now_s();
    for (unsigned i = 0; i < lines; i++) {
        failures_line(i, &line);
        recent_add(&recent, line.data, line.size);
    }
    double keep_s = failures_now_s() - begin_s;
    begin_s = failures_now_s();
    for (unsigned i = 0; i < lines; i++)
        failures_line(i, &line);
    double nothing_s = failures_now_s() - begin_s;
    begin_s = failures_now_s();
    for (unsigned i = 0; i < lines; i++) {
        failures_line(i, &line);
        text_add_bytes(&chunk, line.data, line.size);
        if (chunk.size < FAILURES_CHUNK)
            continue;
        ranklog_feed(ranklog, chunk.data, chunk.size);
        text_clear(&chunk);
    }
    double log_s = failures_now_s() - begin_s;
    ranklog_close(ranklog);
    text_fini(&recent);
    text_fini(&line);
    text_fini(&chunk);
    /* ns per line */
    printf("%.0f %.0f\n", (keep_s - nothing_s) * 1e9 / lines, (log_s - nothing_s) * 1e9 / lines);
}

static void failures_look(void)
{
    struct spec_problems problems = {0};
    struct text text = {0}, line = {0};
    struct finding finding;
    unsigned found = 0;
    for (unsigned i = 0; text.size < RECENT_SIZE_MAX - 300; i++) {
        failures_line(i, &line);
        text_addf(&text, "2026-11-20T12:%02u:%02u.250Z %s", i / 600 % 60, i / 10 % 60, line.data);
    }
    text_add(&text, "2026-11-20T12:59:59.250Z RuntimeError: something else\n");
    json_t *catalogue = catalogue_read(NULL, 0, &problems);
    double begin_s = failures_now_s();
    struct recognizer *recognizer = recognizer_new(catalogue);
    for (unsigned i = 0; i < FAILURES_RANKS; i++)
        found += recognizer_look(recognizer, text.data, text.size, &finding);
    recognizer_free(recognizer);
    printf("%.1f\n", 1000 * (failures_now_s() - begin_s));
    if (found != FAILURES_RANKS)
        abort();
    json_decref(catalogue);
    text_fini(&text);
    text_fini(&line);
}

int main(int argc, char **argv)
{
    unsigned lines = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    if (lines && text_equal(argv[1], "keep"))
        failures_keep(argv[2], lines);
    else if (argc == 2 && text_equal(argv[1], "look"))
        failures_look();
    else
        return 2;
    return 0;
}
