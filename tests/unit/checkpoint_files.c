/* Checkpoints in the folder of a test. */
#include "tests/unit/checkpoint_files.h"

#include "lib/error.h"
#include "lib/saved.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void put(const char *name, size_t size)
{
    static const char bytes[256];
    char *path = text_format("%s/%s", folder, name), *slash = strrchr(path, '/');
    *slash = '\0';
    (void)mkdir(path, 0700); /* it may exist */
    *slash = '/';
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
    free(path);
}

bool is_there(const char *name)
{
    char *path = text_format("%s/%s", folder, name);
    bool is = access(path, F_OK) == 0;
    free(path);
    return is;
}

void note(void *context, const struct saved *checkpoint, bool is_suspect, bool is_unseen)
{
    text_addf(context, "%lld %llu %s%s%s; ", (long long)checkpoint->step,
              (unsigned long long)checkpoint->extent.bytes,
              checkpoint->paths[0] + strlen(folder) + 1, is_suspect ? " suspect" : "",
              is_unseen ? " unseen" : "");
}

struct checkpoints *begin(const char *pattern, unsigned keep, struct text *found)
{
    struct checkpoints *checkpoints;
    struct error err;
    char *whole = text_format("%s/%s", folder, pattern);
    assert_int_equal(checkpoints_new(whole, folder, keep, note, found, &checkpoints, &err), 0);
    free(whole);
    return checkpoints;
}

int64_t later(void)
{
    static int64_t now_ms;
    return now_ms += CHECKPOINTS_PAUSE_MS;
}
