/* A folder for the files of one test. */
#include "tests/unit/folder.h"

#include "lib/file.h"
#include "lib/text.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char folder[32];

int folder_make(void **state)
{
    (void)state;
    memcpy(folder, "/tmp/phased-test-XXXXXX", sizeof("/tmp/phased-test-XXXXXX"));
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

int folder_remove(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void folder_put(const char *text, const char *format, ...)
{
    struct text name = {0};
    va_list args;
    va_start(args, format);
    text_addv(&name, format, args);
    va_end(args);
    char *path = text_format("%s/%s", folder, text_string(&name));
    char *parent = text_format("%.*s", (int)(strrchr(path, '/') - path), path);
    if (file_make_folders(parent, 0700, NULL) < 0 ||
        file_replace(path, text, strlen(text), 0600, NULL) < 0)
        abort();
    free(parent);
    free(path);
    text_fini(&name);
}
