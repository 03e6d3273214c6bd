/* The command `phase-model tokenize`. */
#include "worker/model/tokenize.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "worker/model/shard.h"
#include "worker/model/tokenizer.h"
#include "worker/model/vocabulary.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

enum { BUFFERED_IDS = 1 << 16 };

#define AT(member) offsetof(struct tokenize_options, member)

static const struct argument table[] = {
    {"TEXT", "TEXT...", ARGUMENT_WORDS, AT(texts), 0, 0, NULL, "files with any bytes; required"},
    {"vocabulary", "FILE", ARGUMENT_TEXT, AT(vocabulary), 0, 0, "",
     "the vocabulary, which --train writes; required"},
    {"train", "N", ARGUMENT_WHOLE, AT(tokens), VOCABULARY_BYTES, VOCABULARY_TOKENS_MAX, NULL,
     "make a vocabulary of N tokens from the texts"},
    {"out", "SHARD", ARGUMENT_TEXT, AT(out), 0, 0, "", "write the tokens of the texts to SHARD"},
    {0},
};

int tokenize_parse(struct tokenize_options *options, int count, char **arguments, struct error *err)
{
    *options = (struct tokenize_options){0};
    int status = arguments_read(table, options, count, arguments, err);
    if (status != 0)
        return status;
    if (!options->texts.count)
        return error_set(err, -EINVAL, "a text is missing");
    if (!*options->vocabulary)
        return error_set(err, -EINVAL, "--vocabulary is missing");
    if (!options->tokens && !*options->out)
        return error_set(err, -EINVAL, "--train or --out is missing");
    return 0;
}

void tokenize_print_help(FILE *stream)
{
    fputs("usage: phase-model tokenize --train N TEXT... --vocabulary FILE [--out SHARD]\n"
          "       phase-model tokenize --vocabulary FILE TEXT... --out SHARD\n"
          "\n"
          "Makes a byte-pair vocabulary from texts, or writes the tokens of texts to a shard, for\n"
          "`phase-model train --data SHARD`. Options:\n\n",
          stream);
    arguments_print(table, stream);
    fputs("\n"
          "The tokens of one text follow those of the text before. The same texts give the same\n"
          "vocabulary and the same shard, byte by byte.\n",
          stream);
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

static int texts_init(struct texts *texts, const struct argument_words *paths, struct error *err)
{
    *texts = (struct texts){.maps = xcalloc(paths->count, sizeof *texts->maps)};
    for (size_t i = 0; i < paths->count; i++) {
        int status = file_map(paths->words[i], &texts->maps[i], err);
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
    if (status == 0 && *options->out)
        status = write_shard(&vocabulary, &texts, options->out, err);
    vocabulary_fini(&vocabulary);
    texts_fini(&texts);
    return status;
}
