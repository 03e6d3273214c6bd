/* Reads and writes daemon.json. */
#include "lib/protocol/daemon_file.h"

#include "lib/error.h"
#include "lib/protocol/members.h"
#include "lib/protocol/message.h"

#include <errno.h>

static const struct member daemon_file_members[] = {
    MEMBER(daemon_file, host, REQUIRED),
    MEMBER(daemon_file, port, REQUIRED),
    MEMBER(daemon_file, pid, ALWAYS),
    MEMBER(daemon_file, job, OPTIONAL),
    {0},
};

void daemon_file_fini(struct daemon_file *file)
{
    json_decref(file->document);
    *file = (struct daemon_file){0};
}

int daemon_file_read(const char *path, struct daemon_file *ret_file, struct error *err)
{
    int status = message_read(&ret_file->document, err, "%s", path);
    members_read(daemon_file_members, ret_file->document, ret_file);
    const char *host = ret_file->host;
    if (status == 0 && (!host || !*host || ret_file->port == 0 || ret_file->port > UINT16_MAX))
        status = error_set(err, -EINVAL, "%s names no host and port", path);
    if (status < 0)
        daemon_file_fini(ret_file);
    return status;
}

MEMBERS_TO_JSON(daemon_file)
