/* Facts from git, and copies by tar of the files that git lists. */
#include "cli/provenance.h"

#include "cli/cli.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PROVENANCE_LINE_MAX = 64 << 10,
    PROVENANCE_LIST_MAX = 256 << 10,
    PROVENANCE_DIFF_MAX = 1 << 20, /* a longer diff is left out; the commit is kept */
};

/* Lists the packages of an environment. pip would take a second. */
static const char provenance_packages[] =
    "from importlib.metadata import distributions as d\n"
    "print('\\n'.join(sorted({f\"{x.metadata['Name']}=={x.version}\" for x in d()})))\n";

/* Starts a program with nothing to read. Returns its pid, or -1. */
static pid_t provenance_start(const char *const *words, int output)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    (void)posix_spawn_file_actions_init(&actions); /* these fail only without memory */
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int status = posix_spawnp(&pid, words[0], &actions, NULL, (char *const *)words, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return status == 0 ? pid : -1;
}

static int provenance_wait(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Returns what a program prints, the caller's; NULL when the program fails. Reads at most
 * `size_max` bytes, drops the rest and says so in `ret_is_cut`. */
static char *provenance_ask(const char *const *words, size_t size_max, bool *ret_is_cut)
{
    int pipe_ends[2];
    char buffer[8192];
    struct text text = {0};
    ssize_t size;
    *ret_is_cut = false;
    if (pipe2(pipe_ends, O_CLOEXEC) < 0)
        return NULL;
    pid_t pid = provenance_start(words, pipe_ends[1]);
    (void)close(pipe_ends[1]);
    while (pid > 0 && ((size = read(pipe_ends[0], buffer, sizeof buffer)) > 0 ||
                       (size < 0 && errno == EINTR))) {
        *ret_is_cut = *ret_is_cut || (size > 0 && text.size + (size_t)size > size_max);
        if (size > 0 && !*ret_is_cut)
            text_add_bytes(&text, buffer, (size_t)size);
    }
    (void)close(pipe_ends[0]);
    if (pid > 0 && provenance_wait(pid) == 0)
        return text_steal(&text);
    text_fini(&text);
    return NULL;
}

/* Returns the only line that a program prints; the caller's. */
static char *provenance_line(const char *const *words)
{
    bool is_cut;
    char *line = provenance_ask(words, PROVENANCE_LINE_MAX, &is_cut);
    if (line)
        line[strcspn(line, "\n")] = '\0';
    return line;
}

/* Takes `text`. A text that is not UTF-8 is left out. */
static bool provenance_take(json_t *provenance, const char *name, char *text)
{
    json_t *json = text ? json_string(text) : NULL;
    free(text);
    return json && json_object_set_new(provenance, name, json) == 0;
}

static void provenance_add_changes(json_t *provenance)
{
    static const char *const diff[] = {"git",           "--no-optional-locks", "diff", "--binary",
                                       "--no-ext-diff", "--no-textconv",       "HEAD", NULL};
    static const char *const untracked[] = {
        "git", "ls-files", "--others", "--exclude-standard", "--full-name", ":/", NULL};
    bool is_cut;
    char *text = provenance_ask(diff, PROVENANCE_DIFF_MAX, &is_cut);
    if (is_cut) {
        free(text);
        (void)provenance_take(provenance, "diff_note",
                              text_format("longer than %d bytes", PROVENANCE_DIFF_MAX));
    } else if (!provenance_take(provenance, "diff", text)) {
        (void)provenance_take(provenance, "diff_note", text_format("not UTF-8 text"));
    }
    (void)provenance_take(provenance, "untracked",
                          provenance_ask(untracked, PROVENANCE_LIST_MAX, &is_cut));
}

static void provenance_add_packages(json_t *provenance)
{
    const char *environment = getenv("VIRTUAL_ENV");
    if (!environment)
        environment = getenv("CONDA_PREFIX");
    if (!environment)
        return;
    bool is_cut;
    char *python = text_format("%s/bin/python", environment);
    const char *const words[] = {python, "-c", provenance_packages, NULL};
    char *packages = provenance_ask(words, PROVENANCE_LIST_MAX, &is_cut);
    if (packages)
        (void)provenance_take(provenance, "packages", packages);
    free(python);
}

json_t *provenance_capture_code(void)
{
    static const char *const root[] = {"git", "rev-parse", "--show-toplevel", NULL};
    static const char *const commit[] = {"git", "rev-parse", "--verify", "HEAD", NULL};
    static const char *const branch[] = {"git", "symbolic-ref", "--short", "-q", "HEAD", NULL};
    json_t *provenance = json_object();
    if (provenance_take(provenance, "root", provenance_line(root)) &&
        provenance_take(provenance, "commit", provenance_line(commit))) {
        (void)provenance_take(provenance, "branch",
                              provenance_line(branch)); /* no branch: HEAD is detached */
        provenance_add_changes(provenance);
    }
    return provenance;
}

/* Reads what the other machine has captured. The code is in `folder` here. */
static json_t *provenance_received(const char *folder)
{
    char *path = text_format("%s.json", folder);
    json_t *provenance = json_load_file(path, 0, NULL);
    free(path);
    if (!json_is_object(provenance)) {
        json_decref(provenance);
        return json_object();
    }
    if (json_object_get(provenance, "root"))
        (void)provenance_take(provenance, "root", xstrdup(folder));
    return provenance;
}

json_t *provenance_capture(void)
{
    const char *folder = getenv(PROVENANCE_FOLDER);
    json_t *provenance = folder ? provenance_received(folder) : provenance_capture_code();
    provenance_add_packages(provenance);
    return provenance;
}

/* Copies tracked and new files. It skips a file whose deletion is not committed yet. For code that
 * came from another machine, the other machine has listed the files. */
static int provenance_copy(const char *root, const char *folder)
{
    static const char script[] =
        "cd \"$1\" && if [ \"$3\" ]; then cat \"$3.files\";"
        " else git ls-files --cached --others --exclude-standard -z; fi |"
        " tar --create --null --no-recursion --ignore-failed-read --files-from=- --file=- |"
        " tar --extract --directory=\"$2\" --file=-";
    const char *received = getenv(PROVENANCE_FOLDER);
    const char *const words[] = {
        "bash", "-o", "pipefail", "-c", script, "bash", root, folder, received ? received : "",
        NULL};
    pid_t pid = provenance_start(words, STDERR_FILENO);
    return pid > 0 ? provenance_wait(pid) : -1;
}

int provenance_snapshot(const struct cli *cli, const json_t *provenance, const char *key,
                        char **ret_workdir, struct error *err)
{
    const char *root = json_string_value(json_object_get(provenance, "root"));
    char *workdir = getcwd(NULL, 0);
    int status = 0;
    if (!root || !json_object_get(provenance, "commit") || !workdir ||
        !text_starts(workdir, root)) {
        status = error_set(err, -EINVAL,
                           "code: snapshot needs a git repository with a commit, and "
                           "%s is not in one",
                           workdir ? workdir : "this folder");
        free(workdir);
        return status;
    }
    char *folder = text_format("%s/%s", cli->home.snapshots, key);
    status = file_make_folders(folder, 0700, err);
    if (status == 0 && provenance_copy(root, folder) != 0)
        status = error_set(err, -EIO, "could not copy %s to %s", root, folder);
    if (status == 0)
        *ret_workdir = text_format("%s%s", folder, workdir + strlen(root));
    free(folder);
    free(workdir);
    return status;
}

void provenance_discard(const struct cli *cli, const char *key)
{
    char *folder = text_format("%s/%s", cli->home.snapshots, key);
    const char *const words[] = {"rm", "-rf", "--", folder, NULL};
    pid_t pid = provenance_start(words, STDERR_FILENO);
    if (pid > 0)
        (void)provenance_wait(pid); /* a rest of the copy does no harm */
    free(folder);
}
