/* Measuring a folder. */
#include "worker/health/growth.h"

#include "lib/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GROWTH_DEPTH = 2, GROWTH_FILES_MAX = 4096 };

struct growth {
    uint64_t sum;
    unsigned files;
};

static void growth_add(struct growth *growth, uint64_t number)
{
    for (unsigned byte = 0; byte < 8; byte++) /* FNV-1a */
        growth->sum = (growth->sum ^ (number >> 8 * byte & 0xFF)) * UINT64_C(0x100000001b3);
}

static void growth_look(struct growth *growth, int at, const char *name, unsigned depth)
{
    struct stat status;
    /* Opening, unlike stat, makes NFS ask the server how things are now. */
    int fd = openat(at, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (depth ? O_NOFOLLOW : 0));
    bool is_there = fd >= 0 && fstat(fd, &status) == 0;
    if (is_there && S_ISREG(status.st_mode)) {
        growth_add(growth, (uint64_t)status.st_ino);
        growth_add(growth, (uint64_t)status.st_size);
        growth_add(growth, (uint64_t)status.st_mtim.tv_sec);
        growth_add(growth, (uint64_t)status.st_mtim.tv_nsec);
        growth->files++;
    }
    DIR *entries = NULL;
    if (is_there && S_ISDIR(status.st_mode) && depth < GROWTH_DEPTH)
        entries = fdopendir(fd);
    struct dirent *entry;
    while (entries && growth->files < GROWTH_FILES_MAX && (entry = readdir(entries)))
        if (!text_equal(entry->d_name, ".") && !text_equal(entry->d_name, ".."))
            growth_look(growth, dirfd(entries), entry->d_name, depth + 1);
    if (entries)
        closedir(entries);
    else if (fd >= 0)
        close(fd);
}

uint64_t growth_measure(const char *folder)
{
    struct growth growth = {.sum = UINT64_C(0xcbf29ce484222325)};
    growth_look(&growth, AT_FDCWD, folder, 0);
    return growth.sum;
}
