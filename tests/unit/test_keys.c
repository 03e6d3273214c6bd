/* The table of keys: the keys whose help says "Required." are those that a file must have. */
#include "tests/unit/unit.h"

#include "lib/spec/keys.h"
#include "lib/spec/problems.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

/* A file with each map that has required keys. */
static const char whole[] =
    "{'name': 't', 'phases': {'train': {"
    "  'resources': {'nodes': 1, 'gpus': 'h100:8', 'cpus': 8, 'mem': '64G', 'time': '4h'},"
    "  'launch': 'group', 'parallel': {'tensor': 4}, 'shard': {'input': '/x.txt', 'by': 'lines'},"
    "  'run': 'x', 'container': {'image': '/x.sif', 'mounts': ['/data'], 'runtime': 'apptainer'},"
    "  'progress': {'step': 'step', 'total': 100, 'samples': 1, 'tokens': 1},"
    "  'checkpoint': {'path': '$PHASED_OUT/{step}.pt', 'save_time': '30s', 'keep': 2},"
    "  'mfu': {'params': 1000, 'layers': 4, 'width': 8, 'sequence': 16, 'peak_tflops': 1}}}}";

/* Returns the file, the caller's. */
static json_t *read_whole(void)
{
    char *data = text_format("%s", whole);
    for (char *at = data; (at = strchr(at, '\''));)
        *at = '"';
    json_t *file = json_loads(data, 0, NULL);
    assert_non_null(file);
    free(data);
    return file;
}

/* The map of the file; NULL: the file has no such map. Sets `ret_path` to what stands before its
 * keys in a problem. */
static json_t *find_map(const json_t *file, enum keys_map map, char **ret_path)
{
    json_t *phase = json_object_get(json_object_get(file, "phases"), "train");
    const char *name = keys_map_name(map);
    *ret_path = map == KEYS_WORKFLOW ? text_format("%s", "")
                : map == KEYS_PHASE  ? text_format("phases.train.")
                                     : text_format("phases.train.%s.", name);
    return map == KEYS_WORKFLOW ? (json_t *)file
           : map == KEYS_PHASE  ? phase
                                : json_object_get(phase, name);
}

/* Returns the problems as printed, the caller's. */
static char *parse(const json_t *file)
{
    struct spec_problems problems = {0};
    struct text lines = {0};
    json_t *workflow = NULL;
    char *data = json_dumps(file, 0);
    (void)spec_parse("F", data, strlen(data), NULL, &workflow, &problems); /* the problems count */
    spec_problems_text(&problems, &lines);
    spec_problems_fini(&problems);
    json_decref(workflow);
    free(data);
    return text_steal(&lines);
}

static bool is_marked(const struct key *key)
{
    const char *mark = strstr(key->help, " Required.");
    return mark && !mark[strlen(" Required.")];
}

/* Whether the file is refused without the key, because the key is missing. */
static bool is_missed(const struct key *key)
{
    char *path;
    json_t *file = read_whole(), *map = find_map(file, key->map, &path);
    bool was_there = map && json_object_del(map, key->name) == 0;
    char *problems = parse(file), *missing = text_format(": %s%s: missing", path, key->name);
    bool is_missed = was_there && strstr(problems, missing);
    free(missing);
    free(problems);
    free(path);
    json_decref(file);
    return is_missed;
}

static void the_keys_that_are_required_say_so(void **state)
{
    json_t *file = read_whole();
    char *problems = parse(file);
    size_t count = 0;
    (void)state;
    assert_string_equal(problems, ""); /* no other key is required */
    for (enum keys_map map = 0; map < KEYS_MAPS; map++)
        for (const struct key *key = keys_next(map, NULL); key; key = keys_next(map, key)) {
            bool is_required = is_missed(key);
            if (is_required != is_marked(key))
                fail_msg("%s of %s is %srequired", key->name, keys_map_name(map),
                         is_required ? "" : "not ");
            count += is_required;
        }
    assert_int_not_equal(count, 0);
    free(problems);
    json_decref(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_keys_that_are_required_say_so),
    };
    return cmocka_run_group_tests_name("keys", tests, NULL, NULL);
}
