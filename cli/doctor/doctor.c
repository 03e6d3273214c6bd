/* phasectl doctor: what on this machine, in Slurm and in the home will harm phased, and what to do.
 * It changes nothing, and needs neither a daemon nor a Slurm that answers. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/doctor/finding.h"
#include "cli/doctor/machine.h"
#include "cli/doctor/phased.h"
#include "cli/doctor/slurm.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void doctor_print(const struct cli *cli, const json_t *findings)
{
    struct text text = {0};
    if (cli->as_json) {
        client_print_json(findings);
        return;
    }
    finding_write(findings, &cli->out, &text);
    cli_print(&text);
}

/* Chooses the Slurm that the daemon would choose. Returns whether it is the sandbox of the home. */
static bool doctor_choose_slurm(const struct cli *cli)
{
    home_choose_slurm(&cli->home);
    const char *chosen = getenv("SLURM_CONF");
    return chosen && text_equal(chosen, cli->home.slurm_conf);
}

/* Returns false if SLURM_CONF cannot be read: Slurm's programs would then try for a minute. */
static bool doctor_has_slurm(json_t *findings)
{
    const char *path = getenv("SLURM_CONF");
    if (!path || access(path, R_OK) == 0)
        return true;
    finding_add(findings, FINDING_ERROR, "slurm.conf", "set SLURM_CONF to Slurm's configuration",
                "cannot read %s, which SLURM_CONF names: %s", path, strerror(errno));
    return false;
}

int doctor_verb(struct cli *cli, char **words)
{
    const struct option_rule rules[] = {
        {"json", 0, NULL, "print the findings as JSON", .flag = &cli->as_json},
        {0},
    };
    struct option_arguments arguments = {.max = 0};
    char built[64];
    int exit_code;
    if (!options_parse(cli, words, rules, &arguments, &exit_code))
        return exit_code;
    json_t *findings = json_array();
    bool is_sandbox = doctor_choose_slurm(cli);
    machine_look(cli, is_sandbox, findings);
    phased_look_at_programs(is_sandbox, built, sizeof built, findings);
    phased_look_at_home(cli, findings);
    if (doctor_has_slurm(findings)) {
        if (built[0]) /* phased runs at all */
            phased_look_at_configuration(findings);
        slurm_look(built, findings);
    }
    doctor_print(cli, findings);
    exit_code = finding_count(findings, FINDING_ERROR) > 0 ? CLI_FAILED : CLI_OK;
    json_decref(findings);
    return exit_code;
}
