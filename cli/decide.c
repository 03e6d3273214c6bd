/* Asking for decisions, and what came of them in words. */
#include "cli/decide.h"

#include "cli/client.h"
#include "cli/field.h"
#include "lib/address.h"
#include "lib/home.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

char *decide_who(void)
{
    const char *by = getenv("PHASED_BY");
    char user[HOME_USER_SIZE];
    (void)home_user(getuid(), user);
    return by && *by ? text_format("%s by %s", user, by) : xstrdup(user);
}

int decide_post(struct cli *cli, const struct address *address, enum phase_command command,
                const char *from, json_t **ret_reply, struct error *err)
{
    char buffer[ADDRESS_PATH_SIZE];
    char *path = text_format("%s/%s", address_path(address, buffer), phase_command_name(command));
    char *who = decide_who();
    json_t *body = json_pack("{s:s, s:s*}", "who", who, "from", from);
    int status = client_post(cli, path, body, ret_reply, NULL, err);
    json_decref(body);
    free(who);
    free(path);
    return status;
}

void decide_write(enum phase_command command, const json_t *reply, struct text *text)
{
    static const struct {
        const char *past, *stopping;
    } words[COMMAND_COUNT] = {
        [COMMAND_PROMOTE] = {"promoted", ""},
        [COMMAND_HOLD] = {"held", "is being held: its run stops"},
        [COMMAND_RELEASE] = {"released", ""},
        [COMMAND_RESUME] = {"resumes from its newest good checkpoint", ""},
        [COMMAND_CANCEL] = {"cancelled", "is being cancelled: its run stops"},
        [COMMAND_RETRY] = {"will be run again", ""},
    };
    const json_t *phase, *stopping = json_object_get(reply, "stopping");
    const json_t *judging = json_object_get(reply, "judging");
    const json_t *skipped = json_object_get(reply, "skipped");
    const char *skip = command == COMMAND_CANCEL ? "skipped: a phase before it was cancelled"
                                                 : "skipped until a phase before it is run again";
    size_t i;
    assert(command < COMMAND_COUNT);
    json_array_foreach(json_object_get(reply, "phases"), i, phase)
    {
        const char *name = json_string_value(phase);
        text_addf(text, "%s %s\n", name,
                  field_has_text(skipped, name)    ? skip
                  : field_has_text(judging, name)  ? "chooses again among its results"
                  : field_has_text(stopping, name) ? words[command].stopping
                                                   : words[command].past);
    }
}
