/* Durations, or off. */
#include "lib/spec/watch.h"

#include "lib/error.h"
#include "lib/spec/node.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"
#include "lib/text.h"
#include "lib/units.h"

#include <stdlib.h>

enum { IDLE_S = 600 };

/* The seconds, 0 for off; JSON null where it is not given, or has had a problem. */
static json_t *watch_time(struct scope *scope, const struct node *phase, const char *key)
{
    const struct node *node = node_get(phase, key);
    char *text = node ? scalar_string(scope, node) : NULL;
    struct error err;
    uint32_t seconds;
    json_t *json = NULL;
    if (text && text_equal(text, "off"))
        json = json_integer(0);
    else if (text && units_parse_duration(text, &seconds, &err) < 0)
        node_problem(scope->problems, node, "%s, or off", err.message);
    else if (text && seconds == 0)
        node_problem(scope->problems, node, "not above 0: off switches it off");
    else if (text)
        json = json_integer(seconds);
    free(text);
    return json ? json : json_null();
}

void watch_read(struct scope *scope, const struct node *phase, json_t *json)
{
    json_t *idle = watch_time(scope, phase, "idle");
    (void)json_object_set_new(json, "hang_s", watch_time(scope, phase, "hang"));
    (void)json_object_set_new(json, "idle_s", json_is_null(idle) ? json_integer(IDLE_S) : idle);
}
