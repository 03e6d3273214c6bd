/* Paths relative to /proc/self/exe. */
#include "lib/place.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

char *place_self(void)
{
    char path[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    path[size > 0 ? size : 0] = '\0'; /* no /proc */
    return xstrdup(path);
}

/* The folder of the running program; "." if it is unknown. */
static char *place_folder(void)
{
    char *self = place_self(), *folder = xstrdup(dirname(self));
    free(self);
    return folder;
}

char *place_program(const char *name)
{
    char *folder = place_folder(), *path = text_format("%s/%s", folder, name);
    free(folder);
    return path;
}

/* The file below `near`, which lies beside the program's folder, or else in `installed`. */
static char *place_find(const char *near, const char *installed, const char *name)
{
    char *folder = place_folder(), *path = text_format("%s/../%s/%s", folder, near, name);
    free(folder);
    if (access(path, R_OK) == 0)
        return path;
    free(path);
    return text_format("%s/%s", installed, name);
}

char *place_data(const char *name)
{
    return place_find("share/phased", PHASED_PKGDATADIR, name);
}

char *place_helper(const char *name)
{
    return place_find("libexec/phased", PHASED_PKGLIBEXECDIR, name);
}

char *place_library(const char *name)
{
    return place_find("lib/phased", PHASED_PKGLIBDIR, name);
}
