/* phasectl --host LOGIN VERB: which verb needs what on the host. */
#include "cli/remote/remote.h"

#include "cli/cli.h"
#include "cli/provenance.h"
#include "cli/remote/code.h"
#include "cli/remote/connection.h"
#include "cli/remote/page.h"
#include "cli/remote/session.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The files of this machine that go to the host. */
enum remote_files {
    REMOTE_NO_FILES,
    REMOTE_NAMED_FILES, /* the files that the words name */
    REMOTE_CODE,        /* these files, and the code of the current folder */
};

/* Verbs that are not named here run on the host and read no files of this machine. */
static const struct remote_kind {
    const char *verb;
    enum remote_files files;
    bool reads_stdin;
} remote_kinds[] = {
    {"submit", REMOTE_CODE, false},       {"rehearse", REMOTE_CODE, false},
    {"check", REMOTE_NAMED_FILES, false}, {"plan", REMOTE_NAMED_FILES, false},
    {"attach", REMOTE_NO_FILES, true},
};

static const struct remote_kind *remote_kind_of(const char *verb)
{
    static const struct remote_kind plain = {0};
    for (size_t i = 0; i < sizeof remote_kinds / sizeof *remote_kinds; i++)
        if (text_equal(remote_kinds[i].verb, verb))
            return &remote_kinds[i];
    return &plain;
}

/* Adds `NAME=value` as a line of the script, if this program has the variable. */
static void remote_add_variable(struct text *script, const char *name)
{
    const char *value = getenv(name);
    if (!value)
        return;
    text_addf(script, "export %s=", name);
    text_add_quoted(script, value);
    text_add(script, "\n");
}

/* Adds the lines before the verb: where phasectl is, and for whom it acts. */
static void remote_add_environment(struct text *script, const char *login)
{
    const char *folder = getenv("PHASED_HOST_PATH");
    bool is_in_home = folder && text_starts(folder, "~/");
    text_add(script, "unset PHASED_HOST\n");
    if (folder && *folder) {
        text_add(script, is_in_home ? "PATH=$HOME/" : "PATH=");
        text_add_quoted(script, folder + (is_in_home ? 2 : 0));
        text_add(script, ":$PATH\n");
    }
    remote_add_variable(script, "PHASED_BY");
    remote_add_variable(script, "NO_COLOR");
    char *advice = text_format("phasectl: there is no phasectl on %s: name its folder in "
                               "PHASED_HOST_PATH, or add it to PATH in ~/.profile there",
                               login);
    text_add(script, "command -v phasectl >/dev/null || {\n    printf '%s\\n' ");
    text_add_quoted(script, advice);
    text_add(script, " >&2\n    exit 1\n}\n");
    free(advice);
}

/* Adds the lines that go to the copy of the current folder. */
static void remote_add_folder(struct text *script, const struct code *code)
{
    text_addf(script, "cd \"${PHASED_HOME:-$HOME/.phased}/code/%s\" || exit 1\n", code->name);
    text_add(script, "export " PROVENANCE_FOLDER "=\"$(pwd -P)\"\n");
    if (!*code->below)
        return;
    text_add(script, "mkdir -p ./"); /* it may have no file that git does not ignore */
    text_add_quoted(script, code->below);
    text_add(script, " && cd ./");
    text_add_quoted(script, code->below);
    text_add(script, " || exit 1\n");
}

/* Replaces a file of this machine, or the file in PHASE=FILE of `--log`, by the same file on the
 * host. The caller frees `ret_word`. A word that is not a file stays. */
static int remote_take_word(struct code *code, const char *word, bool is_log, char **ret_word,
                            struct error *err)
{
    const char *equals = is_log ? strchr(word, '=') : NULL, *path = equals ? equals + 1 : word;
    char *there = NULL;
    *ret_word = NULL;
    int status = code_add(code, path, &there, err);
    if (status < 0 && status != -ENOENT)
        return status;
    *ret_word = status < 0 ? xstrdup(word) : text_format("%.*s%s", (int)(path - word), word, there);
    free(there);
    return 0;
}

/* Makes the words for the host, and copies the files that they name. */
static int remote_send(const struct connection *connection, const struct remote_kind *kind,
                       char *const *words, struct code *code, char **ret_words, struct error *err)
{
    int status = code_init(code, kind->files == REMOTE_NAMED_FILES, err);
    bool is_rest = false;
    for (size_t i = 0; words[i] && status == 0; i++) {
        bool is_log = (i && text_equal(words[i - 1], "--log")) || text_starts(words[i], "--log=");
        is_rest = is_rest || text_equal(words[i], "--");
        if (is_rest || (words[i][0] == '-' && !is_log))
            ret_words[i] = xstrdup(words[i]);
        else if (text_starts(words[i], "--log=")) {
            char *value;
            status = remote_take_word(code, words[i] + strlen("--log="), true, &value, err);
            ret_words[i] = status < 0 ? NULL : text_format("--log=%s", value);
            free(value);
        } else {
            status = remote_take_word(code, words[i], is_log, &ret_words[i], err);
        }
    }
    return status < 0 ? status : code_send(connection, code, err);
}

/* What the verb reads: a terminal if this program has one. */
static enum session_input remote_input(const struct remote_kind *kind, char *const *words)
{
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO))
        return SESSION_TERMINAL;
    for (size_t i = 0; words[i]; i++)
        if (kind->files && text_ends(words[i], "/dev/stdin"))
            return SESSION_STDIN;
    return kind->reads_stdin ? SESSION_STDIN : SESSION_NOTHING;
}

/* Runs the verb on the host. `words` begin with its name. */
static int remote_run(struct cli *cli, const struct connection *connection, char **words)
{
    const struct remote_kind *kind = remote_kind_of(cli->verb->name);
    struct code code = {.lock = -1};
    struct text script = {0};
    struct error err;
    size_t count = 0;
    int status = 0;
    while (words[count])
        count++;
    char **sent = xcalloc(count + 1, sizeof *sent);
    if (kind->files) {
        status = remote_send(connection, kind, words, &code, sent, &err);
    } else {
        for (size_t i = 0; i < count; i++)
            sent[i] = xstrdup(words[i]);
    }
    if (status == 0) {
        remote_add_environment(&script, connection->login);
        if (kind->files)
            remote_add_folder(&script, &code);
        /* Bash must survive Ctrl-C, so that it can say how the verb has ended. */
        text_add(&script, "trap : INT\nphasectl \"$@\"\nexit $?\n");
        status =
            session_run(connection, text_string(&script), sent, remote_input(kind, sent), &err);
    }
    text_fini(&script);
    code_fini(&code);
    for (size_t i = 0; i < count; i++)
        free(sent[i]);
    free(sent);
    return status < 0 ? cli_fail(&err) : status;
}

/* The page is shown here. */
static int remote_open(struct cli *cli, struct connection *connection, char **words)
{
    struct text script = {0};
    cli->as_json = words[1] != NULL;
    remote_add_environment(&script, connection->login);
    text_add(&script, "exec phasectl \"$@\"\n");
    int exit_code = page_keep_open(cli, connection, text_string(&script));
    text_fini(&script);
    return exit_code;
}

/* `import` needs nothing of the host, and the help needs no host at all. */
static bool remote_is_local(char *const *words)
{
    for (size_t i = 1; words[i] && !text_equal(words[i], "--"); i++)
        if (text_equal(words[i], "--help") || text_equal(words[i], "-h"))
            return true;
    return text_equal(words[0], "import");
}

int remote_verb(struct cli *cli, const char *login, char **words)
{
    struct connection connection = {0};
    struct error err;
    bool is_open = text_equal(words[0], "open") &&
                   (!words[1] || (text_equal(words[1], "--json") && !words[2]));
    int exit_code;
    if (login[0] == '-' || !text_is_plain(login, ""))
        return cli_usage(cli, "--host wants a host as ssh takes it, such as anna@login1");
    if (remote_is_local(words))
        return cli->verb->function(cli, words + 1);
    if (connection_open(&connection, login, &err) < 0) {
        exit_code = cli_fail(&err);
    } else if (text_equal(words[0], "mcp")) {
        (void)setenv("PHASED_HOST", login, 1); /* each tool calls phasectl; fails without memory */
        exit_code = cli->verb->function(cli, words + 1);
    } else if (is_open) {
        exit_code = remote_open(cli, &connection, words);
    } else {
        exit_code = remote_run(cli, &connection, words);
    }
    connection_fini(&connection);
    return exit_code;
}
