/* The table of verbs. It is the only list of verbs, and only main.c uses it. */
#ifndef PHASED_CLI_VERBS_H
#define PHASED_CLI_VERBS_H

#include "cli/cli.h"

#include <stddef.h>

extern const struct verb verbs[];
extern const size_t verb_count;

/* NULL if no verb has this name. */
const struct verb *verb_find(const char *name);

/* The verbs that `name` may mean, for "did you mean", with quotes: 'why' or 'gate'. The caller
 * frees the text. NULL: no verb is near. */
char *verb_suggest(const char *name);

/* The functions of the table. Each has a file; verbs that only ask the daemon to act share one. */
int submit_verb(struct cli *cli, char **words);
int check_verb(struct cli *cli, char **words);
int plan_verb(struct cli *cli, char **words);
int rehearse_verb(struct cli *cli, char **words);
int import_verb(struct cli *cli, char **words);
int show_verb(struct cli *cli, char **words);
int status_verb(struct cli *cli, char **words);
int why_verb(struct cli *cli, char **words);
int diff_verb(struct cli *cli, char **words);
int watch_verb(struct cli *cli, char **words);
int attach_verb(struct cli *cli, char **words);
int events_verb(struct cli *cli, char **words);
int top_verb(struct cli *cli, char **words);
int open_verb(struct cli *cli, char **words);
int mcp_verb(struct cli *cli, char **words);
int logs_verb(struct cli *cli, char **words);
int metrics_verb(struct cli *cli, char **words);
int gpus_verb(struct cli *cli, char **words);
int gate_verb(struct cli *cli, char **words);
int action_verb(struct cli *cli, char **words);
int retry_verb(struct cli *cli, char **words);
int runs_verb(struct cli *cli, char **words);
int cost_verb(struct cli *cli, char **words);
int budget_verb(struct cli *cli, char **words);
int nodes_verb(struct cli *cli, char **words);
int failures_verb(struct cli *cli, char **words);
int daemon_verb(struct cli *cli, char **words);
int doctor_verb(struct cli *cli, char **words);
int sandbox_verb(struct cli *cli, char **words);

#endif
