/* Streams that make dangerous characters visible. */
#include "cli/filter.h"

#include "lib/file.h"
#include "lib/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COLOUR_SIZE = 5, LETTER_SIZE = 4 }; /* at most, in bytes */

const char *const filter_colours[COLOUR_COUNT] = {
    [COLOUR_PLAIN] = "\033[0m", [COLOUR_BOLD] = "\033[1m",     [COLOUR_DIM] = "\033[2m",
    [COLOUR_RED] = "\033[31m",  [COLOUR_GREEN] = "\033[32m",   [COLOUR_YELLOW] = "\033[33m",
    [COLOUR_BLUE] = "\033[34m", [COLOUR_MAGENTA] = "\033[35m", [COLOUR_CYAN] = "\033[36m",
};

/* A stream of the process. */
struct filter {
    int fd;
    bool passes;
    struct text held; /* the beginning of a letter or colour that is not complete yet */
};

/* The size of the colour at the beginning of `at`; 0: no colour is there. */
static size_t filter_colour(const char *at, size_t size)
{
    for (size_t i = 0; i < COLOUR_COUNT; i++) {
        size_t length = strlen(filter_colours[i]);
        if (size >= length && memcmp(at, filter_colours[i], length) == 0)
            return length;
    }
    return 0;
}

void filter_add(struct text *text, const char *bytes, size_t size)
{
    size_t begin = 0, at = 0;
    while (at < size) {
        size_t colour = filter_colour(bytes + at, size - at);
        if (!colour) {
            at++;
            continue;
        }
        text_add_visible(text, bytes + begin, at - begin, "\t\n\r"); /* \r: progress bars */
        text_add_bytes(text, bytes + at, colour);
        begin = at += colour;
    }
    text_add_visible(text, bytes + begin, size - begin, "\t\n\r");
}

/* How many bytes are complete. The last bytes may be the beginning of a colour or a letter. */
static size_t filter_whole(const char *bytes, size_t size)
{
    for (size_t back = 1; back <= size && back < COLOUR_SIZE; back++) {
        for (size_t i = 0; i < COLOUR_COUNT; i++)
            if (back < strlen(filter_colours[i]) &&
                memcmp(bytes + size - back, filter_colours[i], back) == 0)
                return size - back;
    }
    for (size_t back = 1; back <= size && back < LETTER_SIZE; back++) {
        unsigned char byte = (unsigned char)bytes[size - back];
        size_t needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
        if (byte < 0x80)
            break;
        if (byte >= 0xc0)
            return back < needed ? size - back : size;
    }
    return size;
}

/* fopencookie() wants 0 for an error. */
static ssize_t filter_answer(int status, size_t size)
{
    errno = status < 0 ? -status : errno;
    return status < 0 ? 0 : (ssize_t)size;
}

static ssize_t filter_take(void *cookie, const char *bytes, size_t size)
{
    struct filter *filter = cookie;
    struct text harmless = {0};
    if (filter->passes)
        return filter_answer(file_write(filter->fd, bytes, size), size);
    text_add_bytes(&filter->held, bytes, size);
    size_t whole = filter_whole(filter->held.data, filter->held.size);
    filter_add(&harmless, filter->held.data, whole);
    char rest[COLOUR_SIZE];
    size_t rest_size = filter->held.size - whole;
    memcpy(rest, filter->held.data + whole, rest_size);
    text_clear(&filter->held);
    text_add_bytes(&filter->held, rest, rest_size);
    int status = file_write(filter->fd, text_string(&harmless), harmless.size);
    text_fini(&harmless);
    return filter_answer(status, size);
}

static FILE *filter_open(struct filter *filter, FILE *stream, int mode)
{
    static const cookie_io_functions_t functions = {.write = filter_take};
    FILE *filtered = fopencookie(filter, "w", functions);
    if (!filtered)
        return stream;                           /* there is no memory */
    (void)setvbuf(filtered, NULL, mode, BUFSIZ); /* if it fails, output is slower */
    return filtered;
}

static struct filter filters[] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};

void filter_streams(void)
{
    stdout = filter_open(&filters[0], stdout, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
    stderr = filter_open(&filters[1], stderr, _IONBF);
}

void filter_pass(void)
{
    (void)fflush(stdout); /* an error shows again at the end */
    filters[0].passes = !isatty(STDOUT_FILENO);
}
