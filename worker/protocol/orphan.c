/* Writes and reads the file of an agent that has lost srun. */
#include "worker/protocol/orphan.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ORPHAN_NODE_MAX = 256 };

char *orphan_name_file(const char *job_dir)
{
    /* Several leads may serve a folder, one after another. They may run on different nodes, so the
     * pid alone does not tell them apart. */
    char *path =
        text_format("%s/orphan.%d.%lld", job_dir, (int)getpid(), (long long)clock_steady_ms());
    (void)setenv(ORPHAN_VARIABLE, path, 1); /* without memory, the run needs no file */
    return path;
}

void orphan_tell(void)
{
    const char *path = getenv(ORPHAN_VARIABLE), *node = getenv("SLURMD_NODENAME");
    struct error err;
    if (path && node && file_replace(path, node, strlen(node), 0600, &err) < 0)
        fprintf(stderr, "phase-worker node: %s\n", err.message);
}

char *orphan_read(const char *path)
{
    char *job_dir = file_parent(path), *node = NULL;
    file_look_again(job_dir);
    free(job_dir);
    return file_read(path, ORPHAN_NODE_MAX, &node, NULL, NULL) == 0 ? node : NULL;
}
