/* Reads, replaces and makes whole files. */
#include "lib/file.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int file_fail(struct error *err, const char *verb, const char *path)
{
    return error_set(err, -errno, "cannot %s %s: %s", verb, path, strerror(errno));
}

static int file_check_regular(const char *path, const struct stat *info, struct error *err)
{
    if (S_ISREG(info->st_mode))
        return 0;
    int code = S_ISDIR(info->st_mode) ? -EISDIR : -EINVAL;
    return error_set(err, code, "cannot read %s: it is %s", path,
                     S_ISDIR(info->st_mode) ? "a folder" : "not a regular file");
}

int file_read(const char *path, size_t size_max, char **ret_data, size_t *ret_size,
              struct error *err)
{
    int status = 0;
    struct text text = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return file_fail(err, "open", path);
    struct stat info;
    if (fstat(fd, &info) < 0) {
        status = file_fail(err, "read", path);
        goto out;
    }
    status = file_check_regular(path, &info, err);
    if (status < 0)
        goto out;
    char chunk[16384];
    ssize_t size;
    while ((size = read(fd, chunk, sizeof chunk)) > 0) {
        text_add_bytes(&text, chunk, (size_t)size);
        if (text.size > size_max) {
            status =
                error_set(err, -EFBIG, "cannot read %s: larger than %zu bytes", path, size_max);
            goto out;
        }
    }
    if (size < 0) {
        status = file_fail(err, "read", path);
        goto out;
    }
    if (ret_size)
        *ret_size = text.size;
    *ret_data = text_steal(&text);
out:
    text_fini(&text);
    (void)close(fd); /* it was only read */
    return status;
}

int file_read_end(const char *path, size_t size_max, char **ret_data, size_t *ret_size,
                  struct error *err)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return file_fail(err, "read", path);
    if (fseek(file, -(long)size_max, SEEK_END) < 0)
        rewind(file); /* the file is shorter, or cannot seek */
    char *data = xmalloc(2 * size_max + 1);
    size_t size = 0, got;
    while ((got = fread(data + size, 1, 2 * size_max - size, file)) > 0) {
        size += got;
        size_t before = size > size_max ? size - size_max : 0;
        size -= before;
        memmove(data, data + before, size);
    }
    int status = ferror(file) ? file_fail(err, "read", path) : 0;
    (void)fclose(file); /* it was only read */
    if (status < 0) {
        free(data);
        return status;
    }
    data[size] = '\0';
    if (ret_size)
        *ret_size = size;
    *ret_data = data;
    return 0;
}

int file_map(const char *path, struct file_map *ret_map, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return file_fail(err, "open", path);
    struct stat info;
    struct file_map map = {0};
    int status =
        fstat(fd, &info) < 0 ? file_fail(err, "read", path) : file_check_regular(path, &info, err);
    if (status == 0 && info.st_size > 0) {
        map.size = (size_t)info.st_size;
        map.data = mmap(NULL, map.size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map.data == MAP_FAILED)
            status = file_fail(err, "map", path);
    }
    (void)close(fd); /* it was only read */
    if (status == 0)
        *ret_map = map;
    return status;
}

void file_unmap(struct file_map *map)
{
    if (map->data)
        (void)munmap(map->data, map->size); /* fails only for wrong addresses */
    *map = (struct file_map){0};
}

size_t file_put(int fd, const char *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t written = write(fd, data + done, size - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            break;
        done += (size_t)written;
    }
    return done;
}

int file_write(int fd, const char *data, size_t size)
{
    return file_put(fd, data, size) == size ? 0 : -errno;
}

int file_in_memory(const char *data, size_t size, struct error *err)
{
    int fd = memfd_create("phased", MFD_CLOEXEC);
    int status = fd < 0 ? -errno : file_write(fd, data, size);
    if (status == 0 && lseek(fd, 0, SEEK_SET) < 0)
        status = -errno;
    if (status == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd); /* the file is of no use */
    return error_set(err, status, "could not make a file in memory: %s", strerror(-status));
}

int file_sync_folder(const char *path, struct error *err)
{
    char *copy = xstrdup(path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(copy);
    int status = fd < 0 || fsync(fd) < 0 ? file_fail(err, "sync the folder of", path) : 0;
    if (fd >= 0)
        (void)close(fd); /* fsync() has already reported all errors */
    return status;
}

static int file_remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path) < 0 && errno != ENOENT ? errno : 0;
}

int file_remove_tree(const char *path, struct error *err)
{
    int code = nftw(path, file_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    if (code < 0)
        code = errno == ENOENT ? 0 : errno;
    return code ? error_set(err, -code, "cannot remove %s: %s", path, strerror(code)) : 0;
}

const char *file_below(const char *path, const char *folder)
{
    size_t size = strlen(folder);
    if (size && folder[size - 1] == '/')
        size--; /* the root */
    if (strncmp(path, folder, size) != 0 || (path[size] && path[size] != '/'))
        return NULL;
    return path + size + (path[size] == '/');
}

int file_change_begin(struct file_change *change, const char *path, mode_t mode, struct error *err)
{
    *change = (struct file_change){.path = xstrdup(path),
                                   .temporary = text_format("%s.new-%d", path, (int)getpid())};
    change->fd =
        open(change->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
    if (change->fd >= 0)
        return 0;
    int status = file_fail(err, "create", change->temporary);
    free(change->path);
    free(change->temporary);
    *change = (struct file_change){.fd = -1}; /* nothing can be freed twice */
    return status;
}

int file_change_write(struct file_change *change, const void *data, size_t size, struct error *err)
{
    int status = file_write(change->fd, data, size);
    return status < 0
               ? error_set(err, status, "cannot write %s: %s", change->temporary, strerror(-status))
               : 0;
}

int file_change_end(struct file_change *change, int status, struct error *err)
{
    if (status == 0 && fsync(change->fd) < 0)
        status = file_fail(err, "write", change->temporary);
    if (close(change->fd) < 0 && status == 0)
        status = file_fail(err, "write", change->temporary);
    if (status == 0 && rename(change->temporary, change->path) < 0)
        status = file_fail(err, "replace", change->path);
    if (status < 0)
        (void)unlink(change->temporary); /* if this fails too, nothing more can be done */
    else
        status = file_sync_folder(change->path, err);
    free(change->path);
    free(change->temporary);
    return status;
}

int file_replace(const char *path, const void *data, size_t size, mode_t mode, struct error *err)
{
    struct file_change change;
    int status = file_change_begin(&change, path, mode, err);
    if (status < 0)
        return status;
    return file_change_end(&change, file_change_write(&change, data, size, err), err);
}

/* Gives a whole file the name `path`, unless a file with that name exists. */
static int file_name_once(const char *temporary, const char *path, struct error *err)
{
    struct stat info;
    if (link(temporary, path) == 0)
        return 0;
    int code = errno;
    /* NFS may lose an answer and repeat the request. The second answer is then EEXIST, although the
     * link was made. */
    if (code == EEXIST && stat(temporary, &info) == 0 && info.st_nlink == 2)
        return 0;
    if (code == EPERM || code == EOPNOTSUPP || code == ENOSYS) {
        if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
            return 0;
        code = errno;
        if (code == EINVAL || code == EOPNOTSUPP || code == ENOSYS)
            return error_set(err, -EOPNOTSUPP, "cannot make %s: its file system has no hard links",
                             path);
    }
    return error_set(err, -code, "could not make %s: %s", path, strerror(code));
}

int file_create_once(const char *path, const void *data, size_t size, mode_t mode,
                     struct error *err)
{
    int status = 0;
    char *temporary = text_format("%s.new-XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) {
        status = file_fail(err, "create", temporary);
        free(temporary);
        return status;
    }
    if (fchmod(fd, mode) < 0 || file_write(fd, data, size) < 0 || fsync(fd) < 0)
        status = file_fail(err, "write", temporary);
    if (close(fd) < 0 && status == 0)
        status = file_fail(err, "write", temporary);
    if (status == 0)
        status = file_name_once(temporary, path, err);
    (void)unlink(temporary); /* it may have been renamed */
    if (status == 0)
        status = file_sync_folder(path, err);
    free(temporary);
    return status;
}

bool file_is_unchanged(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

bool file_is_same(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

void file_look_again(const char *folder)
{
    DIR *opened = opendir(folder);
    if (opened)
        (void)closedir(opened); /* nothing was read */
}

int file_find_current(char **ret_path, struct error *err)
{
    *ret_path = getcwd(NULL, 0);
    if (*ret_path)
        return 0;
    if (errno == ENOENT)
        return error_set(err, -ENOENT, "the current folder is gone");
    return error_set(err, -errno, "cannot find the current folder: %s", strerror(errno));
}

char *file_parent(const char *path)
{
    const char *end = strrchr(path, '/');
    return text_format("%.*s", (int)(end ? end - path : 0), path);
}

char *file_find_program(const char *path, const char *name)
{
    while (path && *path) {
        size_t size = strcspn(path, ":");
        char *file = text_format("%.*s/%s", (int)size, path, name);
        if (file[0] == '/' && access(file, X_OK) == 0)
            return file;
        free(file);
        path += size + (path[size] == ':');
    }
    return NULL;
}

int file_make_folders(const char *path, mode_t mode, struct error *err)
{
    int status = 0;
    char *copy = xstrdup(path);
    for (char *at = copy + 1;; at++) {
        char saved = *at;
        if (saved != '/' && saved != '\0')
            continue;
        *at = '\0';
        struct stat info;
        int code = mkdir(copy, mode) < 0 ? errno : 0;
        if (code == EEXIST && stat(copy, &info) == 0)
            code = S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
        if (code) {
            errno = code;
            status = file_fail(err, "make the folder", copy);
            break;
        }
        *at = saved;
        if (saved == '\0')
            break;
    }
    free(copy);
    return status;
}
