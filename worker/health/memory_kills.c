/* Reads the counters of the kernel. */
#include "worker/health/memory_kills.h"

#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the number after `word` at the beginning of a line of the file, or -1. */
static int64_t memory_kills_number(const char *path, const char *word)
{
    FILE *file = fopen(path, "re");
    char line[256];
    size_t size = strlen(word);
    int64_t number = -1;
    while (file && number < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, word, size) == 0)
            number = strtoll(line + size, NULL, 10);
    if (file)
        (void)fclose(file); /* the file was only read */
    return number;
}

static bool memory_kills_has_memory(const char *controllers)
{
    const char *found = strstr(controllers, "memory");
    return found && (found == controllers || found[-1] == ',') &&
           (found[6] == ':' || found[6] == ',');
}

/* Returns the count of one line of /proc/self/cgroup: `0::/path` (version 2) or `9:memory:/path`.
 */
static int64_t memory_kills_of_group(const char *root, char *line)
{
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL, *file = NULL;
    line[strcspn(line, "\n")] = '\0';
    if (!path)
        return -1;
    controllers++;
    if (path == controllers)
        file = text_format("%s/sys/fs/cgroup%s/memory.events", root, path + 1);
    else if (memory_kills_has_memory(controllers))
        file = text_format("%s/sys/fs/cgroup/memory%s/memory.oom_control", root, path + 1);
    int64_t number = file ? memory_kills_number(file, "oom_kill ") : -1;
    free(file);
    return number;
}

void memory_kills_read(const char *root, struct memory_kills *ret_kills)
{
    char *groups = text_format("%s/proc/self/cgroup", root);
    char *node = text_format("%s/proc/vmstat", root);
    char *line = NULL;
    size_t capacity = 0;
    FILE *file = fopen(groups, "re");
    *ret_kills = (struct memory_kills){.here = -1, .node = memory_kills_number(node, "oom_kill ")};
    while (file && ret_kills->here < 0 && getline(&line, &capacity, file) > 0)
        ret_kills->here = memory_kills_of_group(root, line);
    if (file)
        (void)fclose(file); /* the file was only read */
    free(line);
    free(groups);
    free(node);
}

bool memory_kills_tell(const struct memory_kills *before, const struct memory_kills *after,
                       bool was_killed)
{
    bool is_here = before->here >= 0 && after->here > before->here;
    bool is_on_node = before->node >= 0 && after->node > before->node;
    return is_here || (before->here < 0 && is_on_node && was_killed);
}
