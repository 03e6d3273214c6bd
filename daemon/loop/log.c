/* The log. Each line is one write, so lines stay whole even if others write to the same file. */
#include "daemon/loop/loop.h"

#include "lib/text.h"

#include <stdarg.h>
#include <time.h>
#include <unistd.h>

void log_line(const char *format, ...)
{
    struct timespec now;
    struct tm tm;
    char stamp[32];
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    strftime(stamp, sizeof stamp, "%F %T", &tm);

    struct text line = {0};
    text_addf(&line, "%s.%03ld ", stamp, now.tv_nsec / 1000000);
    va_list args;
    va_start(args, format);
    text_addv(&line, format, args);
    va_end(args);
    for (size_t i = 0; i < line.size; i++)
        if ((unsigned char)line.data[i] < ' ')
            line.data[i] = ' ';
    text_add(&line, "\n");
    /* A log that cannot be written, for example on a full disk, must not stop the work. */
    if (write(STDERR_FILENO, line.data, line.size) < 0)
        (void)0;
    text_fini(&line);
}
