/* Finds the shards of a node, and marks them as done. */
#include "worker/node/shards.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "worker/node/split.h"
#include "worker/process/environment.h"
#include "worker/protocol/assignment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHARDS_HASH_BYTES = 32, SHARDS_HASH_SIZE = 2 * SHARDS_HASH_BYTES + 1 };

struct shard {
    char *file, *mark;
    char hash[SHARDS_HASH_SIZE];
    bool is_over;
};

struct shards {
    struct shards_options options;
    char *folder, *input, *script, *params; /* copies, because the thread may outlive the run */
    unsigned total;
    bool is_anew; /* marks of earlier runs do not count */
    struct shard *items;
    unsigned done;
    uv_work_t work;
    bool is_working, is_closed;
    atomic_bool is_cancelled;
    int status; /* of the thread; read after its end */
    struct error err;
};

static char *shards_folder(const char *run_dir)
{
    const char *end = strrchr(run_dir, '/');
    return text_format("%.*s/shards", (int)(end ? end - run_dir : 0), run_dir);
}

/* The suffix of a file's name with its dot, because programs recognise kinds of files by it. */
static const char *shards_suffix(const char *path)
{
    const char *name = strrchr(path, '/'), *dot = strrchr(path, '.');
    return dot && (!name || dot > name + 1) ? dot : "";
}

static void shards_free(struct shards *shards)
{
    for (unsigned i = 0; i < shards->options.count; i++) {
        free(shards->items[i].file);
        free(shards->items[i].mark);
    }
    free(shards->items);
    free(shards->folder);
    free(shards->input);
    free(shards->script);
    free(shards->params);
    free(shards);
}

/* --- On the thread ---------------------------------------------------------------------------- */

static void shards_hash_text(crypto_generichash_state *hash, const char *text)
{
    /* With the NUL at the end, "a" and "bc" differ from "ab" and "c". */
    (void)crypto_generichash_update(hash, (const unsigned char *)text, strlen(text) + 1);
}

/* Hashes what decides the result of a group, except the lines of its shard. */
static void shards_hash_begin(const struct shards *shards, unsigned i,
                              crypto_generichash_state *hash)
{
    char *place = text_format("%u of %u", shards->options.first + i, shards->total);
    (void)crypto_generichash_init(hash, NULL, 0,
                                  SHARDS_HASH_BYTES); /* cannot fail for these sizes */
    shards_hash_text(hash, place);
    shards_hash_text(hash, shards->script);
    shards_hash_text(hash, shards->params);
    free(place);
}

static void shards_hash_end(crypto_generichash_state *hash, char ret_text[SHARDS_HASH_SIZE])
{
    unsigned char bytes[SHARDS_HASH_BYTES];
    (void)crypto_generichash_final(hash, bytes, sizeof bytes);
    (void)sodium_bin2hex(ret_text, SHARDS_HASH_SIZE, bytes, sizeof bytes);
}

/* Whether an earlier run has done exactly this shard. */
static bool shards_is_marked(const struct shard *shard)
{
    char *text = NULL;
    bool is_marked = file_read(shard->mark, SHARDS_HASH_SIZE, &text, NULL, NULL) == 0 &&
                     strncmp(text, shard->hash, SHARDS_HASH_SIZE - 1) == 0;
    free(text);
    return is_marked;
}

/* Writes the file beside its place and renames it, so that the file is whole or absent. */
static int shards_write(struct shards *shards, struct shard *shard, int fd,
                        const struct split_part *part, crypto_generichash_state *hash,
                        struct error *err)
{
    char *temporary = text_format("%s.new", shard->file);
    int output = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status;
    if (output < 0)
        status = error_set(err, -errno, "could not make %s: %s", temporary, strerror(errno));
    else
        status = split_copy(fd, part, output, &shards->is_cancelled, hash, err);
    if (status == 0 && fsync(output) < 0)
        status = error_set(err, -errno, "could not write %s: %s", temporary, strerror(errno));
    if (output >= 0)
        close(output);
    if (status == 0 && rename(temporary, shard->file) < 0)
        status = error_set(err, -errno, "could not rename %s: %s", temporary, strerror(errno));
    if (status < 0)
        (void)unlink(temporary); /* it may not exist */
    free(temporary);
    return status;
}

static int shards_prepare(struct shards *shards, unsigned i, int fd, const struct split_part *part,
                          struct error *err)
{
    struct shard *shard = &shards->items[i];
    crypto_generichash_state hash;
    if (shards->is_anew)
        (void)unlink(shard->mark); /* it may not exist */
    shards_hash_begin(shards, i, &hash);
    int status = split_copy(fd, part, -1, &shards->is_cancelled, &hash, err);
    if (status < 0)
        return status;
    shards_hash_end(&hash, shard->hash);
    shard->is_over = part->begin == part->end || shards_is_marked(shard);
    if (shard->is_over)
        return 0;
    shards_hash_begin(shards, i, &hash);
    status = shards_write(shards, shard, fd, part, &hash, err);
    shards_hash_end(&hash, shard->hash); /* the hash is of the bytes that were written */
    return status;
}

/* An error of the path itself names the key of the spec. */
static int shards_open_input(const char *path, int *ret_fd, struct error *err)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC), number = fd < 0 ? errno : 0;
    if (!number && fstat(fd, &info) == 0 && S_ISDIR(info.st_mode))
        number = EISDIR;
    if (!number) {
        *ret_fd = fd;
        return 0;
    }
    if (fd >= 0)
        close(fd);
    return error_set_at(err, -number, "shard.input", 0, 0, "%s", strerror(number));
}

static int shards_find_all(struct shards *shards, struct error *err)
{
    const struct shards_options *options = &shards->options;
    struct split_part *parts = xcalloc(options->count, sizeof *parts);
    int status = file_make_folders(shards->folder, 0700, err), fd = -1;
    if (status == 0)
        status = shards_open_input(shards->input, &fd, err);
    if (status == 0)
        status = split_find(fd, shards->total, options->first, options->count,
                            &shards->is_cancelled, parts, err);
    for (unsigned i = 0; i < options->count && status == 0; i++)
        status = shards_prepare(shards, i, fd, &parts[i], err);
    if (status < 0)
        error_prefix(err, "%s", shards->input);
    if (fd >= 0)
        close(fd);
    free(parts);
    return status;
}

static void shards_work_start(uv_work_t *work)
{
    struct shards *shards = work->data;
    shards->status = shards_find_all(shards, &shards->err);
}

/* --- In the loop ------------------------------------------------------------------------------ */

static void shards_work_done(uv_work_t *work, int status)
{
    struct shards *shards = work->data;
    (void)status; /* a cancelled search is being closed */
    shards->is_working = false;
    if (shards->is_closed)
        shards_free(shards);
    else
        shards->options.ready(shards->options.context, shards->status, &shards->err);
}

struct shards *shards_find(const struct shards_options *options)
{
    const struct assignment *assignment = options->assignment;
    struct shards *shards = xcalloc(1, sizeof *shards);
    shards->items = xcalloc(options->count, sizeof *shards->items);
    shards->options = *options;
    shards->folder = shards_folder(assignment->file.run_dir);
    shards->input =
        environment_path(options->environment, assignment->shard_input, assignment->workdir);
    shards->script = xstrdup(assignment->script);
    shards->total = assignment->parallel.data;
    shards->is_anew = assignment->file.is_anew;
    shards->params = json_dumps(json_object_get(assignment->spec, "params"),
                                JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!shards->params)
        shards->params = xstrdup("{}");
    for (unsigned i = 0; i < options->count; i++) {
        unsigned shard = options->first + i;
        shards->items[i].file =
            text_format("%s/%u%s", shards->folder, shard, shards_suffix(shards->input));
        shards->items[i].mark = text_format("%s/%u.done", shards->folder, shard);
    }
    shards->work.data = shards;
    shards->is_working = true;
    if (sodium_init() < 0)
        abort(); /* as when memory is exhausted */
    /* Fails only without a function. */
    (void)uv_queue_work(options->loop, &shards->work, shards_work_start, shards_work_done);
    return shards;
}

void shards_close(struct shards *shards)
{
    if (!shards)
        return;
    atomic_store(&shards->is_cancelled, true);
    shards->is_closed = true;
    if (!shards->is_working)
        shards_free(shards);
}

const char *shards_file(const struct shards *shards, unsigned i)
{
    return shards->items[i].file;
}

bool shards_is_over(const struct shards *shards, unsigned i)
{
    return shards->items[i].is_over;
}

unsigned shards_done(const struct shards *shards)
{
    return shards->done;
}

unsigned shards_over(const struct shards *shards)
{
    unsigned count = 0;
    bool are_found = !shards->is_working && shards->status == 0;
    for (unsigned i = 0; are_found && i < shards->options.count; i++)
        count += shards->items[i].is_over;
    return count;
}

int shards_mark_done(struct shards *shards, unsigned i, struct error *err)
{
    struct shard *shard = &shards->items[i];
    shards->done++;
    return file_replace(shard->mark, shard->hash, strlen(shard->hash), 0600, err);
}

void shards_remove_all(const char *run_dir)
{
    char *folder = shards_folder(run_dir);
    DIR *directory = opendir(folder);
    struct dirent *entry;
    while (directory && (entry = readdir(directory)))
        (void)unlinkat(dirfd(directory), entry->d_name, 0); /* a file that stays does no harm */
    if (directory)
        closedir(directory);
    (void)rmdir(folder); /* a folder that stays does no harm */
    free(folder);
}
