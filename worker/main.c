/* phase-worker: the program on the allocated nodes. The first argument names the part that runs. */
#include "lib/text.h"
#include "worker/health/inspect.h"
#include "worker/lead/host.h"
#include "worker/lead/lead.h"
#include "worker/metrics/extract_main.h"
#include "worker/node/agent.h"
#include "worker/node/channel.h"
#include "worker/node/task.h"
#include "worker/telemetry/sampler.h"

#include <curl/curl.h>
#include <stdio.h>

static const char usage[] =
    "usage: phase-worker lead JOB_DIR              the batch script of a job\n"
    "       phase-worker host JOB_DIR              the batch script of a job with several phases\n"
    "       phase-worker guest JOB_DIR             the lead of one of these phases\n"
    "       phase-worker task JOB_DIR              the process of a node that Slurm knows\n"
    "       phase-worker node JOB_DIR              the agent of one node\n"
    "       phase-worker metric [step=N] NAME=NUMBER...\n"
    "       phase-worker checkpoint PATH --step N\n"
    "       phase-worker extract [OPTION]... < LOG\n"
    "       phase-worker gpus [OPTION]...\n"
    "       phase-worker inspect PID...\n";

static int main_wrong_usage(void)
{
    (void)fputs(usage, stderr); /* an error of stderr cannot be reported */
    return 2;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    if (text_equal(verb, "--help") || text_equal(verb, "help"))
        return fputs(usage, stdout) < 0;
    if (text_equal(verb, "metric"))
        return channel_metric_main(argc - 1, argv + 1);
    if (text_equal(verb, "checkpoint"))
        return channel_checkpoint_main(argc - 1, argv + 1);
    if (text_equal(verb, "extract"))
        return extract_main(argv + 2);
    if (text_equal(verb, "gpus"))
        return sampler_main(argv + 2);
    if (text_equal(verb, "inspect"))
        return inspect_main(argc - 1, argv + 1);
    bool is_guest = text_equal(verb, "guest"), is_lead = is_guest || text_equal(verb, "lead");
    bool is_host = text_equal(verb, "host");
    bool is_task = text_equal(verb, "task");
    if ((!is_lead && !is_host && !is_task && !text_equal(verb, "node")) || argc != 3)
        return main_wrong_usage();
    if (is_host)
        return host_main(argv[2]);
    if (is_task)
        return task_main(argv[2]);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return 1;
    int exit_code = is_lead ? lead_main(argv[2], is_guest) : agent_main(argv[2]);
    curl_global_cleanup();
    return exit_code;
}
