/* Verbs that run on another machine. */
#ifndef PHASED_CLI_REMOTE_REMOTE_H
#define PHASED_CLI_REMOTE_REMOTE_H

struct cli;

/* Runs `cli->verb` with these words by the phasectl of the host `login`, over ssh. Returns the
 * exit code of the verb. */
int remote_verb(struct cli *cli, const char *login, char **words);

#endif
