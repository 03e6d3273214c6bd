/* phase-preflight-gpu: measures one row of phase-preflight's full level, and tells its lines. */
#include "lib/error.h"
#include "lib/text.h"
#include "worker/clock.h"
#include "worker/preflight/gpu/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, SIZE_MAX_KNOWN = 1 << 20 };

static int (*const measures[FIGURE_ROW_COUNT])(struct bench *bench) = {
    [FIGURE_ROW_HBM] = hbm_measure,
    [FIGURE_ROW_MATRIX] = matrix_measure,
    [FIGURE_ROW_COPIES] = copies_measure,
    [FIGURE_ROW_PEERS] = peers_measure,
    [FIGURE_ROW_ALLREDUCE] = allreduce_measure,
};

static const struct option options[] = {
    {"row", required_argument, NULL, 'r'},
    {"size", required_argument, NULL, 's'},
    {"deadline-ms", required_argument, NULL, 'd'},
    {"gpus", required_argument, NULL, 'u'},
    {"groups", required_argument, NULL, 'g'},
    {"nodes", required_argument, NULL, 'n'},
    {"node", required_argument, NULL, 'k'},
    {"rendezvous", required_argument, NULL, 'v'},
    {0},
};

struct request {
    enum figure_row row;
    unsigned long size, deadline_ms, gpus, nodes, node;
    const char *groups;
};

static int complain(const char *what, const char *value)
{
    fprintf(stderr, "phase-preflight-gpu: %s: %s\n", value, what);
    return EXIT_USAGE;
}

/* Returns whether `text` is a whole number from `least` to `most`. */
static bool read_number(const char *text, unsigned long least, unsigned long most,
                        unsigned long *ret_number)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || number < least || number > most)
        return false;
    *ret_number = number;
    return true;
}

/* Returns whether the option and its value are known. */
static bool take_option(struct request *request, struct bench *bench, int option, const char *value)
{
    switch (option) {
    case 'r':
        request->row = figure_row_of_name(value);
        return request->row != FIGURE_ROW_COUNT;
    case 's':
        return read_number(value, 1, SIZE_MAX_KNOWN, &request->size);
    case 'd':
        return read_number(value, 1, 3600000, &request->deadline_ms);
    case 'u':
        return read_number(value, 1, FACTS_GPUS_MAX, &request->gpus);
    case 'n':
        return read_number(value, 1, GROUPS_RANKS_MAX, &request->nodes);
    case 'k':
        return read_number(value, 0, GROUPS_RANKS_MAX, &request->node);
    case 'g':
        request->groups = value;
        return true;
    default:
        bench->rendezvous = value;
        return true;
    }
}

/* What libraries print must not come between the lines, so these have a file of their own. */
static FILE *keep_output(void)
{
    int copy = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), nowhere = open("/dev/null", O_WRONLY);
    if (copy < 0 || nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
        return NULL;
    close(nowhere);
    return fdopen(copy, "w");
}

/* Settings of the user's programs that would make calls wait by themselves, or all groups one. */
static void forget_settings(void)
{
    static const char *const names[] = {"CUDA_LAUNCH_BLOCKING", "NCCL_COMM_BLOCKING",
                                        "NCCL_COMM_ID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unsetenv(names[i]); /* fails for names with `=` only */
}

int main(int count, char **arguments)
{
    static struct bench bench; /* large, and zeroed */
    struct request request = {FIGURE_ROW_COUNT, 0, 0, 0, 1, 0, ""};
    struct error err;
    for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;)
        if (option == '?' || !take_option(&request, &bench, option, optarg))
            return complain("not understood", option == '?' ? "an option" : optarg);
    if (optind < count || request.row == FIGURE_ROW_COUNT || !request.size ||
        !request.deadline_ms || !request.gpus || request.node >= request.nodes)
        return complain("--row, --size, --deadline-ms and --gpus are needed", "options");
    int rc = request.groups[0] ? groups_of_text(request.groups, (unsigned)request.nodes,
                                                (unsigned)request.gpus, &bench.groups, &err)
                               : groups_of_layout("pipeline=1,data=1", 1, 1, &bench.groups, &err);
    if (rc < 0)
        return complain("not understood", err.message);
    bench.groups.rank_count_of_node = (unsigned)request.gpus;
    bench.size = request.size;
    bench.node = (unsigned)request.node;
    bench.end_ms = clock_steady_ms() + (int64_t)request.deadline_ms;
    forget_settings();
    bench.output = keep_output();
    if (!bench.output)
        return complain("cannot be kept apart", "output");
    if (bench_open(&bench) == 0)
        (void)measures[request.row](&bench); /* what kept it from its end was told */
    (void)fputs("end\n", bench.output);
    (void)fflush(bench.output); /* a reader that is gone misses it */
    if (bench.last_step)
        bench.last_step();
    /* Not exit(): what CUDA does at the end may wait for a GPU that does not answer. */
    _exit(0);
}
