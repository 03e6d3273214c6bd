/* phase-preflight-gpu: measures one row of phase-preflight's full level, and prints its lines. */
#include "lib/clock.h"
#include "lib/error.h"
#include "lib/option.h"
#include "worker/preflight/gpu/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE_MAX_KNOWN = 1 << 20, DEADLINE_MS_MAX = 3600000 };

static int (*const measures[FIGURE_ROW_COUNT])(struct bench *bench) = {
    [FIGURE_ROW_HBM] = hbm_measure,
    [FIGURE_ROW_MATRIX] = matrix_measure,
    [FIGURE_ROW_COPIES] = copies_measure,
    [FIGURE_ROW_PEERS] = peers_measure,
    [FIGURE_ROW_ALLREDUCE] = allreduce_measure,
};

static const char name[] = "phase-preflight-gpu";
static const char usage[] = "usage: phase-preflight-gpu [OPTION]...\n"
                            "\n"
                            "Measures one row of the full level of phase-preflight, which starts "
                            "this program.\n";

struct request {
    enum figure_row row;
    unsigned size, deadline_ms, start_ms, gpus, nodes, node;
    const char *groups;
};

/* Returns -1 if the program can go on, otherwise the exit code. */
static int read_words(struct request *request, struct bench *bench, char **words)
{
    struct error err;
    const char *row = "";
    const struct option_rule rules[] = {
        {"row", 0, "NAME", "what to measure", .text = &row},
        {"size", 0, "N", "how much data: MiB, or elements", .number = &request->size, .least = 1,
         .most = SIZE_MAX_KNOWN},
        {"deadline-ms", 0, "N", "when to give up, without starts", .number = &request->deadline_ms,
         .least = 1, .most = DEADLINE_MS_MAX},
        {"start-ms", 0, "N", "when to give up a start of CUDA or NCCL",
         .number = &request->start_ms, .least = 1, .most = DEADLINE_MS_MAX},
        {"gpus", 0, "N", "how many GPUs", .number = &request->gpus, .least = 1,
         .most = FACTS_GPUS_MAX},
        {"groups", 0, "LIST", "ranks that reduce together", .text = &request->groups},
        {"nodes", 0, "N", "how many nodes", .number = &request->nodes, .least = 1,
         .most = GROUPS_RANKS_MAX},
        {"node", 0, "K", "which of these nodes this is, from 0", .number = &request->node,
         .most = GROUPS_RANKS_MAX},
        {"rendezvous", 0, "FOLDER", "where the nodes meet", .text = &bench->rendezvous},
        {0},
    };
    int exit_code = option_main(name, usage, words, rules, NULL);
    if (exit_code >= 0)
        return exit_code;
    request->row = figure_row_of_name(row);
    if (request->row == FIGURE_ROW_COUNT || !request->size || !request->deadline_ms ||
        !request->start_ms || !request->gpus)
        (void)error_set(&err, -EINVAL,
                        "--row, --size, --deadline-ms, --start-ms and --gpus are needed");
    else if (request->node >= request->nodes)
        (void)error_set(&err, -EINVAL, "--node must be less than --nodes");
    else
        return -1;
    return option_refuse(name, &err);
}

/* Opens the output for the lines as a file of its own, so that nothing that libraries print comes
 * between them. */
static FILE *keep_output(void)
{
    int copy = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), nowhere = open("/dev/null", O_WRONLY);
    if (copy < 0 || nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
        return NULL;
    close(nowhere);
    return fdopen(copy, "w");
}

/* Removes settings of the user's programs that would make calls block, or make one group of all. */
static void forget_settings(void)
{
    static const char *const names[] = {"CUDA_LAUNCH_BLOCKING", "NCCL_COMM_BLOCKING",
                                        "NCCL_COMM_ID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unsetenv(names[i]); /* fails only for names with `=` */
}

int main(int count, char **arguments)
{
    static struct bench bench; /* large, and zeroed */
    struct request request = {.nodes = 1, .groups = ""};
    struct error err;
    (void)count;
    int exit_code = read_words(&request, &bench, arguments + 1);
    if (exit_code >= 0)
        return exit_code;
    int status =
        request.groups[0]
            ? groups_of_text(request.groups, request.nodes, request.gpus, &bench.groups, &err)
            : groups_of_layout("pipeline=1,data=1", 1, 1, &bench.groups, &err);
    if (status < 0)
        return option_refuse(name, &err);
    bench.groups.rank_count_of_node = request.gpus;
    bench.size = request.size;
    bench.node = request.node;
    bench.start_ms = (int64_t)request.start_ms;
    bench.left_ms = (int64_t)request.deadline_ms;
    bench.end_ms = clock_steady_ms() + bench.start_ms;
    forget_settings();
    bench.output = keep_output();
    if (!bench.output) {
        fprintf(stderr, "%s: opening the output: %s\n", name, strerror(errno));
        return EXIT_FAILURE;
    }
    if (bench_open(&bench) == 0) {
        bench_ready(&bench);
        (void)measures[request.row](&bench); /* failures were reported */
    }
    (void)fputs("end\n", bench.output);
    (void)fflush(bench.output); /* the reader may be gone */
    if (bench.last_step)
        bench.last_step();
    /* Not exit(): at the end CUDA may wait for a GPU that does not answer. */
    _exit(0);
}
