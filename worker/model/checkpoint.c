/* Writes, loads and removes checkpoints. */
#include "worker/model/checkpoint.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "worker/model/kernels.h"
#include "worker/model/model.h"
#include "worker/model/ranks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is the memory's");
_Static_assert(sizeof(struct checkpoint_header) == 152, "the header has no holes");

static const char magic[8] = {'p', 'h', 'm', 'o', 'd', 'e', 'l', '\n'};
/* The ends of the name of a folder that is not a checkpoint yet, or no longer. */
static const char unfinished[] = ".tmp", replaced[] = ".tmp.old";

/* --- Names ------------------------------------------------------------------------------------ */

static char *path_with(const char *folder, uint64_t step, const char *end)
{
    return text_format("%s/step_%06" PRIu64 ".ckpt%s", folder, step, end);
}

char *checkpoint_path(const char *folder, uint64_t step)
{
    return path_with(folder, step, "");
}

static char *rank_path(const char *path, uint64_t rank)
{
    return text_format("%s/rank_%" PRIu64, path, rank);
}

static char *marker_path(const char *path)
{
    return text_format("%s/marker", path);
}

/* --- Sizes and digests ------------------------------------------------------------------------ */

/* Returns which numbers of a bucket are in the file of a rank. */
static struct ranks_part part_of(const struct model_bucket *bucket, unsigned rank, unsigned size)
{
    if (bucket->is_shared)
        return ranks_part(rank, size, bucket->count);
    return (struct ranks_part){0, rank == 0 ? bucket->count : 0};
}

size_t checkpoint_share(const struct model_bucket *bucket, unsigned rank, unsigned size)
{
    return part_of(bucket, rank, size).count;
}

/* Returns how many numbers of each array are in the file of a rank. */
static size_t numbers_of(const struct model *model, unsigned rank, unsigned size)
{
    size_t numbers = 0;
    for (size_t i = 0; i < model->bucket_count; i++)
        numbers += checkpoint_share(&model->buckets[i], rank, size);
    return numbers;
}

static int check_size(const char *path, const struct file_map *map, const struct model *model,
                      unsigned rank, unsigned size, struct error *err)
{
    size_t wanted =
        CHECKPOINT_ARRAYS * numbers_of(model, rank, size) * sizeof(float) + CHECKPOINT_DIGEST;
    if (map->size == wanted)
        return 0;
    return error_set(err, -EINVAL, "%s/rank_%u has %zu bytes instead of %zu", path, rank, map->size,
                     wanted);
}

static void make_digest(uint8_t *ret_digest, const void *data, size_t size)
{
    /* The hash fails only for wrong sizes. */
    (void)crypto_generichash(ret_digest, CHECKPOINT_DIGEST, data, size, NULL, 0);
}

/* --- Writing ---------------------------------------------------------------------------------- */

int checkpoint_part_begin(struct checkpoint_part *part, const char *folder, uint64_t step,
                          unsigned rank, struct error *err)
{
    char *temporary = path_with(folder, step, unfinished), *path = rank_path(temporary, rank);
    int status = file_make_folders(temporary, 0777, err);
    if (status == 0)
        status = file_change_begin(&part->file, path, 0666, err);
    /* This fails only for wrong sizes. */
    (void)crypto_generichash_init(&part->state, NULL, 0, CHECKPOINT_DIGEST);
    free(temporary);
    free(path);
    return status;
}

int checkpoint_part_write(struct checkpoint_part *part, const void *data, size_t size,
                          struct error *err)
{
    /* The hash cannot fail for a state that was started. */
    (void)crypto_generichash_update(&part->state, data, size);
    return file_change_write(&part->file, data, size, err);
}

int checkpoint_part_end(struct checkpoint_part *part, int status, struct error *err)
{
    uint8_t digest[CHECKPOINT_DIGEST];
    (void)crypto_generichash_final(&part->state, digest, sizeof digest);
    if (status == 0)
        status = file_change_write(&part->file, digest, sizeof digest, err);
    return file_change_end(&part->file, status, err);
}

static struct checkpoint_header header_of(const struct model *model, unsigned ranks,
                                          const struct checkpoint_position *position)
{
    const struct model_shape *shape = &model->shape;
    struct checkpoint_header header = {
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
        .ranks = ranks,
    };
    memcpy(header.magic, magic, sizeof magic);
    memcpy(header.fingerprint, position->fingerprint, sizeof header.fingerprint);
    memcpy(header.digest, position->digest, sizeof header.digest);
    return header;
}

/* Copies the digest from the end of a file that the rank has written. */
static int read_digest(uint8_t *ret_digest, const char *path, const struct model *model,
                       unsigned rank, unsigned size, struct error *err)
{
    char *name = rank_path(path, rank);
    struct file_map map;
    int status = file_map(name, &map, err);
    free(name);
    if (status < 0)
        return status;
    status = check_size(path, &map, model, rank, size, err);
    if (status == 0)
        memcpy(ret_digest, (const char *)map.data + map.size - CHECKPOINT_DIGEST,
               CHECKPOINT_DIGEST);
    file_unmap(&map);
    return status;
}

static int write_marker(const char *path, const struct model *model, unsigned ranks,
                        const struct checkpoint_position *position, struct error *err)
{
    const struct checkpoint_header header = header_of(model, ranks, position);
    size_t size = sizeof header + ranks * CHECKPOINT_DIGEST;
    uint8_t *bytes = xmalloc(size + CHECKPOINT_DIGEST);
    memcpy(bytes, &header, sizeof header);
    int status = 0;
    for (unsigned rank = 0; rank < ranks && status == 0; rank++)
        status = read_digest(bytes + sizeof header + rank * CHECKPOINT_DIGEST, path, model, rank,
                             ranks, err);
    if (status == 0) {
        char *name = marker_path(path);
        make_digest(bytes + size, bytes, size);
        status = file_replace(name, bytes, size + CHECKPOINT_DIGEST, 0666, err);
        free(name);
    }
    free(bytes);
    return status;
}

/* Gives a folder the name of a checkpoint. A checkpoint of the same step gives way. NFS cannot
 * exchange names: there, checkpoint_drop() puts the name back if the second renaming fails. */
static int take_name(const char *folder, uint64_t step, struct error *err)
{
    char *temporary = path_with(folder, step, unfinished), *old = path_with(folder, step, replaced);
    char *path = checkpoint_path(folder, step);
    int status = rename(temporary, path);
    if (status < 0 && (errno == ENOTEMPTY || errno == EEXIST)) {
        status = renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_EXCHANGE);
        if (status < 0 && (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) &&
            rename(path, old) == 0)
            status = rename(temporary, path);
    }
    if (status < 0)
        status = error_set(err, -errno, "cannot replace %s: %s", path, strerror(errno));
    else
        status = file_sync_folder(path, err);
    free(temporary);
    free(old);
    free(path);
    return status;
}

int checkpoint_complete(const char *folder, const struct model *model, unsigned ranks,
                        const struct checkpoint_position *position, struct error *err)
{
    char *temporary = path_with(folder, position->step, unfinished);
    int status = write_marker(temporary, model, ranks, position, err);
    if (status == 0)
        status = take_name(folder, position->step, err);
    if (status == 0)
        (void)checkpoint_drop(folder, position->step, NULL); /* what gave way; else it stays */
    free(temporary);
    return status;
}

/* --- Removing --------------------------------------------------------------------------------- */

int checkpoint_drop(const char *folder, uint64_t step, struct error *err)
{
    char *temporary = path_with(folder, step, unfinished), *old = path_with(folder, step, replaced);
    char *path = checkpoint_path(folder, step);
    (void)rename(old, path); /* fails if nothing gave way, or if the new checkpoint is there */
    int status = file_remove_tree(temporary, err);
    if (status == 0)
        status = file_remove_tree(old, err);
    free(temporary);
    free(old);
    free(path);
    return status;
}

/* Reads the step from a name such as step_000150.ckpt, and what comes after it. */
static bool step_of_name(const char *name, uint64_t *ret_step, const char **ret_end)
{
    uint64_t step;
    int end = 0;
    if (sscanf(name, "step_%" SCNu64 ".ckpt%n", &step, &end) != 1 || end == 0)
        return false;
    char again[64];
    (void)snprintf(again, sizeof again, "step_%06" PRIu64 ".ckpt", step); /* 20 digits fit */
    if (strncmp(name, again, (size_t)end) != 0)
        return false;
    *ret_step = step;
    *ret_end = name + end;
    return true;
}

/* Adds the steps of all names in the folder that end so. */
static int list_steps(const char *folder, const char *end, struct text *steps, struct error *err)
{
    DIR *listing = opendir(folder);
    if (!listing)
        return error_set(err, -errno, "cannot list %s: %s", folder, strerror(errno));
    struct dirent *entry;
    while ((entry = readdir(listing))) {
        uint64_t step;
        const char *rest;
        if (step_of_name(entry->d_name, &step, &rest) && text_equal(rest, end))
            text_add_bytes(steps, &step, sizeof step);
    }
    (void)closedir(listing); /* it was only read */
    return 0;
}

static uint64_t step_at(const struct text *steps, size_t i)
{
    uint64_t step;
    memcpy(&step, steps->data + i * sizeof step, sizeof step);
    return step;
}

int checkpoint_clean(const char *folder, struct error *err)
{
    struct text steps = {0};
    int status = list_steps(folder, unfinished, &steps, err);
    if (status == 0)
        status = list_steps(folder, replaced, &steps, err);
    for (size_t i = 0; i < steps.size / sizeof(uint64_t) && status == 0; i++)
        status = checkpoint_drop(folder, step_at(&steps, i), err);
    text_fini(&steps);
    return status;
}

static int compare_newest_first(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left < right) - (left > right);
}

/* The folder loses its name before its files. */
static int remove_checkpoint(const char *folder, uint64_t step, struct error *err)
{
    char *path = checkpoint_path(folder, step), *temporary = path_with(folder, step, unfinished);
    int status = rename(path, temporary) < 0 && errno != ENOENT ? -errno : 0;
    status = status < 0 ? error_set(err, status, "cannot remove %s: %s", path, strerror(-status))
                        : file_remove_tree(temporary, err);
    free(path);
    free(temporary);
    return status;
}

int checkpoint_prune(const char *folder, uint64_t step, size_t keep, struct error *err)
{
    struct text steps = {0};
    int status = list_steps(folder, "", &steps, err);
    size_t count = steps.size / sizeof(uint64_t), kept = 1;
    if (count)
        qsort(steps.data, count, sizeof(uint64_t), compare_newest_first);
    for (size_t i = 0; i < count; i++) {
        int removed = 0;
        if (step_at(&steps, i) < step && kept++ >= keep)
            removed = remove_checkpoint(folder, step_at(&steps, i), err);
        status = removed < 0 ? removed : status;
    }
    text_fini(&steps);
    return status;
}

/* --- Loading ---------------------------------------------------------------------------------- */

/* A checkpoint that is read. */
struct source {
    const char *path; /* borrowed */
    struct checkpoint_header header;
    struct file_map marker, *parts; /* NULL: not mapped yet */
};

static int refuse(const struct source *source, struct error *err, const char *reason)
{
    return error_set(err, -EINVAL, "cannot read %s: %s", source->path, reason);
}

static int check_marker(const struct source *source, struct error *err)
{
    const struct checkpoint_header *header = &source->header;
    const uint8_t *bytes = source->marker.data;
    uint8_t digest[CHECKPOINT_DIGEST];
    if (memcmp(header->magic, magic, sizeof magic) != 0)
        return refuse(source, err, "not a checkpoint: its marker is not one of phase-model");
    if (header->version != CHECKPOINT_VERSION)
        return error_set(err, -EINVAL,
                         "cannot read %s: it is a checkpoint of version %u, and this program reads "
                         "version %d",
                         source->path, header->version, CHECKPOINT_VERSION);
    if (header->ranks < 1 || header->ranks > RANKS_MAX ||
        source->marker.size != sizeof *header + (header->ranks + 1) * CHECKPOINT_DIGEST)
        return refuse(source, err, "its marker is damaged");
    size_t size = source->marker.size - CHECKPOINT_DIGEST;
    make_digest(digest, bytes, size);
    if (memcmp(digest, bytes + size, sizeof digest) != 0)
        return refuse(source, err, "its marker is damaged");
    return 0;
}

static void source_fini(struct source *source)
{
    file_unmap(&source->marker);
    for (size_t i = 0; source->parts && i < source->header.ranks; i++)
        file_unmap(&source->parts[i]);
    free(source->parts);
}

/* Reads the marker. The source must get source_fini() also after a failure. */
static int source_init(struct source *source, const char *path, struct error *err)
{
    *source = (struct source){.path = path};
    char *name = marker_path(path);
    int status = file_map(name, &source->marker, err);
    free(name);
    if (status == -ENOENT && access(path, F_OK) < 0)
        return error_set(err, status, "cannot read %s: %s", path, strerror(ENOENT));
    if (status == -ENOTDIR || status == -ENOENT)
        return refuse(source, err, "not a checkpoint: it is not a folder with a marker");
    if (status < 0)
        return status;
    if (source->marker.size >= sizeof source->header)
        memcpy(&source->header, source->marker.data, sizeof source->header);
    return check_marker(source, err);
}

static int map_parts(struct source *source, struct error *err)
{
    int status = 0;
    source->parts = xcalloc(source->header.ranks, sizeof *source->parts);
    for (size_t i = 0; i < source->header.ranks && status == 0; i++) {
        char *name = rank_path(source->path, i);
        status = file_map(name, &source->parts[i], err);
        free(name);
    }
    if (status < 0)
        (void)error_prefix(err, "cannot read %s", source->path);
    return status;
}

static int check_digests(const struct source *source, struct error *err)
{
    const uint8_t *wanted = (const uint8_t *)source->marker.data + sizeof source->header;
    for (size_t i = 0; i < source->header.ranks; i++, wanted += CHECKPOINT_DIGEST) {
        uint8_t digest[CHECKPOINT_DIGEST];
        const struct file_map *part = &source->parts[i]; /* the rank may have owned nothing */
        size_t size = part->size > sizeof digest ? part->size - sizeof digest : 0;
        make_digest(digest, part->data, size);
        if (memcmp(digest, wanted, sizeof digest) != 0)
            return error_set(err, -EINVAL, "cannot read %s: the digest of rank_%zu is wrong",
                             source->path, i);
    }
    return 0;
}

static int check_shape(const struct source *source, const struct model *model, struct error *err)
{
    const struct checkpoint_header *header = &source->header;
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
                             "cannot resume from %s: it has %s=%" PRIu64 ", not %" PRIu64,
                             source->path, rows[i].name, rows[i].saved, rows[i].wanted);
    }
    return 0;
}

/* Opens a checkpoint that fits the model, with all files. */
static int source_open(struct source *source, const char *path, const struct model *model,
                       struct error *err)
{
    int status = source_init(source, path, err);
    /* The shape comes before the sizes, because another shape is the reason for other sizes. */
    if (status == 0)
        status = check_shape(source, model, err);
    if (status == 0)
        status = map_parts(source, err);
    unsigned ranks = (unsigned)source->header.ranks;
    for (unsigned i = 0; i < ranks && status == 0; i++) {
        status = check_size(path, &source->parts[i], model, i, ranks, err);
        if (status < 0)
            (void)error_prefix(err, "cannot read %s", path);
    }
    return status;
}

int checkpoint_shape(const char *path, struct model_shape *ret_shape, size_t *ret_sequence,
                     uint8_t ret_digest[32], struct error *err)
{
    struct source source;
    const struct checkpoint_header *header = &source.header;
    int status = source_init(&source, path, err);
    if (status == 0)
        status = map_parts(&source, err);
    if (status == 0)
        status = check_digests(&source, err);
    const struct model_shape shape = {
        .vocabulary = header->vocabulary,
        .width = header->width,
        .depth = header->depth,
        .heads = header->heads,
        .kv_heads = header->kv_heads,
        .hidden = header->hidden,
        .loops = header->loops,
        .tied = header->tied,
    };
    if (status == 0 && header->sequence < 1)
        status = error_set(err, -ERANGE, "there is no model with rows of 0 tokens");
    if (status == 0)
        status = model_check(&shape, header->sequence, err);
    if (status == 0) {
        *ret_shape = shape;
        *ret_sequence = header->sequence;
        memcpy(ret_digest, header->digest, sizeof header->digest);
    }
    source_fini(&source);
    return status;
}

/* What is read of the weights, in the order of the model. */
struct reading {
    const struct source *source;
    const struct model_bucket *bucket;
    const float **saved; /* where the bucket begins in the file of each rank */
};

/* A model_reader. */
static void read_saved(void *context, const struct model_tensor *tensor, size_t first, size_t count,
                       float *ret_values)
{
    struct reading *reading = context;
    unsigned ranks = (unsigned)reading->source->header.ranks;
    (void)tensor; /* `first` says where it is */
    while (first >= reading->bucket->first + reading->bucket->count) {
        for (unsigned rank = 0; rank < ranks; rank++)
            reading->saved[rank] += part_of(reading->bucket, rank, ranks).count;
        reading->bucket++;
    }
    struct ranks_part wanted = {first - reading->bucket->first, count};
    for (unsigned rank = 0; rank < ranks; rank++) {
        struct ranks_part part = part_of(reading->bucket, rank, ranks);
        struct ranks_part both = ranks_overlap(part, wanted);
        if (both.count > 0)
            memcpy(ret_values + (both.first - wanted.first),
                   reading->saved[rank] + (both.first - part.first),
                   both.count * sizeof *ret_values);
    }
}

static void fill_weights(struct model *model, const struct source *source)
{
    struct reading reading = {source, model->buckets, NULL};
    reading.saved = xcalloc(source->header.ranks, sizeof *reading.saved);
    for (size_t i = 0; i < source->header.ranks; i++)
        reading.saved[i] = source->parts[i].data;
    model_fill(model, read_saved, &reading);
    free(reading.saved);
}

/* Fills those moments of this rank that are in the file of `rank`. The array is the `index`-th in
 * the file. */
static void put_part(struct model *model, float *array, size_t index, const struct source *source,
                     unsigned rank)
{
    unsigned ranks = (unsigned)source->header.ranks;
    const float *saved = source->parts[rank].data;
    saved += index * numbers_of(model, rank, ranks);
    for (size_t i = 0; i < model->bucket_count; i++) {
        const struct model_bucket *bucket = &model->buckets[i];
        struct ranks_part part = part_of(bucket, rank, ranks);
        struct ranks_part wanted = {bucket->own_first - bucket->first, bucket->own_count};
        struct ranks_part both = ranks_overlap(part, wanted);
        if (both.count > 0)
            kernels_put(model->kernels, array + bucket->state + (both.first - wanted.first),
                        saved + (both.first - part.first), both.count * sizeof *saved);
        saved += part.count;
    }
}

static void put_array(struct model *model, float *array, size_t index, const struct source *source)
{
    for (unsigned rank = 0; rank < source->header.ranks; rank++)
        put_part(model, array, index, source, rank);
}

int checkpoint_load(const char *path, struct model *model, struct checkpoint_position *ret_position,
                    uint8_t ret_digest[CHECKPOINT_DIGEST], struct error *err)
{
    struct source source;
    const struct checkpoint_header *header = &source.header;
    int status = source_open(&source, path, model, err);
    if (status == 0)
        status = check_digests(&source, err);
    if (status < 0)
        goto out;
    fill_weights(model, &source);
    put_array(model, model->moment1, 1, &source);
    put_array(model, model->moment2, 2, &source);
    *ret_position = (struct checkpoint_position){
        .step = header->step, .rows = header->rows, .seed = header->seed};
    memcpy(ret_position->fingerprint, header->fingerprint, sizeof header->fingerprint);
    memcpy(ret_position->digest, header->digest, sizeof header->digest);
    if (ret_digest)
        make_digest(ret_digest, source.marker.data, source.marker.size);
out:
    source_fini(&source);
    return status;
}

int checkpoint_load_weights(const char *path, struct model *model, struct error *err)
{
    struct source source;
    int status = source_open(&source, path, model, err);
    if (status == 0)
        fill_weights(model, &source);
    source_fini(&source);
    return status;
}
