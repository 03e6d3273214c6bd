/* Reads `container`, and checks what every node would refuse. */
#include "lib/spec/container.h"

#include "lib/spec/keys.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"
#include "lib/spec/sections.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { CONTAINER_MOUNTS_MAX = 100 };

bool container_is_one_path(const char *path)
{
    return !strpbrk(path, ":,\"\\ \t\n");
}

static bool container_is_absolute(const char *path)
{
    return path[0] == '/' || text_starts(path, "$PHASED_") || text_starts(path, "${PHASED_");
}

/* Whether the text can be the name of an image in a registry. */
static bool container_is_name(const char *image)
{
    const char *name = text_starts(image, "docker://") ? image + strlen("docker://") : image;
    return isalnum((unsigned char)name[0]) && !strstr(name, "//") &&
           !name[text_name_size(name, "._-/:@")];
}

static bool container_is_file(const char *image)
{
    return text_ends(image, ".sif") || text_ends(image, ".sqsh") || text_ends(image, ".tar");
}

bool container_reads(const char *runtime, const char *image)
{
    if (!container_is_file(image))
        return true;
    if (text_ends(image, ".sqsh"))
        return !text_equal(runtime, "podman");
    return text_equal(runtime, text_ends(image, ".sif") ? "apptainer" : "podman");
}

/* Says why the image cannot be used; NULL: it can. */
static const char *container_image_problem(const char *image, const char *runtime)
{
    bool is_absolute = container_is_absolute(image);
    if (is_absolute && !container_is_file(image))
        return "must be a file that ends with .sif (apptainer), .sqsh (enroot, apptainer) or .tar "
               "(podman)";
    if (is_absolute && !container_is_one_path(image))
        return "has a character that no runtime allows in a path: a space, a comma, a colon, a "
               "quote or a backslash";
    if (!is_absolute && (container_is_file(image) || image[0] == '.'))
        return "must be an absolute path";
    if (!is_absolute && !container_is_name(image))
        return "must be a path or the name of an image (such as nvcr.io/nvidia/pytorch:25.06-py3)";
    if (!text_equal(runtime, "auto") && !container_reads(runtime, image))
        return "must be a file for this runtime: apptainer reads .sif and .sqsh, enroot reads "
               ".sqsh, "
               "podman reads .tar";
    return NULL;
}

static json_t *container_image(const struct sections *sections, const struct yaml_node *map,
                               const char *runtime)
{
    struct spec_problems *problems = sections->scope->problems;
    const struct yaml_node *node = yaml_get(map, "image");
    if (!node && !sections->lacks_base && !keys_is_misspelt(map, KEYS_CONTAINER, "image"))
        yaml_missing(problems, map, "image", "missing: a file, or the name of an image");
    char *image = node ? scalar_string(sections->scope, node) : NULL;
    const char *problem = image ? container_image_problem(image, runtime) : NULL;
    if (problem)
        yaml_problem(problems, node, "%s", problem);
    json_t *json = image && !problem ? json_string(image) : NULL;
    free(image);
    return json;
}

/* Reads FROM, FROM:TO or FROM:TO:ro. */
static void container_add_mount(const struct sections *sections, const struct yaml_node *node,
                                json_t *mounts)
{
    struct spec_problems *problems = sections->scope->problems;
    char *text = scalar_string(sections->scope, node);
    if (!text)
        return;
    bool is_read_only = text_ends(text, ":ro");
    if (is_read_only)
        text[strlen(text) - strlen(":ro")] = '\0';
    char *colon = strchr(text, ':');
    const char *to = colon ? colon + 1 : text;
    if (colon)
        *colon = '\0';
    if (!container_is_absolute(text) || !container_is_absolute(to))
        yaml_problem(problems, node, "must be absolute paths: FROM, FROM:TO or FROM:TO:ro");
    else if (!container_is_one_path(text) || !container_is_one_path(to))
        yaml_problem(problems, node,
                     "has a character that no runtime allows in a path: a space, a comma, a third "
                     "colon, a quote or a backslash");
    else
        (void)json_array_append_new(mounts,
                                    json_sprintf("%s:%s%s", text, to, is_read_only ? ":ro" : ""));
    free(text);
}

static json_t *container_mounts(const struct sections *sections, const struct yaml_node *map)
{
    struct spec_problems *problems = sections->scope->problems;
    const struct yaml_node *node = yaml_get(map, "mounts");
    json_t *mounts = json_array();
    if (node && node->kind != YAML_LIST)
        yaml_problem(problems, node, "must be a list of folders (such as [/data:/data:ro])");
    else if (node && node->count > CONTAINER_MOUNTS_MAX)
        yaml_problem(problems, node, "more than %d", CONTAINER_MOUNTS_MAX);
    for (size_t i = 0; node && node->kind == YAML_LIST && i < node->count; i++)
        container_add_mount(sections, node->items[i], mounts);
    return mounts;
}

void container_read(const struct sections *sections, const struct key *key, json_t *phase)
{
    const struct yaml_node *map =
        keys_read_map(sections->scope->problems, yaml_get(sections->phase, key->name),
                      KEYS_CONTAINER, "a map (such as {image: /images/train.sif})");
    const char *runtime = scalar_key_choice(sections->scope, map, KEYS_CONTAINER, "runtime");
    json_t *container = json_null();
    if (map) {
        json_t *image = container_image(sections, map, runtime ? runtime : "auto");
        container =
            json_pack("{s:o*, s:o, s:s}", "image", image, "mounts", container_mounts(sections, map),
                      "runtime", runtime ? runtime : "auto");
    }
    (void)json_object_set_new(phase, key->name, container);
}
