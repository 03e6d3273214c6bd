/* Where the home is and what its files are called. */
#include "lib/home.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The path as meant by the caller or the environment, not yet absolute; the caller's to free(). */
static char *home_choose(const char *path)
{
    if (!path || !path[0])
        path = getenv("PHASED_HOME");
    if (path && path[0])
        return text_format("%s", path);
    const char *user_home = getenv("HOME");
    if (!user_home || !user_home[0]) {
        const struct passwd *entry = getpwuid(getuid());
        user_home = entry ? entry->pw_dir : NULL;
    }
    return user_home && user_home[0] ? text_format("%s/.phased", user_home) : NULL;
}

int home_init(struct home *home, const char *path, struct error *err)
{
    *home = (struct home){.folder = -1};
    char *chosen = home_choose(path);
    if (!chosen)
        return error_set(err, -ENOENT, "cannot find the home folder: set PHASED_HOME");
    size_t size = strlen(chosen);
    while (size > 1 && chosen[size - 1] == '/')
        chosen[--size] = '\0';
    if (chosen[0] == '/') {
        home->path = chosen;
    } else {
        char *here = getcwd(NULL, 0);
        if (!here) {
            int code = -errno;
            error_set(err, code, "cannot find the current folder: %s", strerror(-code));
            free(chosen);
            return code;
        }
        home->path = text_format("%s/%s", here, chosen);
        free(here);
        free(chosen);
    }
#define X(member, name) home->member = text_format("%s/" name, home->path);
    HOME_FILES(X)
#undef X
    return 0;
}

void home_fini(struct home *home)
{
    if (!home)
        return;
    if (home->path && home->folder >= 0)
        (void)close(home->folder); /* was only a handle */
    free(home->path);
#define X(member, name) free(home->member);
    HOME_FILES(X)
#undef X
    *home = (struct home){.folder = -1};
}

int home_make(const struct home *home, struct error *err)
{
    return file_make_folders(home->path, 0700, err);
}

int home_socket_address(struct home *home, char ret_address[HOME_SOCKET_ADDRESS_SIZE],
                        struct error *err)
{
    if (strlen(home->socket) < HOME_SOCKET_ADDRESS_SIZE) {
        memcpy(ret_address, home->socket, strlen(home->socket) + 1);
        return 0;
    }
    if (home->folder < 0)
        home->folder = open(home->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (home->folder < 0) {
        int code = -errno;
        return error_set(err, code, "cannot open the home %s: %s", home->path, strerror(-code));
    }
    (void)snprintf(ret_address, HOME_SOCKET_ADDRESS_SIZE, "/proc/self/fd/%d%s", home->folder,
                   home->socket + strlen(home->path)); /* far shorter than the limit */
    return 0;
}
