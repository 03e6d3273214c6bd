/* The limits that Slurm carries, under its names. */
#include "lib/limits.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>

static const struct {
    unsigned resource;
    const char *name;
} limits[] = {
    {RLIMIT_CPU, "CPU"},     {RLIMIT_FSIZE, "FSIZE"},   {RLIMIT_DATA, "DATA"},
    {RLIMIT_STACK, "STACK"}, {RLIMIT_CORE, "CORE"},     {RLIMIT_RSS, "RSS"},
    {RLIMIT_NPROC, "NPROC"}, {RLIMIT_NOFILE, "NOFILE"}, {RLIMIT_MEMLOCK, "MEMLOCK"},
    {RLIMIT_AS, "AS"},
};

enum { LIMITS_COUNT = sizeof limits / sizeof limits[0] };

char **limits_capture(void)
{
    size_t count = 0;
    char **captured = xcalloc(LIMITS_COUNT + 1, sizeof *captured);
    for (size_t i = 0; i < LIMITS_COUNT; i++) {
        struct rlimit limit;
        if (getrlimit(limits[i].resource, &limit) == 0)
            captured[count++] =
                text_format("%s=%llu", limits[i].name, (unsigned long long)limit.rlim_cur);
    }
    return captured;
}

void limits_free(char **captured)
{
    for (size_t i = 0; captured && captured[i]; i++)
        free(captured[i]);
    free(captured);
}
