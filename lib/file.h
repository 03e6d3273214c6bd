/* Whole files and folders: read with a bound, replaced or made once so that no reader ever sees
 * half, made with their parents. Errors name the path. */
#ifndef PHASED_LIB_FILE_H
#define PHASED_LIB_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct stat;

/* Reads the regular file at `path`, at most `size_max` bytes, into a new NUL-terminated buffer,
 * the caller's to free(). `ret_size` may be NULL. Returns -EISDIR for a folder, -EFBIG for one
 * that is larger, another negative errno otherwise. */
int file_read(const char *path, size_t size_max, char **ret_data, size_t *ret_size,
              struct error *err);

/* Replaces `path` by these bytes: a temporary file beside it, fsync, rename, fsync of the folder.
 * On failure what was there is still there. */
int file_replace(const char *path, const void *data, size_t size, mode_t mode, struct error *err);

/* Makes `path` with these bytes, once: of several that try at the same time, on any machines, one
 * does, and nobody sees half of it. A temporary file beside it with a name of its own, fsync,
 * link(), fsync of the folder. -EEXIST: it is there. The file system must have hard links, as NFS
 * and Lustre do, or else renameat2() with RENAME_NOREPLACE; -EOPNOTSUPP: it has neither. After any
 * other error it may be there, so that who tries again may find a file of its own. */
int file_create_once(const char *path, const void *data, size_t size, mode_t mode,
                     struct error *err);

/* Whether a file is as it was: the same one, with the same size, unchanged and with the same mode
 * since. Two that are zeroed, of a file that was not there, are the same. */
bool file_is_same(const struct stat *a, const struct stat *b);

/* The folder in which `path` lies: /a of /a/b; the caller's to free(). */
char *file_parent(const char *path);

/* Makes `path` and its missing parents, each with `mode`. It being there already is no error. */
int file_make_folders(const char *path, mode_t mode, struct error *err);

#endif
