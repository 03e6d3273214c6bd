/* Paths relative to /proc/self/exe. */
#include "lib/place.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

char *place_folder(void)
{
    char path[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    if (size < 0)
        return text_format("."); /* no /proc: use the current folder */
    path[size] = '\0';
    return xstrdup(dirname(path));
}

char *place_program(const char *name)
{
    char *folder = place_folder(), *path = text_format("%s/%s", folder, name);
    free(folder);
    return path;
}

char *place_data(const char *name)
{
    char *folder = place_folder(), *path = text_format("%s/../share/phased/%s", folder, name);
    free(folder);
    if (access(path, R_OK) == 0)
        return path;
    free(path);
    return text_format("%s/%s", PHASED_PKGDATADIR, name);
}
