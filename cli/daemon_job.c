/* Runs the script `daemon-job`. */
#include "cli/daemon_job.h"

#include "cli/cli.h"
#include "lib/command.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/place.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DAEMON_JOB_MAX_S = 150 }; /* longer than the script waits for a job that ends */

/* Runs the script. `words[0]` gets the path of the script, and the other words follow. The words
 * end with NULL. The first line that the script prints goes to `ret_line`, which may be NULL. */
static int job_run(const char **words, char **ret_line, struct error *err)
{
    struct command_result result;
    char *script = place_library("daemon-job");
    words[0] = script;
    int status = command_run(words, NULL, DAEMON_JOB_MAX_S, &result, err);
    free(script);
    if (status < 0)
        return status;
    if (result.exit_code != 0) {
        char *complaint = command_complaint(&result);
        const char *said = complaint;
        if (text_starts(said, "daemon-job: "))
            said += strlen("daemon-job: ");
        status = error_set(err, -ECHILD, "%s", said[0] ? said : "the script daemon-job failed");
        free(complaint);
    } else if (ret_line) {
        const char *out = text_string(&result.out);
        *ret_line = text_format("%.*s", (int)strcspn(out, "\n"), out);
    }
    command_fini(&result);
    return status;
}

bool daemon_job_is_wanted(const struct cli *cli)
{
    return access(cli->home.job, F_OK) == 0;
}

int daemon_job_want(const struct cli *cli, struct error *err)
{
    static const char wanted[] = "wanted\n"; /* as the script writes it */
    return file_replace(cli->home.job, wanted, sizeof wanted - 1, 0600, err);
}

int daemon_job_start(const struct cli *cli, char **options, char **ret_job, struct error *err)
{
    enum { WORDS = 4 };
    size_t count = 0;
    while (options && options[count])
        count++;
    char *program = place_program("phased");
    const char **words = xcalloc(WORDS + count + 1, sizeof *words);
    words[1] = "start";
    words[2] = cli->home.path;
    words[3] = program;
    for (size_t i = 0; i < count; i++)
        words[WORDS + i] = options[i];
    int status = job_run(words, ret_job, err);
    free(words);
    free(program);
    return status;
}

int daemon_job_stop(const struct cli *cli, struct error *err)
{
    const char *words[] = {NULL, "stop", cli->home.path, NULL};
    return job_run(words, NULL, err);
}

int daemon_job_describe(const struct cli *cli, const char *serving, char **ret_line,
                        struct error *err)
{
    const char *words[] = {NULL, "status", cli->home.path, serving, NULL};
    return job_run(words, ret_line, err);
}
