/* Asking for decisions, and what came of them in words. */
#include "cli/decide.h"

#include "cli/client.h"
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

int decide_post(struct cli *cli, const struct address *address, const char *verb, const char *from,
                json_t **ret_reply, struct error *err)
{
    char buffer[ADDRESS_PATH_SIZE];
    char *path = text_format("%s/%s", address_path(address, buffer), verb);
    char *who = decide_who();
    json_t *body = json_pack("{s:s, s:s*}", "who", who, "from", from);
    int status = client_post(cli, path, body, ret_reply, NULL, err);
    json_decref(body);
    free(who);
    free(path);
    return status;
}

bool decide_is_in(const json_t *phases, const json_t *phase)
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

void decide_write(const char *verb, const json_t *reply, struct text *text)
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
    const json_t *skipped = json_object_get(reply, "skipped");
    size_t i, word = 0;
    while (!text_equal(words[word].verb, verb)) {
        word++;
        assert(word < sizeof words / sizeof words[0]);
    }
    json_array_foreach(json_object_get(reply, "phases"), i, phase)
        text_addf(text, "%s %s\n", json_string_value(phase),
                  decide_is_in(skipped, phase)    ? "skipped: a phase before it was cancelled"
                  : decide_is_in(judging, phase)  ? "chooses again among its results"
                  : decide_is_in(stopping, phase) ? words[word].stopping
                                                  : words[word].past);
}
