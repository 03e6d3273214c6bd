/* Streams that make dangerous characters visible. */
#include "cli/guard.h"

#include "lib/file.h"
#include "lib/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COLOUR_SIZE = 5, LETTER_SIZE = 4 }; /* at most, in bytes */

const char *const guard_colours[COLOUR_COUNT] = {
    [COLOUR_PLAIN] = "\033[0m", [COLOUR_BOLD] = "\033[1m",     [COLOUR_DIM] = "\033[2m",
    [COLOUR_RED] = "\033[31m",  [COLOUR_GREEN] = "\033[32m",   [COLOUR_YELLOW] = "\033[33m",
    [COLOUR_BLUE] = "\033[34m", [COLOUR_MAGENTA] = "\033[35m", [COLOUR_CYAN] = "\033[36m",
};

/* A stream of the process. */
struct guard {
    int fd;
    bool passes;
    struct text held; /* the beginning of a letter or colour that is not complete yet */
};

/* The size of the colour at the beginning of `at`; 0: no colour is there. */
static size_t guard_colour(const char *at, size_t size)
{
    for (size_t i = 0; i < COLOUR_COUNT; i++) {
        size_t length = strlen(guard_colours[i]);
        if (size >= length && memcmp(at, guard_colours[i], length) == 0)
            return length;
    }
    return 0;
}

void guard_add(struct text *text, const char *bytes, size_t size)
{
    size_t begin = 0, at = 0;
    while (at < size) {
        size_t colour = guard_colour(bytes + at, size - at);
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
static size_t guard_whole(const char *bytes, size_t size)
{
    for (size_t back = 1; back <= size && back < COLOUR_SIZE; back++) {
        for (size_t i = 0; i < COLOUR_COUNT; i++)
            if (back < strlen(guard_colours[i]) &&
                memcmp(bytes + size - back, guard_colours[i], back) == 0)
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
static ssize_t guard_answer(int status, size_t size)
{
    errno = status < 0 ? -status : errno;
    return status < 0 ? 0 : (ssize_t)size;
}

static ssize_t guard_take(void *cookie, const char *bytes, size_t size)
{
    struct guard *guard = cookie;
    struct text harmless = {0};
    if (guard->passes)
        return guard_answer(file_write(guard->fd, bytes, size), size);
    text_add_bytes(&guard->held, bytes, size);
    size_t whole = guard_whole(guard->held.data, guard->held.size);
    guard_add(&harmless, guard->held.data, whole);
    char rest[COLOUR_SIZE];
    size_t rest_size = guard->held.size - whole;
    memcpy(rest, guard->held.data + whole, rest_size);
    text_clear(&guard->held);
    text_add_bytes(&guard->held, rest, rest_size);
    int status = file_write(guard->fd, text_string(&harmless), harmless.size);
    text_fini(&harmless);
    return guard_answer(status, size);
}

static FILE *guard_open(struct guard *guard, FILE *stream, int mode)
{
    static const cookie_io_functions_t functions = {.write = guard_take};
    FILE *guarded = fopencookie(guard, "w", functions);
    if (!guarded)
        return stream;                          /* there is no memory */
    (void)setvbuf(guarded, NULL, mode, BUFSIZ); /* if it fails, output is slower */
    return guarded;
}

static struct guard guards[] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};

void guard_streams(void)
{
    stdout = guard_open(&guards[0], stdout, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
    stderr = guard_open(&guards[1], stderr, _IONBF);
}

void guard_pass(void)
{
    (void)fflush(stdout); /* an error shows again at the end */
    guards[0].passes = !isatty(STDOUT_FILENO);
}
