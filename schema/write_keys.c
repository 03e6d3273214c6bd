/* Writes what is made of the table of keys (lib/spec/keys.def): the JSON schema of workflow files,
 * the list of keys for the manual, or the reference.
 *
 *   write_keys schema forms.json     the forms of values are written by hand; the maps of keys are
 *                                    added to the forms of the same names
 *   write_keys manual forms.json     a list for phased-spec(5), in mdoc
 *   write_keys reference forms.json  doc/spec.md: an index of the keys, and the list */
#include "lib/protocol/words.h"
#include "lib/spec/keys.h"
#include "lib/spec/slurm_options.h"
#include "lib/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum { COLUMNS = 100, KEYS_INDEX_MAX = 512 };

static const char *const option_forms[] = {
    [SLURM_VALUE_STRING] = "text",   [SLURM_VALUE_SHORT] = "whole", [SLURM_VALUE_INTEGER] = "whole",
    [SLURM_VALUE_NICE] = "whole",    [SLURM_VALUE_MEMORY] = "text", [SLURM_VALUE_FLAG] = "truth",
    [SLURM_VALUE_DURATION] = "text", [SLURM_VALUE_TIME] = "text",   [SLURM_VALUE_MAIL] = "text",
    [SLURM_VALUE_SWITCHES] = "text",
};

static json_t *reference_to(const char *path)
{
    return json_pack("{s:o}", "$ref", json_sprintf("#/%s", path));
}

static json_t *form(const char *name)
{
    return json_pack("{s:o}", "$ref", json_sprintf("#/$defs/%s", name));
}

static json_t *null_form(void)
{
    return json_pack("{s:s}", "type", "null");
}

/* --- The schema ------------------------------------------------------------------------------- */

/* `words` ends with NULL. */
static json_t *word_list(const char *const *words)
{
    json_t *list = json_array();
    for (size_t i = 0; words[i]; i++)
        (void)json_array_append_new(list, json_string(words[i]));
    return list;
}

/* The forms that a value of this type can have. */
static json_t *type_forms(const struct key_type *type)
{
    json_t *list = json_array(), *words = word_list(type->words);
    if (type->form)
        (void)json_array_append_new(list, form(type->form));
    else if (json_array_size(words))
        (void)json_array_append_new(list, json_pack("{s:O}", "enum", words));
    else
        (void)json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum",
                                                    (json_int_t)type->least, "maximum",
                                                    (json_int_t)type->most));
    if (!type->form && !type->is_literal)
        (void)json_array_append_new(list, form("reference"));
    json_decref(words);
    return list;
}

static bool is_required(const json_t *map, const char *name)
{
    const json_t *item;
    size_t i;
    json_array_foreach(json_object_get(map, "required"), i, item)
    {
        if (text_equal(json_string_value(item), name))
            return true;
    }
    return false;
}

/* Adds a property, unless it is written by hand. */
static void add_property(json_t *map, const char *name, json_t *property)
{
    json_t *properties = json_object_get(map, "properties");
    if (json_object_get(properties, name))
        json_decref(property);
    else
        (void)json_object_set_new(properties, name, property);
}

/* The form called `name`: a map that allows only its properties. */
static json_t *open_map(json_t *forms, const char *name)
{
    json_t *map = json_object_get(forms, name);
    if (!map)
        (void)json_object_set_new(forms, name, map = json_object());
    (void)json_object_set_new(map, "type", json_string("object"));
    (void)json_object_set_new(map, "additionalProperties", json_false());
    if (!json_object_get(map, "properties"))
        (void)json_object_set_new(map, "properties", json_object());
    return map;
}

static void add_map(json_t *forms, enum keys_map keys)
{
    json_t *map = open_map(forms, keys_map_name(keys));
    for (const struct key *key = keys_next(keys, NULL); key; key = keys_next(keys, key)) {
        json_t *list = type_forms(&key->type);
        if (!is_required(map, key->name))
            (void)json_array_append_new(list, null_form());
        add_property(map, key->name,
                     json_pack("{s:s, s:o}", "description", key->help, "anyOf", list));
    }
}

/* Adds a map with the keys of another map that merge by `merge` or a later rule. */
static void add_part(json_t *forms, const char *name, enum keys_map keys, enum key_merge merge,
                     const char *path)
{
    json_t *map = open_map(forms, name);
    for (const struct key *key = keys_next(keys, NULL); key; key = keys_next(keys, key)) {
        char *place = text_format("%s/%s", path, key->name);
        if (key->merge >= merge)
            add_property(map, key->name, reference_to(place));
        free(place);
    }
}

/* sbatch spells its options with -, and phased with _. Both spellings are accepted. */
static void add_options(json_t *forms)
{
    json_t *map = open_map(forms, "slurm"), *patterns = json_object();
    for (int i = 0; i < SLURM_OPTION_COUNT; i++) {
        const char *name = slurm_option_name((enum slurm_option)i);
        const char *type = option_forms[slurm_option_type((enum slurm_option)i)];
        struct text option = {0}, pattern = {0};
        for (const char *at = name; *at; at++) {
            text_add_bytes(&option, *at == '_' ? "-" : at, 1);
            text_add_bytes(&pattern, *at == '_' ? "[-_]" : at, *at == '_' ? 4 : 1);
        }
        json_t *value = json_pack("[o, o]", form(type), null_form());
        if (strchr(name, '_'))
            (void)json_object_set_new(patterns, text_string(&pattern),
                                      json_pack("{s:O}", "anyOf", value));
        add_property(map, name,
                     json_pack("{s:o, s:o}", "description",
                               json_sprintf("--%s", text_string(&option)), "anyOf", value));
        text_fini(&option);
        text_fini(&pattern);
    }
    (void)json_object_set_new(map, "patternProperties", patterns);
}

/* Prints as much on each line as fits. `used` is the width of what stands before and after. */
static void print_json(const json_t *value, int indent, size_t used)
{
    char *line = json_dumps(value, JSON_ENCODE_ANY);
    const char *key, *separator = "";
    json_t *item;
    size_t i;
    if (strlen(line) + used + (size_t)indent < COLUMNS || json_is_string(value)) {
        printf("%s", line);
    } else if (json_is_array(value)) {
        printf("[");
        json_array_foreach(value, i, item)
        {
            printf("%s\n%*s", separator, indent + 2, "");
            print_json(item, indent + 2, 0);
            separator = ",";
        }
        printf("\n%*s]", indent, "");
    } else {
        printf("{");
        json_object_foreach((json_t *)value, key, item)
        {
            printf("%s\n%*s\"%s\": ", separator, indent + 2, "", key);
            print_json(item, indent + 2, strlen(key) + 4);
            separator = ",";
        }
        printf("\n%*s}", indent, "");
    }
    free(line);
}

static void write_schema(json_t *forms)
{
    for (enum keys_map map = 0; map < KEYS_LIMITS; map++)
        add_map(forms, map);
    add_part(forms, "variant", KEYS_VARIANT, KEY_REPLACED, "properties");
    add_part(forms, "defaults", KEYS_PHASE, KEY_DEFAULTED, "$defs/phase/properties");
    add_part(forms, "overlay", KEYS_PHASE, KEY_BY_GPU, "$defs/phase/properties");
    add_options(forms);
    (void)json_object_set_new(json_object_get(forms, "notice"), "enum",
                              word_list(notice_kind_names));
    json_t *schema = json_incref(json_object_get(forms, "workflow"));
    (void)json_object_del(forms, "workflow");
    (void)json_object_set(schema, "$defs", forms);
    print_json(schema, 0, 0);
    printf("\n");
    json_decref(schema);
}

/* --- The manual ------------------------------------------------------------------------------- */

static const char *const merge_notes[] = {
    [KEY_INNER] = "",          [KEY_OF_FILE] = "; not in a variant",
    [KEY_REPLACED] = "",       [KEY_MERGED] = "",
    [KEY_COMMON] = "",         [KEY_OWN] = "; own",
    [KEY_OF_MATRIX] = "; own", [KEY_DEFAULTED] = "; not by extends",
    [KEY_INHERITED] = "",      [KEY_BY_GPU] = "; by GPU",
};

/* The name of a map as a reader knows it: some maps are one of several forms of a value. */
static int title_size(const char *name)
{
    return (int)strcspn(name, "_");
}

static void print_type(const json_t *forms, const struct key_type *type)
{
    const char *title =
        type->form ? json_string_value(json_object_get(json_object_get(forms, type->form), "title"))
                   : NULL;
    if (type->form)
        printf("%s", title ? title : "map");
    else if (!type->words[0])
        printf("whole number, %" PRId64 " to %" PRId64, type->least, type->most);
    for (size_t i = 0; type->words[i]; i++)
        printf("%s%s", i ? " | " : "", type->words[i]);
}

/* Prints each sentence on a line of its own, as in the rest of the manual. */
static void print_help(const char *help)
{
    for (const char *at = help; *at; at++) {
        if (*at == '\\')
            printf("\\e");
        else if (*at == ' ' && at > help && at[-1] == '.')
            printf("\n");
        else
            printf("%c", *at);
    }
    printf("\n");
}

static void write_manual(const json_t *forms)
{
    for (enum keys_map map = 0; map < KEYS_LIMITS; map++) {
        const char *name = keys_map_name(map);
        printf(".It Sy %.*s\n.Bl -tag -width Ds -compact\n", title_size(name), name);
        for (const struct key *key = keys_next(map, NULL); key; key = keys_next(map, key)) {
            printf(".It Cm %s No \"(", key->name);
            print_type(forms, &key->type);
            printf("%s)\"\n", merge_notes[key->merge]);
            print_help(key->help);
        }
        printf(".El\n");
    }
}

/* --- The reference ---------------------------------------------------------------------------- */

static const char reference_head[] =
    "# All keys of a workflow file\n\n"
    "Made by `make keys` from the table of keys, `lib/spec/keys.def`. phased-spec(5) explains the\n"
    "keys, and has examples.\n\n"
    "The words in parentheses are the type of the value. *not in a variant*: a variant cannot\n"
    "have the key. *own*: each phase sets this key itself, because `defaults` and `extends`\n"
    "do not pass it on. *not by extends*: only `defaults` give it. *by GPU*: `by_gpu` can change\n"
    "it.\n\n"
    "A map must have its keys that say *Required*. `defaults`, variants and `by_gpu` need\n"
    "not have them. A phase may get such a key from `defaults` or `extends`, and its `resources`\n"
    "also by `colocate`.\n\n"
    "## Index\n";

static int compare_names(const void *left, const void *right)
{
    const struct key *first = *(const struct key *const *)left;
    const struct key *second = *(const struct key *const *)right;
    int order = strcmp(first->name, second->name);
    return order ? order : (int)first->map - (int)second->map;
}

/* Prints all keys in the order of the alphabet, a line for each letter. */
static void print_index(void)
{
    const struct key *keys[KEYS_INDEX_MAX];
    size_t count = 0;
    for (enum keys_map map = 0; map < KEYS_LIMITS; map++)
        for (const struct key *key = keys_next(map, NULL); key; key = keys_next(map, key)) {
            if (count == KEYS_INDEX_MAX)
                abort();
            keys[count++] = key;
        }
    qsort(keys, count, sizeof *keys, compare_names);
    for (size_t i = 0; i < count; i++) {
        const char *map = keys_map_name(keys[i]->map);
        bool is_new = i == 0 || keys[i]->name[0] != keys[i - 1]->name[0];
        printf("%s`%s` ([%.*s](#%.*s))", is_new ? "\n- " : ",\n  ", keys[i]->name, title_size(map),
               map, title_size(map), map);
    }
    printf("\n");
}

/* Prints each sentence on a line of its own. Only what stands between backquotes has no meaning in
 * Markdown. */
static void print_markdown(const char *help)
{
    bool is_code = false;
    for (const char *at = help; *at; at++) {
        is_code ^= *at == '`';
        if (*at == ' ' && at > help && at[-1] == '.')
            printf("\n  ");
        else
            printf("%s%c", strchr("*_<\\", *at) && !is_code ? "\\" : "", *at);
    }
    printf("\n");
}

static void write_reference(const json_t *forms)
{
    printf("%s", reference_head);
    print_index();
    for (enum keys_map map = 0; map < KEYS_LIMITS; map++) {
        const char *name = keys_map_name(map);
        printf("\n## %.*s\n\n", title_size(name), name);
        for (const struct key *key = keys_next(map, NULL); key; key = keys_next(map, key)) {
            printf("- `%s` (", key->name);
            print_type(forms, &key->type);
            printf("%s)<br>\n  ", merge_notes[key->merge]);
            print_markdown(key->help);
        }
    }
}

int main(int argc, char **argv)
{
    json_error_t err;
    json_t *forms = argc == 3 ? json_load_file(argv[2], 0, &err) : NULL;
    if (!forms) {
        fprintf(stderr, "write_keys: %s\n",
                argc == 3 ? err.text : "usage: write_keys schema|manual|reference forms.json");
        return 1;
    }
    if (text_equal(argv[1], "schema"))
        write_schema(forms);
    else if (text_equal(argv[1], "reference"))
        write_reference(forms);
    else
        write_manual(forms);
    json_decref(forms);
    return 0;
}
