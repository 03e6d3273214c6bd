/* Saves, loads and prunes checkpoints. */
#include "worker/model/checkpoint.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"
#include "worker/model/model.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is the memory's");
_Static_assert(sizeof(struct checkpoint_header) == 96, "the header has no holes");

static const char magic[8] = {'p', 'h', 'm', 'o', 'd', 'e', 'l', '\n'};

static void fill_header(struct checkpoint_header *header, const struct model *model,
                        const struct checkpoint_position *position)
{
    *header = (struct checkpoint_header){
        .version = CHECKPOINT_VERSION,
        .width = model->shape.width,
        .depth = model->shape.depth,
        .heads = model->shape.heads,
        .loops = model->shape.loops,
        .vocabulary = MODEL_VOCABULARY,
        .parameters = model->parameters,
        .step = position->step,
        .rows = position->rows,
        .seed = position->seed,
    };
    memcpy(header->magic, magic, sizeof magic);
    memcpy(header->fingerprint, position->fingerprint, sizeof header->fingerprint);
}

static size_t file_size(const struct model *model)
{
    return sizeof(struct checkpoint_header) + 3 * model->parameters * sizeof(float) +
           CHECKPOINT_CHECKSUM;
}

static void take_checksum(uint8_t checksum[CHECKPOINT_CHECKSUM], const char *data, size_t size)
{
    (void)crypto_generichash(checksum, CHECKPOINT_CHECKSUM, (const unsigned char *)data, size, NULL,
                             0); /* fails only for wrong sizes */
}

int checkpoint_save(const char *folder, const struct model *model,
                    const struct checkpoint_position *position, char **ret_path, struct error *err)
{
    struct checkpoint_header header;
    fill_header(&header, model, position);
    size_t array = model->parameters * sizeof(float);
    struct text file = {0};
    text_add_bytes(&file, &header, sizeof header);
    text_add_bytes(&file, model->weights, array);
    text_add_bytes(&file, model->moment1, array);
    text_add_bytes(&file, model->moment2, array);
    uint8_t checksum[CHECKPOINT_CHECKSUM];
    take_checksum(checksum, file.data, file.size);
    text_add_bytes(&file, checksum, sizeof checksum);

    char *path = text_format("%s/step_%06" PRIu64 ".ckpt", folder, position->step);
    int result = file_replace(path, file.data, file.size, 0666, err);
    if (result == 0)
        *ret_path = path;
    else
        free(path);
    text_fini(&file);
    return result;
}

static int check_shape(const char *path, const struct checkpoint_header *header,
                       const struct model *model, struct error *err)
{
    const struct {
        const char *name;
        uint64_t saved, wanted;
    } rows[] = {
        {"width", header->width, model->shape.width},
        {"depth", header->depth, model->shape.depth},
        {"heads", header->heads, model->shape.heads},
        {"loops", header->loops, model->shape.loops},
        {"vocabulary", header->vocabulary, MODEL_VOCABULARY},
        {"parameters", header->parameters, model->parameters},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].saved != rows[i].wanted)
            return error_set(err, -EINVAL,
                             "cannot resume from %s: its %s is %" PRIu64 ", not %" PRIu64, path,
                             rows[i].name, rows[i].saved, rows[i].wanted);
    }
    return 0;
}

static int check_header(const char *path, const struct checkpoint_header *header, struct error *err)
{
    if (memcmp(header->magic, magic, sizeof magic) != 0)
        return error_set(err, -EINVAL, "cannot resume from %s: not a checkpoint", path);
    if (header->version != CHECKPOINT_VERSION)
        return error_set(err, -EINVAL, "cannot resume from %s: version %u, this program reads %d",
                         path, header->version, CHECKPOINT_VERSION);
    return 0;
}

int checkpoint_shape(const char *path, struct model_shape *ret_shape, struct error *err)
{
    struct checkpoint_header header = {0};
    FILE *file = fopen(path, "rbe");
    if (!file)
        return error_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
    if (fread(&header, sizeof header, 1, file) != 1)
        header = (struct checkpoint_header){0}; /* the file is too short for a header */
    (void)fclose(file);                         /* nothing was written */
    int result = check_header(path, &header, err);
    struct model_shape shape = {header.width, header.depth, header.heads, header.loops};
    if (result < 0)
        return result;
    if (!shape.heads || !shape.width || shape.width % shape.heads || !shape.depth ||
        shape.depth > MODEL_DEPTH_MAX || !shape.loops || shape.loops > MODEL_LOOPS_MAX ||
        shape.width > MODEL_WIDTH_MAX || header.vocabulary != MODEL_VOCABULARY)
        return error_set(err, -EINVAL, "cannot read %s: there is no such model", path);
    *ret_shape = shape;
    return 0;
}

/* Checks the shape before the size, because another shape is the reason for another size. */
static int check_file(const char *path, const char *data, size_t size, const struct model *model,
                      struct error *err)
{
    struct checkpoint_header header;
    if (size < sizeof header)
        return error_set(err, -EINVAL, "cannot resume from %s: not a checkpoint", path);
    memcpy(&header, data, sizeof header);
    int result = check_header(path, &header, err);
    if (result == 0)
        result = check_shape(path, &header, model, err);
    if (result < 0)
        return result;
    if (size != file_size(model))
        return error_set(err, -EINVAL, "cannot resume from %s: %zu bytes instead of %zu", path,
                         size, file_size(model));
    uint8_t checksum[CHECKPOINT_CHECKSUM];
    take_checksum(checksum, data, size - sizeof checksum);
    if (memcmp(checksum, data + size - sizeof checksum, sizeof checksum) != 0)
        return error_set(err, -EINVAL, "cannot resume from %s: its checksum is wrong", path);
    return 0;
}

int checkpoint_load(const char *path, struct model *model, struct checkpoint_position *ret_position,
                    uint8_t ret_checksum[CHECKPOINT_CHECKSUM], struct error *err)
{
    char *data;
    size_t size;
    /* The bound leaves room for the file of a larger model, whose shape makes the better
     * message. */
    int result = file_read(path, 16 * file_size(model) + ((size_t)1 << 30), &data, &size, err);
    if (result < 0)
        return result;
    result = check_file(path, data, size, model, err);
    if (result < 0)
        goto out;
    struct checkpoint_header header;
    memcpy(&header, data, sizeof header);
    size_t array = model->parameters * sizeof(float);
    const char *floats = data + sizeof header;
    memcpy(model->weights, floats, array);
    memcpy(model->moment1, floats + array, array);
    memcpy(model->moment2, floats + 2 * array, array);
    *ret_position =
        (struct checkpoint_position){.step = header.step, .rows = header.rows, .seed = header.seed};
    memcpy(ret_position->fingerprint, header.fingerprint, sizeof header.fingerprint);
    if (ret_checksum)
        memcpy(ret_checksum, floats + 3 * array, CHECKPOINT_CHECKSUM);
out:
    free(data);
    return result;
}

/* Reads the step from a name such as checkpoint_save() gives. */
static bool step_of_name(const char *name, uint64_t *ret_step)
{
    uint64_t step;
    int end = 0;
    if (sscanf(name, "step_%" SCNu64 ".ckpt%n", &step, &end) != 1 || end == 0 || name[end])
        return false;
    char again[64];
    (void)snprintf(again, sizeof again, "step_%06" PRIu64 ".ckpt", step); /* 20 digits fit */
    if (strcmp(name, again) != 0)
        return false;
    *ret_step = step;
    return true;
}

static int compare_newest_first(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left < right) - (left > right);
}

int checkpoint_prune(const char *folder, uint64_t step, size_t keep, struct error *err)
{
    DIR *listing = opendir(folder);
    if (!listing)
        return error_set(err, -errno, "cannot list %s: %s", folder, strerror(errno));
    int result = 0;
    struct text steps = {0};
    struct dirent *entry;
    while ((entry = readdir(listing))) {
        uint64_t found;
        if (step_of_name(entry->d_name, &found) && found < step)
            text_add_bytes(&steps, &found, sizeof found);
    }
    size_t count = steps.size / sizeof(uint64_t);
    if (count)
        qsort(steps.data, count, sizeof(uint64_t), compare_newest_first);
    for (size_t i = keep - 1; i < count; i++) {
        uint64_t old;
        memcpy(&old, steps.data + i * sizeof old, sizeof old);
        char *path = text_format("%s/step_%06" PRIu64 ".ckpt", folder, old);
        if (unlink(path) < 0 && errno != ENOENT)
            result = error_set(err, -errno, "cannot remove %s: %s", path, strerror(errno));
        free(path);
    }
    text_fini(&steps);
    (void)closedir(listing); /* it was only read */
    return result;
}
