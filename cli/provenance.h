/* What code a submission runs: the git commit of the folder it is made in, what was changed since,
 * and a copy of it all where the workflow asks for one.
 *
 * git is asked; where there is none, or no repository, nothing is told. */
#ifndef PHASED_CLI_PROVENANCE_H
#define PHASED_CLI_PROVENANCE_H

#include <jansson.h>

struct cli;
struct error;

/* An object of texts, the caller's: "root", "commit", "branch", "diff" (against the commit; absent
 * when it is too long or not text), "diff_note", "untracked" (a name a line) and "packages" of the
 * active Python environment (name==version a line). */
json_t *provenance_capture(void);

/* Copies the repository of `provenance` as it stands, without what git ignores, to a new folder of
 * the home that is named by `key`. Returns where the current folder is in the copy; the caller's
 * to free(). */
int provenance_snapshot(const struct cli *cli, const json_t *provenance, const char *key,
                        char **ret_workdir, struct error *err);

/* Removes such a copy, which nothing is going to use. */
void provenance_discard(const struct cli *cli, const char *key);

#endif
