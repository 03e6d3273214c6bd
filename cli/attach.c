/* phasectl attach: a shell, or another program, beside the ranks of a run. It is a job step that
 * srun starts, with the GPUs, CPUs and memory of the job. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ATTACH_WORDS_MAX = 16 }; /* words of srun, without the words of the program */

/* Says why nobody can attach to a run; NULL if somebody can. The caller frees the text. */
static char *attach_refusal(const json_t *run)
{
    const char *address = field_text(run, "address");
    const char *reason = field_text(run, "job_reason"), *cause = field_text(run, "cause");
    long long job = field_integer(run, "job_id");
    int state = field_run_state(run);
    if (state == RUN_SUBMITTING)
        return text_format("%s is not in the queue of Slurm yet", address);
    if (state == RUN_PENDING)
        return text_format("%s waits in the queue of Slurm as job %lld%s%s%s: attach when it runs",
                           address, job, reason[0] ? " (" : "", reason, reason[0] ? ")" : "");
    if (state == RUN_ENDED)
        return text_format("%s has ended (%s%s%s): attach to a run that is running", address,
                           field_text(run, "outcome"), cause[0] ? ": " : "", cause);
    if (json_is_number(json_object_get(run, "job_absent_since")))
        return text_format("Slurm does not know job %lld of %s at the moment: 'phasectl why %s' "
                           "shows since when; try again later",
                           job, address, address);
    if (!job || json_array_size(json_object_get(run, "nodes")) == 0)
        return text_format("the nodes of %s are not known yet: try again in a moment", address);
    return NULL;
}

/* The node to use: the given one if the run has it, or the first. */
static const char *attach_node(const json_t *run, const char *wanted, struct error *err)
{
    const json_t *nodes = json_object_get(run, "nodes"), *node;
    struct text names = {0};
    size_t i;
    json_array_foreach(nodes, i, node)
    {
        if (!wanted || text_equal(json_string_value(node), wanted)) {
            text_fini(&names);
            return json_string_value(node);
        }
        text_addf(&names, "%s%s", i ? ", " : "", json_string_value(node));
    }
    (void)error_set(err, -ENOENT, "%s does not run on %s; its nodes are %s",
                    field_text(run, "address"), wanted, text_string(&names));
    text_fini(&names);
    return NULL;
}

/* phasectl may run inside a job. Removes the variables of this job, because srun would obey
 * them. */
static void attach_clean_environment(void)
{
    static const char *const prefixes[] = {"SLURM_", "SRUN_", "SLURMD_"};
    for (char **at = environ; *at;) {
        bool is_theirs = false;
        for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
            is_theirs = is_theirs || text_starts(*at, prefixes[i]);
        if (!is_theirs || text_starts(*at, "SLURM_CONF=")) {
            at++;
            continue;
        }
        char *name = xstrndup(*at, strcspn(*at, "="));
        (void)unsetenv(name); /* moves the others, so `at` is the next one */
        free(name);
    }
}

/* Gives the shell the paths of the run. The agent of the node stops each job step whose
 * PHASED_RUN_DIR is exactly the text of the run, and waits for this job step. So the shell gets
 * another text for the same folder. */
static void attach_set_environment(const struct cli *cli, const json_t *run, const json_t *phase)
{
    char *folder = text_format("%s/.", field_text(run, "run_dir"));
    (void)setenv("PHASED_RUN_DIR", folder, 1); /* these fail only without memory */
    (void)setenv("PHASED_OUT", field_text(phase, "out"), 1);
    home_choose_slurm(&cli->home); /* as the daemon does */
    free(folder);
}

/* Becomes srun. Returns only when that fails. */
static int attach_become(const json_t *run, const char *node, const char *folder, char **program)
{
    const char *shell = getenv("SHELL");
    char *const shell_words[] = {(char *)(shell && shell[0] ? shell : "/bin/sh"), NULL};
    char *const *command = program && *program ? program : shell_words;
    size_t program_count = 0, count = 0;
    struct error err;
    while (command[program_count])
        program_count++;
    char **words = xcalloc(ATTACH_WORDS_MAX + program_count + 1, sizeof *words);
    words[count++] = xstrdup("srun");
    words[count++] = text_format("--jobid=%lld", field_integer(run, "job_id"));
    words[count++] = text_format("--nodelist=%s", node);
    words[count++] = text_format("--chdir=%s", folder);
    static const char *const rest[] = {"--quiet",    "--overlap",       "--nodes=1",
                                       "--ntasks=1", "--cpu-bind=none", "--mem=0"};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
        words[count++] = xstrdup(rest[i]);
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        words[count++] = xstrdup("--pty");
    for (size_t i = 0; i < program_count; i++)
        words[count++] = xstrdup(command[i]);
    (void)signal(SIGPIPE, SIG_DFL); /* as a shell would start it */
    (void)execvp(words[0], words);
    (void)error_set(&err, -errno, "cannot run srun: %s", strerror(errno));
    for (size_t i = 0; i < count; i++)
        free(words[i]);
    free(words);
    return cli_fail(&err);
}

static int attach_to(struct cli *cli, struct address *address, const char *wanted, char **program)
{
    struct address phase_address, workflow_address = {.workflow = address->workflow};
    json_t *run = NULL, *phase = NULL, *workflow = NULL;
    const char *node = NULL;
    char *refusal = NULL;
    struct error err;
    int status = client_find_run(cli, address, &err);
    phase_address = *address;
    phase_address.attempt = 0;
    if (status == 0)
        status = client_get_address(cli, address, &run, &err);
    if (status == 0)
        status = client_get_address(cli, &phase_address, &phase, &err);
    if (status == 0)
        status = client_get_address(cli, &workflow_address, &workflow, &err);
    if (status == 0 && (refusal = attach_refusal(run)))
        status = error_set(&err, -EBUSY, "%s", refusal);
    if (status == 0 && !(node = attach_node(run, wanted, &err)))
        status = -ENOENT;
    int exit_code = CLI_FAILED;
    if (status < 0) {
        exit_code = cli_fail(&err);
    } else {
        attach_clean_environment();
        attach_set_environment(cli, run, phase);
        exit_code = attach_become(run, node, field_text(workflow, "workdir"), program);
    }
    free(refusal);
    json_decref(workflow);
    json_decref(phase);
    json_decref(run);
    return exit_code;
}

int attach_verb(struct cli *cli, char **words)
{
    const char *node = NULL;
    const struct option_rule rules[] = {
        {"node", 0, "NODE", "open it on this node (the first node of the run)", .text = &node},
        {0},
    };
    struct option_arguments arguments = {.min = 1, .max = 1, .has_rest = true};
    struct address address;
    struct error err;
    int exit_code;
    if (!options_parse(cli, words, rules, &arguments, &exit_code))
        return exit_code;
    if (address_parse(arguments.items[0], &address, &err) < 0)
        return cli_usage(cli, "%s", err.message);
    return attach_to(cli, &address, node, arguments.rest);
}
