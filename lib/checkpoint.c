/* Measures the files of checkpoints. */
#include "lib/checkpoint.h"

#include "lib/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHECKPOINT_DEPTH_MAX = 64 }; /* nested folders; each level holds a descriptor */

static void checkpoint_add_file(struct checkpoint_extent *extent, const struct stat *info)
{
    int64_t time_ns = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
    extent->files++;
    extent->bytes += (uint64_t)info->st_size;
    if (time_ns > extent->newest_ns)
        extent->newest_ns = time_ns;
}

/* How far a measure goes. */
struct checkpoint_reach {
    unsigned depth;
    uint64_t files;
};

static int checkpoint_measure_at(int folder, const char *name, unsigned depth,
                                 const struct checkpoint_reach *reach,
                                 struct checkpoint_extent *extent)
{
    struct stat info;
    int status = 0;
    DIR *entries;
    /* open(), unlike stat(), makes NFS ask the server for the current state. */
    int follow = depth ? O_NOFOLLOW : 0; /* links inside folders may form circles */
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | follow);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &info) < 0)
        status = -errno;
    else if (S_ISREG(info.st_mode))
        checkpoint_add_file(extent, &info);
    else if (S_ISDIR(info.st_mode) && depth < reach->depth && (entries = fdopendir(fd))) {
        struct dirent *entry;
        while (extent->files < reach->files && (entry = readdir(entries)))
            if (!text_equal(entry->d_name, ".") && !text_equal(entry->d_name, ".."))
                (void)checkpoint_measure_at(dirfd(entries), entry->d_name, depth + 1, reach,
                                            extent);
        (void)closedir(entries); /* nothing was written; this closes `fd`, too */
        return 0;
    }
    (void)close(fd); /* it was only read */
    return status;
}

int checkpoint_measure(const char *path, struct checkpoint_extent *extent)
{
    const struct checkpoint_reach reach = {CHECKPOINT_DEPTH_MAX, UINT64_MAX};
    return checkpoint_measure_at(AT_FDCWD, path, 0, &reach, extent);
}

void checkpoint_measure_near(const char *folder, struct checkpoint_extent *extent)
{
    const struct checkpoint_reach reach = {CHECKPOINT_NEAR_DEPTH, CHECKPOINT_NEAR_FILES};
    (void)checkpoint_measure_at(AT_FDCWD, folder, 0, &reach, extent); /* else there is nothing */
}

bool checkpoint_extent_equal(const struct checkpoint_extent *a, const struct checkpoint_extent *b)
{
    return a->files == b->files && a->bytes == b->bytes && a->newest_ns == b->newest_ns;
}

int checkpoint_measure_all(const char *path, const json_t *paths, struct checkpoint_extent *extent)
{
    int status = json_is_array(paths) ? 0 : checkpoint_measure(path, extent);
    for (size_t i = 0; i < json_array_size(paths) && status == 0; i++) {
        const char *part = json_string_value(json_array_get(paths, i));
        status = part ? checkpoint_measure(part, extent) : -EINVAL;
    }
    return status;
}

bool checkpoint_is_whole(const char *path, const json_t *paths, int64_t bytes)
{
    struct checkpoint_extent extent = {0};
    int status = checkpoint_measure_all(path, paths, &extent);
    return status == 0 && (bytes < 0 || extent.bytes == (uint64_t)bytes);
}
