/* Finding descendants by the parents that /proc tells. */
#include "worker/processes.h"

#include "lib/error.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct process {
    pid_t pid, parent, group;
};

int processes_adopt(struct error *err)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return error_set(err, -errno, "cannot become a subreaper: %s", strerror(errno));
    return 0;
}

pid_t processes_reap(int *ret_status)
{
    pid_t pid;
    do {
        pid = waitpid(-1, ret_status, WNOHANG);
    } while (pid < 0 && errno == EINTR);
    return pid;
}

/* Reads "pid (name) state ppid pgrp ..."; the name may hold anything, so the last parenthesis ends
 * it. Zombies are left out: their end is known already. */
static bool process_read(const char *name, struct process *ret_process)
{
    char path[64], text[512], state;
    int parent, group;
    if (snprintf(path, sizeof(path), "/proc/%.20s/stat", name) >= (int)sizeof(path))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t size = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (size <= 0)
        return false;
    text[size] = '\0';
    const char *end = strrchr(text, ')');
    if (!end || sscanf(end + 1, " %c %d %d", &state, &parent, &group) != 3 || state == 'Z')
        return false;
    pid_t pid = (pid_t)strtol(name, NULL, 10);
    *ret_process = (struct process){.pid = pid, .parent = parent, .group = group};
    return true;
}

static struct process *processes_list(size_t *ret_count)
{
    struct process *list = NULL;
    size_t count = 0, capacity = 0;
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        struct process process;
        if (!isdigit((unsigned char)entry->d_name[0]) || !process_read(entry->d_name, &process))
            continue;
        if (count == capacity) {
            capacity = capacity ? 2 * capacity : 256;
            list = realloc(list, capacity * sizeof(*list));
            if (!list)
                abort();
        }
        list[count++] = process;
    }
    if (folder)
        closedir(folder);
    *ret_count = count;
    return list;
}

/* Signals the descendants in `group`, or all for 0. */
static unsigned processes_signal(pid_t group, int number)
{
    size_t count, found = 0;
    unsigned signalled = 0;
    struct process *list = processes_list(&count);
    struct process *family = malloc((count + 1) * sizeof(*family));
    if (!family)
        abort();
    /* Each member brings its children; a process has one parent, so none comes twice. */
    family[found++] = (struct process){.pid = getpid()};
    for (size_t member = 0; member < found; member++)
        for (size_t i = 0; i < count; i++)
            if (list[i].parent == family[member].pid && found <= count)
                family[found++] = list[i];
    for (size_t member = 1; member < found; member++) {
        bool is_meant = !group || family[member].group == group;
        if (is_meant && kill(family[member].pid, number) == 0)
            signalled++;
    }
    free(family);
    free(list);
    return signalled;
}

unsigned processes_signal_all(int number)
{
    return processes_signal(0, number);
}

unsigned processes_signal_group(pid_t group, int number)
{
    return processes_signal(group, number);
}
