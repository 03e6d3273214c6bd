/* Facts from git, and copies by tar of the files that git lists. */
#include "cli/provenance.h"

#include "cli/cli.h"
#include "lib/command.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    PROVENANCE_ASK_S = 20,    /* for an answer of git */
    PROVENANCE_COPY_S = 600,  /* for a copy of the code */
    PROVENANCE_LEFT_S = 3600, /* after this time, a copy that is not whole is abandoned */
    PROVENANCE_LIST_MAX = 256 << 10,
    PROVENANCE_DIFF_MAX = 1 << 20, /* a longer diff is left out; the commit is kept */
    PROVENANCE_NEW_MAX = 64 << 20, /* more bytes of new files have no sum */
};

/* Lists the packages of an environment. pip would take a second. */
static const char provenance_packages[] =
    "from importlib.metadata import distributions as d\n"
    "print('\\n'.join(sorted({f\"{x.metadata['Name']}=={x.version}\" for x in d()})))\n";

/* Returns the output of a program. The caller frees it. NULL: `err` says why there is no output. */
static char *provenance_ask(const char *const *words, struct error *err)
{
    struct command_result result;
    if (command_ask(words, PROVENANCE_ASK_S, &result, err) < 0)
        return NULL;
    char *text = text_steal(&result.out);
    command_fini(&result);
    return text;
}

/* Returns the lines that a program prints: as many as fit into PROVENANCE_LIST_MAX bytes. The
 * caller frees them. NULL: the program has failed. */
static char *provenance_list(const char *const *words)
{
    char *lines = provenance_ask(words, NULL);
    if (lines && strlen(lines) > PROVENANCE_LIST_MAX) {
        lines[PROVENANCE_LIST_MAX] = '\0';
        char *end = strrchr(lines, '\n');
        lines[end ? end - lines + 1 : 0] = '\0';
    }
    return lines;
}

/* Returns the only line that a program prints. The caller frees it. */
static char *provenance_line(const char *const *words, struct error *err)
{
    char *line = provenance_ask(words, err);
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

/* Adds the sum of the new files: their names, modes and contents. There is no sum if the files are
 * too large together, or if a file cannot be read. */
static void provenance_add_sum(json_t *provenance)
{
    static const char script[] =
        "cd \"$1\" && LC_ALL=C git ls-files --others --exclude-standard -z |"
        " LC_ALL=C tar --create --format=gnu --null --mtime=@0 --files-from=- --file=- |"
        " { head -c \"$2\" && [ \"$(head -c 1 | wc -c)\" = 0 ]; } | sha256sum";
    char *size = text_format("%d", PROVENANCE_NEW_MAX);
    const char *const words[] = {"bash",
                                 "-o",
                                 "pipefail",
                                 "-c",
                                 script,
                                 "bash",
                                 json_string_value(json_object_get(provenance, "root")),
                                 size,
                                 NULL};
    (void)provenance_take(provenance, "untracked_sum", provenance_line(words, NULL));
    free(size);
}

static void provenance_add_changes(json_t *provenance)
{
    /* The configuration of git cannot hide changes, and `git apply` understands the text. */
    static const char *const diff[] = {"git",
                                       "--no-optional-locks",
                                       "-c",
                                       "diff.relative=false",
                                       "-c",
                                       "diff.noprefix=false",
                                       "-c",
                                       "diff.mnemonicPrefix=false",
                                       "diff",
                                       "--binary",
                                       "--no-color",
                                       "--no-ext-diff",
                                       "--no-textconv",
                                       "--submodule=short",
                                       "--ignore-submodules=none",
                                       "HEAD",
                                       NULL};
    static const char *const untracked[] = {
        "git", "ls-files", "--others", "--exclude-standard", "--full-name", ":/", NULL};
    struct error err;
    char *text = provenance_ask(diff, &err);
    if (!text)
        (void)provenance_take(provenance, "diff_note",
                              text_format("git diff failed: %s", err.message));
    else if (strlen(text) > PROVENANCE_DIFF_MAX)
        (void)provenance_take(provenance, "diff_note",
                              text_format("longer than %d bytes", PROVENANCE_DIFF_MAX));
    else if (!provenance_take(provenance, "diff", xstrdup(text)))
        (void)provenance_take(provenance, "diff_note", xstrdup("not UTF-8 text"));
    free(text);
    (void)provenance_take(provenance, "untracked", provenance_list(untracked));
    if (json_string_length(json_object_get(provenance, "untracked")) > 0)
        provenance_add_sum(provenance);
}

static void provenance_add_packages(json_t *provenance)
{
    const char *environment = getenv("VIRTUAL_ENV");
    if (!environment)
        environment = getenv("CONDA_PREFIX");
    if (!environment)
        return;
    char *python = text_format("%s/bin/python", environment);
    const char *const words[] = {python, "-c", provenance_packages, NULL};
    (void)provenance_take(provenance, "packages", provenance_list(words));
    free(python);
}

/* Whether the current folder or a folder above it has a repository, whatever git says. */
static bool provenance_has_repository(void)
{
    char *folder;
    bool is_found = false;
    if (file_find_current(&folder, NULL) < 0)
        return false;
    for (char *end = folder + strlen(folder); end && !is_found; end = strrchr(folder, '/')) {
        *end = '\0';
        char *path = text_format("%s/.git", folder);
        is_found = access(path, F_OK) == 0;
        free(path);
    }
    free(folder);
    return is_found;
}

json_t *provenance_capture_code(void)
{
    static const char *const root[] = {"git", "rev-parse", "--show-toplevel", NULL};
    static const char *const commit[] = {"git", "rev-parse", "--verify", "HEAD", NULL};
    static const char *const branch[] = {"git", "symbolic-ref", "--short", "-q", "HEAD", NULL};
    struct error err = {0};
    json_t *provenance = json_object();
    if (provenance_take(provenance, "root", provenance_line(root, &err)) &&
        provenance_take(provenance, "commit", provenance_line(commit, &err))) {
        (void)provenance_take(provenance, "branch",
                              provenance_line(branch, NULL)); /* no branch: HEAD is detached */
        provenance_add_changes(provenance);
    } else if (provenance_has_repository() &&
               !provenance_take(provenance, "diff_note",
                                text_format("no commit is known: %s", err.message))) {
        (void)provenance_take(provenance, "diff_note", xstrdup("no commit is known"));
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

/* Copies tracked and new files. It skips a file that is not there: its deletion is not committed
 * yet, or git has not checked it out. A file that cannot be read is an error. Only the warnings of
 * tar show whether a file is missing or cannot be read. A folder that git cannot open is an error,
 * too, and git only warns of the folder. Other warnings of git leave no file out. For code that
 * came from another machine, the other machine has listed the files. */
static int provenance_copy(const char *root, const char *folder, struct error *err)
{
    static const char script[] =
        "cd \"$1\" && { if [ \"$3\" ]; then cat \"$3.files\";"
        " else LC_ALL=C git ls-files --cached --others --exclude-standard -z"
        " 2> >(grep -E '^(warning: could not open directory|error:|fatal:) ' >&3); fi |"
        " LC_ALL=C tar --create --format=gnu --null --no-recursion --ignore-failed-read"
        " --files-from=- --file=- 2>&3 |"
        " tar --extract --directory=\"$2\" --file=-; } 3>&1 |"
        " { ! grep -vE ': Warning: Cannot stat: (No such file or|Not a) directory$' >&2; }";
    const char *received = getenv(PROVENANCE_FOLDER);
    const char *const words[] = {
        "bash", "-o", "pipefail", "-c", script, "bash", root, folder, received ? received : "",
        NULL};
    struct command_result result;
    int status = command_ask(words, PROVENANCE_COPY_S, &result, err);
    if (status < 0)
        return error_prefix(err, "could not copy %s to %s", root, folder);
    command_fini(&result);
    return 0;
}

/* --- The folder of copies --------------------------------------------------------------------- */

/* A copy is KEY.part until it is whole, and KEY.gone while it is removed. */
#define PROVENANCE_PART ".part"
#define PROVENANCE_GONE ".gone"

/* Removes a copy that a killed submission has left. The copy gets another name first: if its
 * submission was only suspended and goes on now, it cannot use half a copy. */
static void provenance_clean_one(const char *snapshots, const char *name)
{
    struct stat info;
    char *path = text_format("%s/%s", snapshots, name), *gone = NULL;
    if (text_ends(name, PROVENANCE_GONE))
        gone = xstrdup(path);
    else if (text_ends(name, PROVENANCE_PART) && lstat(path, &info) == 0 &&
             time(NULL) - info.st_mtime > PROVENANCE_LEFT_S)
        gone = text_format("%s" PROVENANCE_GONE, path);
    if (gone && (text_equal(gone, path) || rename(path, gone) == 0))
        (void)file_remove_tree(gone, NULL); /* the next submission removes the rest */
    free(gone);
    free(path);
}

static void provenance_clean(const char *snapshots)
{
    DIR *folder = opendir(snapshots);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        provenance_clean_one(snapshots, entry->d_name);
    if (folder)
        (void)closedir(folder);
}

/* Makes the copy `folder`, which has no name until it is whole. */
static int provenance_make(const char *root, const char *folder, struct error *err)
{
    char *part = text_format("%s" PROVENANCE_PART, folder);
    int status = file_make_folders(part, 0700, err);
    if (status == 0)
        status = provenance_copy(root, part, err);
    if (status == 0 && rename(part, folder) < 0)
        status = error_set(err, -errno, "could not rename %s: %s", part, strerror(errno));
    if (status < 0)
        (void)file_remove_tree(part, NULL); /* part of a copy may have filled the disk */
    free(part);
    return status;
}

int provenance_snapshot(const struct cli *cli, const json_t *provenance, const char *workdir,
                        const char *key, char **ret_workdir, struct error *err)
{
    const char *root = json_string_value(json_object_get(provenance, "root"));
    const char *below = root ? file_below(workdir, root) : NULL;
    if (!below || !json_object_get(provenance, "commit"))
        return error_set(err, -EINVAL,
                         "code: snapshot needs a git repository with a commit, and "
                         "%s is not in one",
                         workdir);
    char *folder = text_format("%s/%s", cli->home.snapshots, key);
    provenance_clean(cli->home.snapshots);
    int status = provenance_make(root, folder, err);
    if (status == 0)
        *ret_workdir = text_format("%s%s%s", folder, *below ? "/" : "", below);
    free(folder);
    return status;
}

void provenance_discard(const struct cli *cli, const char *key)
{
    char *folder = text_format("%s/%s", cli->home.snapshots, key);
    (void)file_remove_tree(folder, NULL); /* a rest of the copy does no harm */
    free(folder);
}
