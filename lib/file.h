/* Whole files and folders. Files are read with a size limit, and replaced or made once, so that no
 * reader ever sees half a file. Folders are made with their parents. Errors name the path. */
#ifndef PHASED_LIB_FILE_H
#define PHASED_LIB_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct stat;

/* Reads the regular file at `path`, at most `size_max` bytes, into a new NUL-terminated buffer,
 * which the caller frees. `ret_size` may be NULL. Returns -EISDIR for a folder, -EFBIG for a file
 * that is larger, another negative errno otherwise. */
int file_read(const char *path, size_t size_max, char **ret_data, size_t *ret_size,
              struct error *err);

/* Reads the last bytes of a file, at most `size_max`, in the same way. A file that cannot seek,
 * such as a pipe, is read from its beginning. */
int file_read_end(const char *path, size_t size_max, char **ret_data, size_t *ret_size,
                  struct error *err);

/* A file in memory. `data` is NULL if the file is empty. A file that somebody shortens while it is
 * mapped ends the program with SIGBUS. */
struct file_map {
    void *data;
    size_t size;
};
/* Maps the regular file at `path` for reading. It is read from the disk when it is used. */
int file_map(const char *path, struct file_map *ret_map, struct error *err);
void file_unmap(struct file_map *map);

/* Writes these bytes, in as many pieces as it takes. Returns how many were written; fewer than
 * `size`: errno says why. */
size_t file_put(int fd, const char *data, size_t size);
/* The same, for callers that need all bytes. Returns 0 or a negative errno. */
int file_write(int fd, const char *data, size_t size);

/* Returns the descriptor of an anonymous file with these bytes, at its beginning; programs that are
 * started do not inherit it. */
int file_in_memory(const char *data, size_t size, struct error *err);

/* Replaces `path` by these bytes: a temporary file beside it, fsync, rename, fsync of the folder.
 * On failure `path` is the whole old file or the whole new file: the sync of the folder is last. */
int file_replace(const char *path, const void *data, size_t size, mode_t mode, struct error *err);

/* The same for a file that is written in pieces: `fd` is the temporary file. */
struct file_change {
    int fd;
    char *path, *temporary;
};
/* After a failure there is nothing to end. */
int file_change_begin(struct file_change *change, const char *path, mode_t mode, struct error *err);
int file_change_write(struct file_change *change, const void *data, size_t size, struct error *err);
/* Replaces the file if `status`, the result of the writing, is 0. Removes the temporary file
 * otherwise, and returns `status` with the error unchanged. */
int file_change_end(struct file_change *change, int status, struct error *err);

/* Waits until the folder that contains `path` is on the disk, with the names in it. */
int file_sync_folder(const char *path, struct error *err);

/* Removes a file, or a folder with everything in it. Does not follow links. A `path` that does not
 * exist is not an error. Stops at what cannot be removed. */
int file_remove_tree(const char *path, struct error *err);

/* Returns the part of `path` below `folder`, in `path`: "b/c" for /a/b/c in /a, "" for the folder
 * itself. NULL: `path` is not in the folder. Compares the texts, so neither may have links or `..`
 * in it. */
const char *file_below(const char *path, const char *folder);

/* Makes `path` with these bytes, once. If several processes on any machines try at the same time,
 * one succeeds, and nobody sees half a file. It uses a temporary file beside `path` with a unique
 * name, fsync, link(), and fsync of the folder. The file system must have hard links, as NFS and
 * Lustre do, or renameat2() with RENAME_NOREPLACE. Returns -EEXIST if `path` exists, and
 * -EOPNOTSUPP if the file system has neither. After any other error `path` may exist: a caller that
 * tries again may find its own file. */
int file_create_once(const char *path, const void *data, size_t size, mode_t mode,
                     struct error *err);

/* Whether a file is unchanged: the same file with the same size, times and mode. Two zeroed
 * structs, for a file that did not exist, are the same. */
bool file_is_unchanged(const struct stat *a, const struct stat *b);

/* Whether two paths lead to one file or folder, also by a link. False if one path leads to
 * nothing. */
bool file_is_same(const char *a, const char *b);

/* Opens the folder, and reads nothing. NFS remembers for long that a file does not exist, unless
 * its folder is opened again. After this call a file of another node is seen. */
void file_look_again(const char *folder);

/* Finds the absolute path of the current folder. The caller frees it. After a failure, `ret_path`
 * is NULL. */
int file_find_current(char **ret_path, struct error *err);

/* The folder that contains `path`: /a for /a/b. The caller frees it. */
char *file_parent(const char *path);

/* Returns the first executable file `name` in the absolute folders of `path`, a list as in PATH.
 * NULL: there is no such file, or `path` is NULL. The caller frees it. */
char *file_find_program(const char *path, const char *name);

/* Makes `path` and its missing parents, each with `mode`. An existing folder is not an error. */
int file_make_folders(const char *path, mode_t mode, struct error *err);

#endif
