/* Reads lines, and writes JSON lines. */
#include "worker/model/prompts.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_MAX = 1 << 30 };

static int read_input(struct prompts *prompts, const char *path, struct error *err)
{
    size_t size;
    int status = file_read(path, INPUT_MAX, &prompts->data, &size, err);
    if (status < 0)
        return status;
    const char *at = prompts->data, *end = at + size;
    for (const char *line = at; line < end; prompts->count++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        line = stop ? stop + 1 : end;
    }
    prompts->prompts = xcalloc(prompts->count, sizeof *prompts->prompts);
    for (size_t i = 0; i < prompts->count; i++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        prompts->prompts[i] = (struct prompt){(const uint8_t *)at, length};
        at = stop ? stop + 1 : end;
    }
    return 0;
}

/* Makes a JSON string of the bytes. Bytes that are not UTF-8 become U+FFFD. */
static json_t *make_string(const char *bytes, size_t size)
{
    json_t *whole = json_stringn(bytes, size);
    struct text text = {0};
    for (size_t i = 0; !whole && i < size;) {
        size_t length = size - i < 4 ? size - i : 4;
        json_t *character = NULL;
        while (length && !(character = json_stringn(bytes + i, length)))
            length--;
        json_decref(character);
        text_add_bytes(&text, length ? bytes + i : "\xEF\xBF\xBD", length ? length : 3);
        i += length ? length : 1;
    }
    if (!whole)
        whole = json_stringn(text_string(&text), text.size);
    text_fini(&text);
    return whole;
}

static int refuse_output(const struct prompts *prompts, const char *input_path, struct error *err)
{
    return error_set(err, -EINVAL, "cannot continue %s: its last line was not made from %s",
                     prompts->output_path, input_path);
}

/* Whether the line was made from the last prompt that is done. */
static bool is_last(const struct prompts *prompts, const char *line, size_t size)
{
    if (prompts->done > prompts->count)
        return false;
    const struct prompt *prompt = &prompts->prompts[prompts->done - 1];
    json_t *last = json_loadb(line, size, JSON_ALLOW_NUL, NULL), *number, *words;
    json_t *wanted = make_string((const char *)prompt->bytes, prompt->size);
    bool is_ours = json_unpack(last, "{s:o, s:o}", "line", &number, "prompt", &words) == 0 &&
                   json_is_integer(number) &&
                   json_integer_value(number) == (json_int_t)prompts->done - 1 &&
                   json_equal(words, wanted);
    json_decref(wanted);
    json_decref(last);
    return is_ours;
}

/* Whether the bytes after the last newline may be the begin of the next line. */
static bool is_begin(const struct prompts *prompts, const char *rest, size_t size)
{
    char begin[48];
    size_t length =
        (size_t)snprintf(begin, sizeof begin, "{\"line\":%zu,", prompts->done); /* fits */
    return memcmp(rest, begin, size < length ? size : length) == 0;
}

/* Counts the lines that the output has, and removes an incomplete line. */
static int open_output(struct prompts *prompts, const char *input_path, struct error *err)
{
    const char *path = prompts->output_path;
    struct file_map map = {0};
    size_t last = 0, whole = 0;
    int status = access(path, F_OK) == 0 ? file_map(path, &map, err) : 0;
    if (status < 0)
        return status;
    const char *data = map.data, *at;
    while (whole < map.size && (at = memchr(data + whole, '\n', map.size - whole))) {
        last = whole;
        whole = (size_t)(at - data) + 1;
        prompts->done++;
    }
    if ((prompts->done && !is_last(prompts, data + last, whole - last)) ||
        (whole < map.size && !is_begin(prompts, data + whole, map.size - whole)))
        status = refuse_output(prompts, input_path, err);
    file_unmap(&map);
    if (status < 0)
        return status;
    prompts->output = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (prompts->output < 0 || ftruncate(prompts->output, (off_t)whole) < 0)
        return error_set(err, -errno, "cannot write %s: %s", path, strerror(errno));
    return 0;
}

int prompts_open(struct prompts *prompts, const char *input_path, const char *output_path,
                 struct error *err)
{
    *prompts = (struct prompts){.output_path = output_path, .output = -1};
    int status = read_input(prompts, input_path, err);
    return status < 0 ? status : open_output(prompts, input_path, err);
}

static int fail_to_write(const struct prompts *prompts, int code, struct error *err)
{
    return error_set(err, code, "cannot write %s: %s", prompts->output_path, strerror(-code));
}

int prompts_close(struct prompts *prompts, int status, struct error *err)
{
    if (prompts->output >= 0 && close(prompts->output) < 0 && status == 0)
        status = fail_to_write(prompts, -errno, err);
    free(prompts->prompts);
    free(prompts->data);
    return status;
}

int prompts_write(struct prompts *prompts, size_t line, const char *text, size_t size,
                  struct error *err)
{
    const struct prompt *prompt = &prompts->prompts[line];
    json_t *prompt_string = make_string((const char *)prompt->bytes, prompt->size);
    json_t *object = json_pack("{s:I, s:o, s:o}", "line", (json_int_t)line, "prompt", prompt_string,
                               "text", make_string(text, size));
    char *dump = object ? json_dumps(object, JSON_COMPACT) : NULL;
    if (!dump)
        abort();
    struct text whole = {0};
    text_addf(&whole, "%s\n", dump);
    int status = file_write(prompts->output, text_string(&whole), whole.size);
    text_fini(&whole);
    free(dump);
    json_decref(object);
    return status < 0 ? fail_to_write(prompts, status, err) : 0;
}

int prompts_sync(struct prompts *prompts, struct error *err)
{
    if (fsync(prompts->output) < 0 && errno != EINVAL && errno != EROFS)
        return fail_to_write(prompts, -errno, err);
    return 0;
}
