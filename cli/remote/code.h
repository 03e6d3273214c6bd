/* The code that a submission runs: the git repository of the current folder, or the current folder.
 * The code is copied to a folder `code/NAME-DIGEST` in the home of the host. That folder belongs to
 * this folder of this machine alone. The files that git ignores and the .git folder stay here.
 *
 * A verb that only looks at files copies these files to `code/NAME-DIGEST-look`. Runs that wait use
 * the code in `code/NAME-DIGEST`, and a look must not change that code. */
#ifndef PHASED_CLI_REMOTE_CODE_H
#define PHASED_CLI_REMOTE_CODE_H

#include "lib/text.h"

#include <stdbool.h>

struct connection;
struct error;

struct code {
    char *root;        /* of the repository, or the current folder */
    char *below;       /* the current folder, from the root: "" or "sub/folder" */
    char *name;        /* NAME-DIGEST, or NAME-DIGEST-look */
    bool is_look;      /* only the files that code_add() adds are copied */
    int lock;          /* keeps other looks from changing the files; -1: not locked */
    struct text names; /* of the files, from the root: "./README"; a NUL after each */
};

/* Lists the files of the current folder's code; for a look, lists no file. Refuses a whole home
 * folder, unless the code is a look. The caller calls code_fini(), also after a failure. */
int code_init(struct code *code, bool is_look, struct error *err);
void code_fini(struct code *code);

/* Adds the file `path`, also if git ignores it. Sets `ret_path` to the path from the current
 * folder; the caller frees it. Returns -ENOENT if there is no such file here: the host may have it,
 * such as /dev/stdin. Returns -EXDEV if the file is outside of the code. */
int code_add(struct code *code, const char *path, char **ret_path, struct error *err);

/* Copies the code, and tells the host the commit. Files of an earlier copy that are gone here are
 * removed there, too. What programs wrote there stays. The files of a look stay until
 * code_fini(). */
int code_send(const struct connection *connection, struct code *code, struct error *err);

#endif
