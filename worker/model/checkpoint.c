/* Saves, loads and prunes checkpoints. */
#include "worker/model/checkpoint.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "worker/model/kernels.h"
#include "worker/model/model.h"
#include "worker/model/ranks.h"

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
_Static_assert(sizeof(struct checkpoint_header) == 144, "the header has no holes");

enum { PIECE_FLOATS = 1 << 20 };

static const char magic[8] = {'p', 'h', 'm', 'o', 'd', 'e', 'l', '\n'};

static void fill_header(struct checkpoint_header *header, const struct model *model,
                        const struct checkpoint_position *position)
{
    const struct model_shape *shape = &model->shape;
    *header = (struct checkpoint_header){
        .version = CHECKPOINT_VERSION,
        .vocabulary = shape->vocabulary,
        .width = shape->width,
        .depth = shape->depth,
        .heads = shape->heads,
        .kv_heads = shape->kv_heads,
        .hidden = shape->hidden,
        .loops = shape->loops,
        .tied = shape->tied,
        .sequence = (uint32_t)model->sequence,
        .parameters = model->parameters,
        .step = position->step,
        .rows = position->rows,
        .seed = position->seed,
    };
    memcpy(header->magic, magic, sizeof magic);
    memcpy(header->fingerprint, position->fingerprint, sizeof header->fingerprint);
    memcpy(header->digest, position->digest, sizeof header->digest);
}

static struct model_shape shape_of(const struct checkpoint_header *header)
{
    return (struct model_shape){
        .vocabulary = header->vocabulary,
        .width = header->width,
        .depth = header->depth,
        .heads = header->heads,
        .kv_heads = header->kv_heads,
        .hidden = header->hidden,
        .loops = header->loops,
        .tied = header->tied,
    };
}

/* A checkpoint that is being written. All ranks go through the same pieces. */
struct writing {
    const struct model *model;
    struct ranks *ranks;
    float *piece;
    /* In rank 0. After a failure the other ranks go on sending, and their pieces are dropped. */
    struct file_change file;
    crypto_generichash_state checksum; /* of all bytes so far */
    int result;
    struct error *err;
};

static void write_bytes(struct writing *writing, const void *data, size_t size)
{
    if (writing->result < 0 || writing->ranks->rank != 0)
        return;
    /* The hash cannot fail for a state that was started. */
    (void)crypto_generichash_update(&writing->checksum, data, size);
    writing->result = file_change_write(&writing->file, data, size, writing->err);
}

/* Writes `count` numbers that `owner` has at `values`. */
static int write_part(struct writing *writing, unsigned owner, const float *values, size_t count,
                      struct error *err)
{
    struct kernels *kernels = writing->model->kernels;
    int result = 0;
    for (size_t done = 0; done < count && result == 0; done += PIECE_FLOATS) {
        size_t size = count - done < PIECE_FLOATS ? count - done : PIECE_FLOATS;
        if (owner == writing->ranks->rank)
            kernels_get(kernels, writing->piece, values + done, size * sizeof *values);
        result = ranks_give(writing->ranks, owner, writing->piece, size, err);
        if (result == 0)
            write_bytes(writing, writing->piece, size * sizeof *values);
    }
    return result;
}

enum array {
    ARRAY_WHOLE, /* has a place for each number of the model */
    ARRAY_OWN,   /* has the parts of this rank only */
};

static int write_array(struct writing *writing, const float *array, enum array kind,
                       struct error *err)
{
    const struct model *model = writing->model;
    unsigned size = writing->ranks->size;
    for (size_t i = 0; i < model->bucket_count; i++) {
        const struct model_bucket *bucket = &model->buckets[i];
        const float *own = array + (kind == ARRAY_WHOLE ? bucket->own_first : bucket->state);
        for (unsigned owner = 0; owner < (bucket->is_shared ? size : 1); owner++) {
            size_t count =
                bucket->is_shared ? ranks_part(owner, size, bucket->count).count : bucket->count;
            int result = write_part(writing, owner, own, count, err);
            if (result < 0)
                return result;
        }
    }
    return 0;
}

static int write_all(struct writing *writing, const struct checkpoint_position *position,
                     struct error *err)
{
    const struct model *model = writing->model;
    struct checkpoint_header header;
    fill_header(&header, model, position);
    write_bytes(writing, &header, sizeof header);
    int result = write_array(writing, model->master, ARRAY_WHOLE, err);
    if (result == 0)
        result = write_array(writing, model->moment1, ARRAY_OWN, err);
    if (result == 0)
        result = write_array(writing, model->moment2, ARRAY_OWN, err);
    if (result == 0)
        result = kernels_status(model->kernels, err);
    if (result < 0)
        return result;
    if (writing->result < 0 || writing->ranks->rank != 0)
        return writing->result;
    uint8_t checksum[CHECKPOINT_CHECKSUM];
    (void)crypto_generichash_final(&writing->checksum, checksum, sizeof checksum);
    return file_change_write(&writing->file, checksum, sizeof checksum, err);
}

int checkpoint_save(const char *folder, const struct model *model, struct ranks *ranks,
                    const struct checkpoint_position *position, char **ret_path, struct error *err)
{
    struct writing writing = {.model = model, .ranks = ranks, .err = err};
    char *path = text_format("%s/step_%06" PRIu64 ".ckpt", folder, position->step);
    writing.piece = xmalloc(PIECE_FLOATS * sizeof *writing.piece);
    /* This fails only for wrong sizes. */
    (void)crypto_generichash_init(&writing.checksum, NULL, 0, CHECKPOINT_CHECKSUM);
    if (ranks->rank == 0)
        writing.result = file_change_begin(&writing.file, path, 0666, err);
    bool has_file = ranks->rank == 0 && writing.result == 0;
    int result = write_all(&writing, position, err);
    if (has_file)
        result = file_change_end(&writing.file, result, err);
    free(writing.piece);
    if (result == 0 && has_file)
        *ret_path = path;
    else
        free(path);
    return result;
}

static int check_shape(const char *path, const struct checkpoint_header *header,
                       const struct model *model, struct error *err)
{
    const struct model_shape *wanted = &model->shape;
    const struct {
        const char *name;
        uint64_t saved, wanted;
    } rows[] = {
        {"tokens", header->vocabulary, wanted->vocabulary},
        {"width", header->width, wanted->width},
        {"depth", header->depth, wanted->depth},
        {"heads", header->heads, wanted->heads},
        {"kv-heads", header->kv_heads, wanted->kv_heads},
        {"hidden", header->hidden, wanted->hidden},
        {"loops", header->loops, wanted->loops},
        {"tied", header->tied, wanted->tied},
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

/* Maps a file, and takes its header if it is a checkpoint of this version. */
static int open_file(const char *path, struct file_map *ret_map,
                     struct checkpoint_header *ret_header, struct error *err)
{
    struct file_map map;
    struct checkpoint_header header = {0};
    int result = file_map(path, &map, err);
    if (result < 0)
        return result;
    if (map.size >= sizeof header)
        memcpy(&header, map.data, sizeof header);
    if (memcmp(header.magic, magic, sizeof magic) != 0)
        result = error_set(err, -EINVAL, "cannot resume from %s: not a checkpoint", path);
    else if (header.version != CHECKPOINT_VERSION)
        result = error_set(err, -EINVAL,
                           "cannot resume from %s: it is a checkpoint of version %u, and this "
                           "program reads version %d",
                           path, header.version, CHECKPOINT_VERSION);
    if (result < 0) {
        file_unmap(&map);
        return result;
    }
    *ret_map = map;
    *ret_header = header;
    return 0;
}

/* Checks the size of a file, and the sum if `checksum` is not NULL. */
static int check_bytes(const char *path, const struct file_map *map,
                       const struct checkpoint_header *header, uint8_t *checksum, struct error *err)
{
    const uint64_t parameters_max = UINT64_C(1) << 48; /* keeps the product far from overflow */
    uint64_t size = sizeof *header + 3 * header->parameters * sizeof(float) + CHECKPOINT_CHECKSUM;
    if (header->parameters > parameters_max || map->size != size)
        return error_set(err, -EINVAL, "cannot resume from %s: %zu bytes instead of %" PRIu64, path,
                         map->size, size);
    if (!checksum)
        return 0;
    size_t summed = map->size - CHECKPOINT_CHECKSUM;
    /* The hash fails only for wrong sizes. */
    (void)crypto_generichash(checksum, CHECKPOINT_CHECKSUM, map->data, summed, NULL, 0);
    if (memcmp(checksum, (const char *)map->data + summed, CHECKPOINT_CHECKSUM) != 0)
        return error_set(err, -EINVAL, "cannot resume from %s: its checksum is wrong", path);
    return 0;
}

int checkpoint_shape(const char *path, struct model_shape *ret_shape, size_t *ret_sequence,
                     uint8_t ret_digest[32], struct error *err)
{
    struct file_map map;
    struct checkpoint_header header;
    uint8_t checksum[CHECKPOINT_CHECKSUM];
    int result = open_file(path, &map, &header, err);
    if (result < 0)
        return result;
    result = check_bytes(path, &map, &header, checksum, err);
    file_unmap(&map);
    struct model_shape shape = shape_of(&header);
    if (result == 0 && header.sequence < 1)
        result = error_set(err, -ERANGE, "there is no model with rows of 0 tokens");
    if (result == 0)
        result = model_check(&shape, header.sequence, err);
    if (result < 0)
        return result;
    *ret_shape = shape;
    *ret_sequence = header.sequence;
    memcpy(ret_digest, header.digest, sizeof header.digest);
    return 0;
}

/* Returns where an array begins in a file. */
static const float *array_in(const struct file_map *map, const struct model *model, size_t index)
{
    const char *floats = (const char *)map->data + sizeof(struct checkpoint_header);
    return (const float *)floats + index * model->parameters;
}

static void put_weights(struct model *model, const struct file_map *map)
{
    kernels_put(model->kernels, model->master, array_in(map, model, 0),
                model->parameters * sizeof *model->master);
    model_round(model);
}

/* Takes the parts of this rank. */
static void put_moment(struct model *model, float *moment, const float *saved)
{
    for (size_t i = 0; i < model->bucket_count; i++) {
        const struct model_bucket *bucket = &model->buckets[i];
        kernels_put(model->kernels, moment + bucket->state, saved + bucket->own_first,
                    bucket->own_count * sizeof *moment);
    }
}

int checkpoint_load(const char *path, struct model *model, struct checkpoint_position *ret_position,
                    uint8_t ret_checksum[CHECKPOINT_CHECKSUM], struct error *err)
{
    struct file_map map;
    struct checkpoint_header header;
    uint8_t checksum[CHECKPOINT_CHECKSUM];
    int result = open_file(path, &map, &header, err);
    if (result < 0)
        return result;
    /* The shape comes before the size, because another shape is the reason for another size. */
    result = check_shape(path, &header, model, err);
    if (result == 0)
        result = check_bytes(path, &map, &header, checksum, err);
    if (result < 0)
        goto out;
    put_weights(model, &map);
    put_moment(model, model->moment1, array_in(&map, model, 1));
    put_moment(model, model->moment2, array_in(&map, model, 2));
    *ret_position =
        (struct checkpoint_position){.step = header.step, .rows = header.rows, .seed = header.seed};
    memcpy(ret_position->fingerprint, header.fingerprint, sizeof header.fingerprint);
    memcpy(ret_position->digest, header.digest, sizeof header.digest);
    if (ret_checksum)
        memcpy(ret_checksum, checksum, CHECKPOINT_CHECKSUM);
out:
    file_unmap(&map);
    return result;
}

int checkpoint_load_weights(const char *path, struct model *model, struct error *err)
{
    struct file_map map;
    struct checkpoint_header header;
    int result = open_file(path, &map, &header, err);
    if (result < 0)
        return result;
    result = check_shape(path, &header, model, err);
    if (result == 0)
        result = check_bytes(path, &map, &header, NULL, err);
    if (result == 0)
        put_weights(model, &map);
    file_unmap(&map);
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
