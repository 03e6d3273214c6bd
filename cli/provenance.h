/* Which code a submission runs: the git commit of the current folder, the changes since that
 * commit, and a copy of the code if the workflow asks for one. Without a repository, nothing is
 * captured. */
#ifndef PHASED_CLI_PROVENANCE_H
#define PHASED_CLI_PROVENANCE_H

#include <jansson.h>

struct cli;
struct error;

/* The variable that names a folder of code that came from another machine. Beside the folder are
 * FOLDER.json, which that machine has captured, and FOLDER.files: the files, with a NUL after
 * each. */
#define PROVENANCE_FOLDER "PHASED_CODE"

/* Returns a new object of texts: "root", "commit", "branch", "diff" (against the commit; absent
 * when it is too long or not text), "diff_note" (why there is no diff, or no commit although there
 * is a repository), "untracked" (one name a line; these files are new), "untracked_sum" (of the new
 * files; absent if it is not known) and "packages" of the active Python environment (one
 * name==version a line). */
json_t *provenance_capture(void);

/* Returns the same without "packages", always of the current folder. */
json_t *provenance_capture_code(void);

/* Copies the repository of `provenance`, with its changes and without ignored files, to a new
 * folder `key` in the home. `ret_workdir` is the folder `workdir` of the repository within the
 * copy; the caller frees it. Also removes the parts of copies that killed submissions have left. */
int provenance_snapshot(const struct cli *cli, const json_t *provenance, const char *workdir,
                        const char *key, char **ret_workdir, struct error *err);

/* Removes a copy that nothing is going to use. */
void provenance_discard(const struct cli *cli, const char *key);

#endif
