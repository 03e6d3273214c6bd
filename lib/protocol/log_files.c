/* Names the files of logs, and finds them. */
#include "lib/protocol/log_files.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *log_file_path(const char *folder, long long rank, enum log_file file)
{
    static const char *const parts[LOG_FILES] = {".first", ".previous", ""};
    return text_format("%s/rank-%lld%s.log", folder, rank, parts[file]);
}

static int log_file_is_newest(const struct dirent *entry)
{
    unsigned rank;
    int end = 0;
    return sscanf(entry->d_name, "rank-%9u.log%n", &rank, &end) == 1 && end && !entry->d_name[end];
}

int log_files_ranks(const char *folder, long long **ret_ranks)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, log_file_is_newest, versionsort);
    *ret_ranks = NULL;
    if (count < 0)
        return -errno;
    if (count > 0)
        *ret_ranks = xcalloc((size_t)count, sizeof **ret_ranks);
    for (int i = 0; i < count; i++) {
        (*ret_ranks)[i] = atoll(entries[i]->d_name + strlen("rank-"));
        free(entries[i]);
    }
    free(entries);
    return count;
}
