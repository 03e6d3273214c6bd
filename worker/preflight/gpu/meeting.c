/* A file for each group. */
#include "worker/preflight/gpu/meeting.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_NS = 20000000 };

static char *meeting_path(const char *folder, unsigned round, unsigned group)
{
    return text_format("%s/group-%u-%u", folder, round, group);
}

int meeting_publish(const char *folder, unsigned round, unsigned group, const void *id, size_t size,
                    struct error *err)
{
    char *path = meeting_path(folder, round, group);
    int status = access(path, F_OK) == 0
                     ? error_set(err, -EEXIST, "%s exists already: the folder must be new", path)
                     : file_replace(path, id, size, 0600, err);
    free(path);
    return status;
}

int meeting_await(const char *folder, unsigned round, unsigned group, void *ret_id, size_t size,
                  int64_t end_ms, struct error *err)
{
    char *path = meeting_path(folder, round, group), *data = NULL;
    struct timespec moment = {.tv_nsec = LOOK_NS};
    size_t got = 0;
    int status;
    for (;;) {
        file_look_again(folder);
        status = file_read(path, size, &data, &got, err);
        if (status != -ENOENT || clock_steady_ms() >= end_ms)
            break;
        (void)nanosleep(&moment, NULL); /* a shorter sleep after a signal is fine */
    }
    if (status == -ENOENT)
        status = error_set(err, -ETIMEDOUT, "%s: no other node has written it in time", path);
    else if (status == 0 && got != size)
        status = error_set(err, -EINVAL, "%s has %zu bytes instead of %zu", path, got, size);
    if (status == 0)
        memcpy(ret_id, data, size);
    free(data);
    free(path);
    return status;
}
