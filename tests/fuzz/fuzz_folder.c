/* Makes and removes the folder of a target. */
#include "tests/fuzz/fuzz_folder.h"

#include "lib/file.h"
#include "lib/text.h"

#include <assert.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

enum { FUZZ_FOLDERS_OPEN = 16 };

static char folder[64];

static int fuzz_remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status, (void)type, (void)at;
    return remove(path);
}

static void fuzz_remove(void)
{
    (void)nftw(folder, fuzz_remove_one, FUZZ_FOLDERS_OPEN,
               FTW_DEPTH | FTW_PHYS); /* it is in /tmp */
}

const char *fuzz_folder(void)
{
    if (folder[0])
        return folder;
    (void)snprintf(folder, sizeof folder, "/dev/shm/phased-fuzz-XXXXXX");
    if (!mkdtemp(folder)) {
        (void)snprintf(folder, sizeof folder, "/tmp/phased-fuzz-XXXXXX");
        char *made = mkdtemp(folder);
        assert(made);
        (void)made;
    }
    (void)atexit(fuzz_remove);
    return folder;
}

char *fuzz_path(const char *name)
{
    return text_format("%s/%s", fuzz_folder(), name);
}

void fuzz_write(const char *name, const void *data, size_t size)
{
    char *path = fuzz_path(name);
    FILE *out = fopen(path, "we");
    if (!out) {
        char *parent = file_parent(path);
        (void)file_make_folders(parent, 0700, NULL); /* a failure shows below */
        out = fopen(path, "we");
        free(parent);
    }
    assert(out);
    size_t written = size ? fwrite(data, 1, size, out) : 0;
    int status = fclose(out);
    assert(written == size && status == 0);
    (void)written, (void)status;
    free(path);
}
