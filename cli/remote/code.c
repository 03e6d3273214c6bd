/* git lists the files, rsync copies them. */
#include "cli/remote/code.h"

#include "cli/provenance.h"
#include "cli/remote/command.h"
#include "cli/remote/connection.h"
#include "cli/remote/session.h"
#include "lib/command.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/fingerprint.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CODE_GIT_S = 60, /* for a list of files */
    CODE_MACHINE_ID_MAX = 64,
    CODE_NAME_MAX = 40,    /* letters of NAME in NAME-DIGEST */
    CODE_DIGEST_SIZE = 12, /* hexadecimal digits */
    CODE_DEPTH_MAX = 20,   /* repositories inside repositories */
    CODE_QUIET_MIB = 64,   /* a larger copy is announced */
};

/* Reads the commit and the names of the files, with a NUL after each. Removes the files that an
 * earlier list has and this list does not. The second argument is the number of bytes, because a
 * lost connection looks like the end of the list.
 *
 * rsync cannot replace a folder by a file if the folder has something in it. So the empty folders
 * in it are removed, and the folder itself if it is then empty. If programs have written into the
 * folder, the folder gets another name, because nothing that programs wrote is removed. */
static const char code_prepare[] =
    "umask 077\n"
    "code=${PHASED_HOME:-$HOME/.phased}/code/$1\n"
    "mkdir -p \"$code\" && cd \"$code\" && cat >\"$code.new\" || exit 1\n"
    "[ \"$(wc -c <\"$code.new\")\" -eq \"$2\" ] || exit 1\n"
    "head -z -n 1 \"$code.new\" | tr -d '\\0' >\"$code.json\" || exit 1\n"
    "tail -z -n +2 \"$code.new\" | LC_ALL=C sort -zu >\"$code.files.new\" || exit 1\n"
    "rm \"$code.new\"\n"
    "[ ! -f \"$code.files\" ] ||\n"
    "    LC_ALL=C comm -z -23 \"$code.files\" \"$code.files.new\" | xargs -0 -r rm -f --\n"
    "mv -f \"$code.files.new\" \"$code.files\"\n"
    "while IFS= read -r -d '' name; do\n"
    "    [ -d \"$name\" ] && [ ! -L \"$name\" ] || continue\n"
    "    find \"$name\" -depth -type d -empty -delete\n"
    "    [ ! -d \"$name\" ] || mv --backup=numbered -T -- \"$name\" \"$name.aside\" || exit 1\n"
    "done <\"$code.files\"\n";

/* The words of rsync follow the name of the folder. */
static const char code_receive[] = "cd \"${PHASED_HOME:-$HOME/.phased}/code/$1\" && shift &&\n"
                                   "    exec \"$@\"\n";

/* --- Which files ------------------------------------------------------------------------------ */

static bool code_is_repository(const char *folder)
{
    char *path = text_format("%s/.git", folder);
    bool is_so = access(path, F_OK) == 0;
    free(path);
    return is_so;
}

/* With the `./`, rsync does not take a name such as `#1` for a comment. */
static void code_add_name(struct code *code, const char *name)
{
    text_add(&code->names, "./");
    text_add_bytes(&code->names, name, strlen(name) + 1);
}

static bool code_has(const struct code *code, const char *name)
{
    const char *at = text_string(&code->names), *end = at + code->names.size;
    while (at < end && !text_equal(at + strlen("./"), name))
        at += strlen(at) + 1;
    return at < end;
}

/* Lists the files of a repository, and of repositories in it. `below` is "" or ends with a slash.
 * `git_dir` is the repository to use for a folder without a repository, or NULL. */
static int code_list(struct code *code, const char *below, const char *git_dir, unsigned depth,
                     struct error *err)
{
    char *folder = text_format("%s/%s", code->root, below);
    char *dir = git_dir ? text_format("--git-dir=%s", git_dir) : xstrdup("--no-pager");
    char *tree = git_dir ? text_format("--work-tree=%s", folder) : xstrdup("--no-pager");
    const char *const words[] = {
        "git", "-C", folder, dir, tree, "ls-files", "--cached", "--others", "--exclude-standard",
        "-z",  NULL};
    struct command_result result;
    int status = command_ask(words, CODE_GIT_S, &result, err);
    free(tree);
    free(dir);
    free(folder);
    if (status < 0)
        return status;
    const char *name = text_string(&result.out), *end = name + result.out.size;
    for (; name < end && status == 0; name += strlen(name) + 1) {
        struct stat file;
        char *path = text_format("%s%s", below, name);
        char *whole = text_format("%s/%s", code->root, path);
        if (lstat(whole, &file) == 0 && !S_ISDIR(file.st_mode)) {
            code_add_name(code, path);
        } else if (code_is_repository(whole) && depth < CODE_DEPTH_MAX) {
            char *inner = text_format("%s%s", path, text_ends(path, "/") ? "" : "/");
            status = code_list(code, inner, NULL, depth + 1, err);
            free(inner);
        }
        free(whole);
        free(path);
    }
    command_fini(&result);
    return status;
}

/* Lists a folder that is in no repository. An empty repository in /tmp makes git follow the same
 * rules. */
static int code_list_folder(struct code *code, struct error *err)
{
    char git_dir[] = "/tmp/phasectl-XXXXXX";
    if (!mkdtemp(git_dir))
        return error_set(err, -errno, "could not make a folder in /tmp: %s", strerror(errno));
    const char *const make[] = {"git", "init", "--quiet", "--bare", git_dir, NULL};
    struct command_result result;
    int status = command_ask(make, CODE_GIT_S, &result, err);
    if (status == 0) {
        command_fini(&result);
        status = code_list(code, "", git_dir, 0, err);
    }
    (void)file_remove_tree(git_dir, NULL); /* a rest in /tmp does no harm */
    return status;
}

/* --- Where to --------------------------------------------------------------------------------- */

/* Two machines, or two folders, never have the same name. */
static int code_set_name(struct code *code, struct error *err)
{
    char host[HOST_NAME_MAX + 1] = "", fingerprint[FINGERPRINT_SIZE], *machine = NULL;
    const char *folder = strrchr(code->root, '/');
    (void)gethostname(host, sizeof host - 1); /* if it fails, the name is empty */
    (void)file_read("/etc/machine-id", CODE_MACHINE_ID_MAX, &machine, NULL,
                    NULL); /* may be missing */
    json_t *json = json_pack("[s, s, s]", host, machine ? machine : "", code->root);
    free(machine);
    if (!json)
        return error_set(err, -EINVAL, "%s is not UTF-8 text", code->root);
    fingerprint_json(json, fingerprint);
    json_decref(json);
    code->name = text_format("%.*s-%.*s%s", CODE_NAME_MAX, folder + 1, CODE_DIGEST_SIZE,
                             fingerprint, code->is_look ? "-look" : "");
    for (char *at = code->name; *at; at++)
        if (!isascii(*at) || (!isalnum(*at) && !strchr("._-", *at)) ||
            (at == code->name && *at == '.'))
            *at = '_';
    return 0;
}

static int code_find_root(struct code *code, bool *ret_is_repository, struct error *err)
{
    static const char *const ask[] = {"git", "rev-parse", "--show-toplevel", NULL};
    struct command_result result;
    char *current;
    int status = file_find_current(&current, err);
    if (status < 0)
        return status;
    status = command_run(ask, NULL, CODE_GIT_S, &result, err);
    if (status < 0) {
        free(current);
        return status;
    }
    *ret_is_repository = result.exit_code == 0 && result.out.size > 1;
    code->root = *ret_is_repository ? xstrndup(text_string(&result.out), result.out.size - 1)
                                    : xstrdup(current);
    command_fini(&result);
    const char *below = file_below(current, code->root);
    code->below = xstrdup(below ? below : "");
    char home[PATH_MAX];
    const char *home_folder = getenv("HOME");
    if (!below)
        status = error_set(err, -EINVAL, "%s is not in its git repository %s", current, code->root);
    else if (!code->is_look && (!code->root[1] || (home_folder && realpath(home_folder, home) &&
                                                   text_equal(code->root, home))))
        status = error_set(err, -EINVAL,
                           "the code would be all of %s: call phasectl in the folder that has the "
                           "code of the workflow",
                           code->root);
    free(current);
    return status;
}

int code_init(struct code *code, bool is_look, struct error *err)
{
    bool is_repository;
    *code = (struct code){.is_look = is_look, .lock = -1};
    int status = code_find_root(code, &is_repository, err);
    if (status == 0)
        status = code_set_name(code, err);
    if (status == 0 && !is_look)
        status = is_repository ? code_list(code, "", NULL, 0, err) : code_list_folder(code, err);
    return status;
}

void code_fini(struct code *code)
{
    free(code->root);
    free(code->below);
    free(code->name);
    text_fini(&code->names);
    if (code->lock >= 0)
        (void)close(code->lock);
    *code = (struct code){.lock = -1};
}

int code_add(struct code *code, const char *path, char **ret_path, struct error *err)
{
    struct stat info;
    char folder[PATH_MAX];
    if (text_starts(path, "/dev/") || stat(path, &info) < 0 || !S_ISREG(info.st_mode))
        return error_set(err, -ENOENT, "there is no file %s", path);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *parent = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
    bool is_found = realpath(parent, folder) != NULL;
    free(parent);
    const char *inner = is_found ? file_below(folder, code->root) : NULL;
    if (!inner)
        return error_set(err, -EXDEV, "%s is outside of %s, the folder that goes to the host", path,
                         code->root);
    char *below = text_format("%s%s%s", inner, *inner ? "/" : "", name);
    if (!code_has(code, below))
        code_add_name(code, below);
    struct text relative = {0};
    if (path[0] == '/') {
        for (const char *at = code->below; *at; at++) /* one step up for each folder */
            if (at == code->below || at[-1] == '/')
                text_add(&relative, "../");
        text_add(&relative, below);
    } else {
        text_add(&relative, path);
    }
    *ret_path = text_steal(&relative);
    free(below);
    return 0;
}

/* --- The copy --------------------------------------------------------------------------------- */

/* Says how much there is to copy, so that nobody wonders why it takes a while. */
static void code_announce(const struct connection *connection, const struct code *code)
{
    const char *name = text_string(&code->names), *end = name + code->names.size;
    unsigned long long bytes = 0, count = 0;
    for (; name < end; name += strlen(name) + 1) {
        struct stat info;
        char *path = text_format("%s/%s", code->root, name);
        if (lstat(path, &info) == 0)
            bytes += (unsigned long long)info.st_size;
        free(path);
        count++;
    }
    if (bytes >> 20 >= CODE_QUIET_MIB)
        (void)fprintf(stderr,
                      "phasectl: %s has %llu files with %llu MiB for %s; what .gitignore names "
                      "stays here\n",
                      code->root, count, bytes >> 20, connection->login);
}

/* Sends the commit and the names. */
static int code_tell(const struct connection *connection, const struct code *code,
                     struct error *err)
{
    json_t *provenance = code->is_look ? json_object() : provenance_capture_code();
    char *json = json_text(provenance, JSON_COMPACT);
    struct text text = {0};
    json_decref(provenance);
    text_add_bytes(&text, json, strlen(json) + 1);
    free(json);
    text_add_bytes(&text, text_string(&code->names), code->names.size);
    int input = file_in_memory(text_string(&text), text.size, err), status = input;
    char *size = text_format("%zu", text.size), *words[] = {code->name, size, NULL};
    text_fini(&text);
    if (input >= 0) {
        status = session_send(connection, code_prepare, words, input, err);
        (void)close(input);
    }
    free(size);
    return status > 0 ? error_set(err, -EIO, "could not make a folder for the code on %s",
                                  connection->login)
                      : status;
}

/* rsync calls ssh with the words `phasectl rsync --server ...`. The first word stands for the host,
 * and is dropped.
 *
 * git writes many files within a second. If the new file has the size and the second of the old
 * file, only --checksum sees the change. */
static int code_copy(const struct connection *connection, const struct code *code,
                     struct error *err)
{
    char *words[] = {code->name, NULL};
    char *remote = remote_command(code_receive, words);
    char *ssh = connection_command(connection, "-T", remote);
    struct text command = {0};
    (void)setenv("PHASECTL_SSH", ssh, 1); /* these fail only without memory */
    (void)setenv("RSYNC_RSH", "sh -c 'shift; eval \"$PHASECTL_SSH \\\"\\$@\\\"\"' ssh", 1);
    text_add(&command,
             "exec rsync --checksum --links --perms --times --compress --from0 --files-from=- -- ");
    text_add_quoted(&command, code->root);
    text_add(&command, "/ phasectl:./");
    pid_t pid;
    int input = file_in_memory(text_string(&code->names), code->names.size, err), status = input;
    if (input >= 0) {
        status = connection_start(text_string(&command), input, STDERR_FILENO, false, &pid, err);
        (void)close(input);
        if (status == 0 && connection_wait(pid) != 0)
            status =
                error_set(err, -EIO, "rsync, which both machines need, could not copy %s to %s",
                          code->root, connection->login);
    }
    text_fini(&command);
    free(ssh);
    free(remote);
    return status;
}

int code_send(const struct connection *connection, struct code *code, struct error *err)
{
    code->lock = connection_lock(connection, code->name, err);
    if (code->lock < 0)
        return code->lock;
    code_announce(connection, code);
    int status = code_tell(connection, code, err);
    if (status == 0)
        status = code_copy(connection, code, err);
    if (!code->is_look) {
        (void)close(code->lock);
        code->lock = -1;
    }
    return status;
}
