/* Reading GPUs. */
#include "lib/spec/gpus.h"

#include "lib/error.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"
#include "lib/units.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS_ALTERNATIVES_MAX = 4 }; /* each alternative is a waiting job */

struct gpus {
    char type[UNITS_GPU_TYPE_SIZE];
    uint32_t count;
};

/* Whether this alternative fits the alternatives before it, which are in `list`. */
static bool gpus_check(struct scope *scope, const struct yaml_node *node, const struct gpus *gpus,
                       const json_t *list)
{
    size_t i;
    json_t *other;
    if (!gpus->type[0] || gpus->count == 0) {
        yaml_problem(scope->problems, node, "an alternative has a type, such as h200:8 | h100:8");
        return false;
    }
    json_array_foreach(list, i, other)
    {
        json_int_t count = json_integer_value(json_object_get(other, "gpus"));
        if (text_equal(json_string_value(json_object_get(other, "gpu_type")), gpus->type)) {
            yaml_problem(scope->problems, node, "%s is given twice", gpus->type);
            return false;
        }
        if (count != gpus->count) {
            yaml_problem(scope->problems, node,
                         "%" JSON_INTEGER_FORMAT " or %u GPUs: alternatives have the same number, "
                         "since one layout must fit all",
                         count, gpus->count);
            return false;
        }
    }
    if (json_array_size(list) == GPUS_ALTERNATIVES_MAX)
        yaml_problem(scope->problems, node, "more than %d alternatives", GPUS_ALTERNATIVES_MAX);
    return json_array_size(list) < GPUS_ALTERNATIVES_MAX;
}

/* A copy of one part between |, without the spaces around it. */
static char *gpus_part(const char *text, size_t size)
{
    while (size && isspace((unsigned char)text[0])) {
        text++;
        size--;
    }
    while (size && isspace((unsigned char)text[size - 1]))
        size--;
    return text_format("%.*s", (int)size, text);
}

static void gpus_read_alternatives(struct scope *scope, const struct yaml_node *node,
                                   const char *text, json_t *list)
{
    bool goes_on = true;
    for (const char *at = text; at && goes_on;) {
        struct gpus gpus = {0};
        struct error err;
        const char *bar = strchr(at, '|');
        char *part = gpus_part(at, bar ? (size_t)(bar - at) : strlen(at));
        goes_on = units_parse_gpus(part, gpus.type, &gpus.count, &err) == 0;
        if (!goes_on)
            yaml_problem(scope->problems, node, "%s", err.message);
        else
            goes_on = gpus_check(scope, node, &gpus, list);
        if (goes_on)
            (void)json_array_append_new(
                list, json_pack("{s:i, s:s}", "gpus", (int)gpus.count, "gpu_type", gpus.type));
        free(part);
        at = bar ? bar + 1 : NULL;
    }
}

void gpus_read(struct scope *scope, const struct yaml_node *node, json_t *resources)
{
    struct gpus gpus = {0};
    struct error err;
    json_t *list = json_array(), *first;
    char *text = node ? scalar_string(scope, node) : NULL;
    if (text && strchr(text, '|'))
        gpus_read_alternatives(scope, node, text, list);
    else if (text && units_parse_gpus(text, gpus.type, &gpus.count, &err) < 0)
        yaml_problem(scope->problems, node, "%s", err.message);
    if ((first = json_array_get(list, 0))) {
        (void)json_object_update(resources, first);
    } else {
        (void)json_object_set_new(resources, "gpus", json_integer(gpus.count));
        (void)json_object_set_new(resources, "gpu_type",
                                  gpus.type[0] ? json_string(gpus.type) : json_null());
    }
    (void)json_object_set_new(resources, "alternatives", list);
    free(text);
}

void gpus_follow(json_t *resources)
{
    size_t i;
    json_t *alternative;
    json_array_foreach(json_object_get(resources, "alternatives"), i, alternative)
    {
        json_t *gpus = json_integer(json_integer_value(json_object_get(resources, "gpus")));
        (void)json_object_set_new(alternative, "gpus", gpus);
    }
}
