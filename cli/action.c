/* phasectl promote, hold, release, resume, cancel, retry: the daemon acts and names the phases. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The user who decides, for the record; the caller's to free(). */
static char *action_who(void)
{
    const struct passwd *entry = getpwuid(getuid());
    return entry ? xstrdup(entry->pw_name) : text_format("uid %u", getuid());
}

static bool action_is_in(const json_t *phases, const json_t *phase)
{
    const json_t *item;
    size_t i;
    json_array_foreach(phases, i, item)
    {
        if (json_equal(item, phase))
            return true;
    }
    return false;
}

static void action_print(const struct cli *cli, const json_t *reply)
{
    static const struct {
        const char *verb, *past, *stopping;
    } words[] = {
        {"promote", "promoted", ""},
        {"hold", "held", "is being held: its run stops"},
        {"release", "released", ""},
        {"resume", "resumes from its newest checkpoint", ""},
        {"cancel", "cancelled", "is being cancelled: its run stops"},
        {"retry", "will be run again", ""},
    };
    const json_t *phase, *stopping = json_object_get(reply, "stopping");
    const json_t *judging = json_object_get(reply, "judging");
    size_t i, word = 0;
    while (!text_equal(words[word].verb, cli->verb->name)) {
        word++;
        assert(word < sizeof words / sizeof words[0]);
    }
    json_array_foreach(json_object_get(reply, "phases"), i, phase)
        printf("%s %s\n", json_string_value(phase),
               action_is_in(judging, phase)    ? "chooses again among its results"
               : action_is_in(stopping, phase) ? words[word].stopping
                                               : words[word].past);
}

/* The command that continues what was held, with the same address. */
static void action_hint(const struct cli *cli, const char *address)
{
    if (text_equal(cli->verb->name, "hold"))
        printf("to continue it: phasectl release %s\n", address);
}

struct action_options {
    const char *from; /* the checkpoint to begin from; NULL: phased chooses it */
    bool as_json;
};

/* `context` is the options. */
static int action_on(struct cli *cli, const struct address *address, const void *context)
{
    const struct action_options *options = context;
    struct error err;
    json_t *reply;
    char buffer[ADDRESS_PATH_SIZE], text[ADDRESS_TEXT_SIZE];
    if (address_kind(address) == ADDRESS_RUN)
        return cli_usage(cli, "%s acts on a workflow or a phase, not on a run", cli->verb->name);
    char *path = text_format("%s/%s", address_path(address, buffer), cli->verb->name);
    char *who = action_who();
    json_t *body = json_pack("{s:s, s:s*}", "who", who, "from", options->from);
    int code = client_post(cli, path, body, &reply, NULL, &err);
    json_decref(body);
    free(who);
    free(path);
    if (code < 0)
        return cli_fail(&err);
    if (options->as_json) {
        client_print_json(reply);
    } else {
        action_print(cli, reply);
        action_hint(cli, address_text(address, text));
    }
    json_decref(reply);
    return CLI_OK;
}

static int action_run(struct cli *cli, char **words, const struct option_rule *rules,
                      const struct action_options *options)
{
    struct option_arguments arguments = {.min = 1, .max = OPTION_ARGUMENTS_MAX};
    int status;
    if (!options_parse(cli, words, rules, &arguments, &status))
        return status;
    return options_each_address(cli, &arguments, action_on, options);
}

int action_verb(struct cli *cli, char **words)
{
    struct action_options options = {0};
    const struct option_rule rules[] = {
        {"json", 0, NULL, "print the daemon's answer", .flag = &options.as_json},
        {0},
    };
    return action_run(cli, words, rules, &options);
}

int retry_verb(struct cli *cli, char **words)
{
    struct action_options options = {0};
    const struct option_rule rules[] = {
        {"from", 0, "STEP", "begin from this checkpoint: its step, its path, or `start`",
         .text = &options.from},
        {"json", 0, NULL, "print the daemon's answer", .flag = &options.as_json},
        {0},
    };
    return action_run(cli, words, rules, &options);
}
