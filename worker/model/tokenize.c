/* The command `phase-model tokenize`. */
#include "worker/model/tokenize.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "worker/model/shard.h"
#include "worker/model/stop.h"
#include "worker/model/tokenizer.h"
#include "worker/model/vocabulary.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

enum { BUFFERED_IDS = 1 << 16 };

static const char usage[] =
    "usage: phase-model tokenize --train N TEXT... --vocabulary FILE [--out SHARD]\n"
    "       phase-model tokenize --vocabulary FILE TEXT... --out SHARD\n"
    "\n"
    "Makes a byte-pair vocabulary from texts, or writes the tokens of texts to a shard, for\n"
    "`phase-model train --data SHARD`. A text may have any bytes. The tokens of one text follow\n"
    "those of the text before. The same texts give the same vocabulary and the same shard, byte\n"
    "by byte.\n";

/* Refuses to write a file over one that is read. */
static int check_output(const struct tokenize_options *options, const char *name, const char *path,
                        struct error *err)
{
    for (size_t i = 0; i < options->texts.count; i++)
        if (file_is_same(path, options->texts.items[i]))
            return error_set(err, -EINVAL, "%s %s is one of the texts, and would replace it", name,
                             path);
    return 0;
}

/* Two names of a vocabulary that is still to be made look different. So this is asked once more
 * when the vocabulary has been made. */
static int check_shard(const struct tokenize_options *options, struct error *err)
{
    if (!file_is_same(options->out, options->vocabulary) &&
        !text_equal(options->out, options->vocabulary))
        return 0;
    return error_set(err, -EINVAL, "--out %s is the vocabulary, and would replace it",
                     options->out);
}

static int check_outputs(const struct tokenize_options *options, struct error *err)
{
    int status = 0;
    if (options->tokens)
        status = check_output(options, "--vocabulary", options->vocabulary, err);
    if (status == 0 && *options->out)
        status = check_output(options, "--out", options->out, err);
    return status < 0 ? status : check_shard(options, err);
}

int tokenize_read(struct tokenize_options *options, char **words)
{
    *options = (struct tokenize_options){.texts = {.max = SIZE_MAX}};
    const struct option_rule rules[] = {
        {"vocabulary", 0, "FILE", "the vocabulary, which --train writes; required",
         .text = &options->vocabulary, .is_required = true},
        {"train", 0, "N", "make a vocabulary of N tokens from the texts", .large = &options->tokens,
         .least = VOCABULARY_BYTES, .most = VOCABULARY_TOKENS_MAX},
        {"out", 0, "SHARD", "write the tokens of the texts to SHARD", .text = &options->out,
         .initial = ""},
        {0},
    };
    struct error err;
    int exit_code = option_main("phase-model tokenize", usage, words, rules, &options->texts);
    if (exit_code >= 0)
        return exit_code;
    if (!options->texts.count)
        error_set(&err, -EINVAL, "a text is missing");
    else if (!options->tokens && !*options->out)
        error_set(&err, -EINVAL, "--train or --out is missing");
    else if (check_outputs(options, &err) == 0)
        return -1;
    return option_refuse("phase-model tokenize", &err);
}

/* The texts in memory. */
struct texts {
    struct file_map *maps;
    size_t count;
    uint64_t size; /* bytes of all */
};

static void texts_fini(struct texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        file_unmap(&texts->maps[i]);
    free(texts->maps);
}

static int texts_init(struct texts *texts, const struct option_arguments *paths, struct error *err)
{
    *texts = (struct texts){.maps = xcalloc(paths->count, sizeof *texts->maps)};
    for (size_t i = 0; i < paths->count; i++) {
        int status = file_map(paths->items[i], &texts->maps[i], err);
        if (status < 0) {
            texts_fini(texts);
            return status;
        }
        texts->count++;
        texts->size += texts->maps[i].size;
    }
    return 0;
}

static int encode(const struct vocabulary *vocabulary, const struct texts *texts,
                  struct shard_writer *writer, struct error *err)
{
    int status = 0;
    size_t count = 0;
    struct tokenizer tokenizer;
    uint32_t *ids = xcalloc(BUFFERED_IDS, sizeof *ids);
    tokenizer_init(&tokenizer, vocabulary);
    for (size_t i = 0; i < texts->count && status == 0; i++) {
        const struct file_map *map = &texts->maps[i];
        for (size_t at = 0, added; at < map->size && status == 0; count += added) {
            if (BUFFERED_IDS - count < VOCABULARY_TOKEN_SIZE_MAX) {
                if (stop_is_wanted())
                    status = error_set(err, -EINTR, "stopped: no shard was made");
                else
                    status = shard_add(writer, ids, count, err);
                count = 0;
            }
            at += tokenizer_next(&tokenizer, (const uint8_t *)map->data + at, map->size - at,
                                 ids + count, &added);
        }
    }
    if (status == 0)
        status = shard_add(writer, ids, count, err);
    tokenizer_fini(&tokenizer);
    free(ids);
    return status;
}

static int write_shard(const struct vocabulary *vocabulary, const struct texts *texts,
                       const char *path, struct error *err)
{
    struct shard_writer writer;
    stop_install(); /* a signal leaves no part of a shard */
    int status = shard_begin(&writer, path, vocabulary, err);
    if (status < 0)
        return status;
    status = shard_end(&writer, encode(vocabulary, texts, &writer, err), err);
    if (status == 0)
        printf("%" PRIu64 " tokens from %" PRIu64 " bytes: %s\n", writer.header.count, texts->size,
               path);
    return status;
}

static int make_vocabulary(struct vocabulary *vocabulary, const struct tokenize_options *options,
                           const struct texts *texts, struct error *err)
{
    int status =
        vocabulary_train(vocabulary, texts->maps, texts->count, (uint32_t)options->tokens, err);
    if (status == 0)
        status = vocabulary_save(vocabulary, options->vocabulary, err);
    if (status == 0)
        printf("a vocabulary of %u tokens from %" PRIu64 " bytes: %s\n", vocabulary->tokens,
               texts->size, options->vocabulary);
    return status;
}

int tokenize_run(const struct tokenize_options *options, struct error *err)
{
    struct texts texts;
    struct vocabulary vocabulary = {0};
    int status = texts_init(&texts, &options->texts, err);
    if (status < 0)
        return status;
    status = options->tokens ? make_vocabulary(&vocabulary, options, &texts, err)
                             : vocabulary_load(&vocabulary, options->vocabulary, err);
    if (status == 0)
        status = check_shard(options, err);
    if (status == 0 && *options->out)
        status = write_shard(&vocabulary, &texts, options->out, err);
    vocabulary_fini(&vocabulary);
    texts_fini(&texts);
    return status;
}
