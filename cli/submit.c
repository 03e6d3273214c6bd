/* phasectl submit: the file, and all that the phases' programs will need from this shell. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/options.h"
#include "cli/problems.h"
#include "cli/verbs.h"
#include "cli/watch.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/mac.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SUBMIT_TRIES = 5, SUBMIT_WAIT_MS = 300 }; /* about 9 s in all: a daemon restarts in one */

/* `environ` as an object. Slurm and JSON carry text only, so what is no UTF-8 is left out, aloud.
 */
static json_t *submit_environment(void)
{
    json_t *object = json_object();
    for (char **at = environ; *at; at++) {
        size_t size = strcspn(*at, "=");
        if (size == 0 || (*at)[size] == '\0')
            continue;
        char *name = strndup(*at, size);
        if (!name)
            abort();
        if (json_object_set_new(object, name, json_string(*at + size + 1)) < 0)
            (void)fprintf(
                stderr, "phasectl: warning: the variable %s is not UTF-8 and is left out\n", name);
        free(name);
    }
    return object;
}

/* `PARAM=VALUE` each; the last one of a param wins. Returns NULL when one is not of this form. */
static json_t *submit_overrides(const struct option_list *list, const char **ret_wrong)
{
    json_t *object = json_object();
    for (size_t i = 0; i < list->count; i++) {
        const char *item = list->items[i], *equals = strchr(item, '=');
        char *name = equals && equals != item ? strndup(item, (size_t)(equals - item)) : NULL;
        if (!name || json_object_set_new(object, name, json_string(equals + 1)) < 0) {
            *ret_wrong = item;
            free(name);
            json_decref(object);
            return NULL;
        }
        free(name);
    }
    return object;
}

static mode_t submit_umask(void)
{
    mode_t mask = umask(0);
    (void)umask(mask); /* it cannot be read without being set */
    return mask;
}

/* Sends it until there is an answer. The key makes the daemon recognise what it already has. */
static int submit_send(struct cli *cli, const json_t *body, json_t **ret_reply,
                       json_t **ret_problems, struct error *err)
{
    unsigned wait_ms = SUBMIT_WAIT_MS;
    for (int try = 1;; try++) {
        int code = client_post(cli, "/v1/workflows", body, ret_reply, ret_problems, err);
        if (code == 0 || try == SUBMIT_TRIES || !client_may_retry(code))
            return code;
        if (code == -ECONNREFUSED && try == 1)
            return code; /* nothing was sent: no daemon is there */
        cli_wait(wait_ms);
        wait_ms *= 2;
    }
}

static int submit_file(struct cli *cli, const char *file, json_t *set, bool hold,
                       struct address *ret_address)
{
    struct error err;
    char *data = NULL, *workdir = NULL, key[MAC_TOKEN_SIZE];
    json_t *body = NULL, *reply = NULL, *problems = NULL;
    size_t size;
    int status = CLI_FAILED;
    if (file_read(file, SPEC_SIZE_MAX, &data, &size, &err) < 0)
        goto fail;
    workdir = getcwd(NULL, 0);
    if (!workdir) {
        (void)error_set(&err, -errno, "cannot find the current folder: %s", strerror(errno));
        goto fail;
    }
    mac_random(key, sizeof key);
    body = json_pack("{s:s, s:s%, s:O, s:b, s:s, s:o, s:i, s:s}", "file", file, "spec", data, size,
                     "set", set, "hold", hold, "workdir", workdir, "environment",
                     submit_environment(), "umask", (int)submit_umask(), "key", key);
    if (!body) {
        (void)error_set_at(&err, -EINVAL, file, 0, 0, "cannot be sent: it is not UTF-8 text");
        goto fail;
    }
    if (submit_send(cli, body, &reply, &problems, &err) < 0) {
        problems_print(file, problems);
        goto fail;
    }
    problems_print(file, json_object_get(reply, "warnings"));
    *ret_address = (struct address){.workflow = (uint64_t)field_integer(reply, "workflow")};
    char text[ADDRESS_TEXT_SIZE];
    printf("workflow %s %s\n", address_text(ret_address, text), field_text(reply, "name"));
    status = CLI_OK;
    goto out;
fail:
    status = cli_fail(&err);
out:
    json_decref(problems);
    json_decref(reply);
    json_decref(body);
    free(workdir);
    free(data);
    return status;
}

int submit_verb(struct cli *cli, char **words)
{
    struct option_list list = {0};
    bool watch = false, hold = false;
    const struct option_rule rules[] = {
        {.name = "set",
         .value = "PARAM=VALUE",
         .list = &list,
         .help = "override a param, of one phase: validate.iterations=10"},
        {.name = "watch", .letter = 'w', .flag = &watch, .help = "then follow it until it ends"},
        {.name = "hold", .flag = &hold, .help = "let it wait until `phasectl release`"},
        {0},
    };
    struct arguments arguments = {.min = 1, .max = 1};
    struct address address;
    const char *wrong = NULL;
    int status;
    if (!options_parse(cli, words, rules, &arguments, &status))
        return status;
    json_t *set = submit_overrides(&list, &wrong);
    if (!set)
        return cli_usage(cli, "--set wants PARAM=VALUE, not '%s'", wrong);
    status = submit_file(cli, arguments.items[0], set, hold, &address);
    json_decref(set);
    if (status == CLI_OK && watch)
        status = watch_workflow(cli, &address);
    return status;
}
