/* Paths beside the running program. */
#include "cli/program.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/place.h"
#include "lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int program_beside(const char *name, char **ret_path, struct error *err)
{
    char *path = place_program(name);
    if (access(path, X_OK) < 0) {
        int code = -errno;
        (void)error_set(err, code, "cannot run %s: %s", path, strerror(-code));
        free(path);
        return code;
    }
    *ret_path = path;
    return 0;
}

int program_sandbox(char **ret_path, struct error *err)
{
    char *folder = place_folder();
    char *places[] = {text_format("%s/../libexec/phased/sandbox", folder),
                      text_format("%s/sandbox", PHASED_PKGLIBEXECDIR)};
    const size_t count = sizeof places / sizeof places[0];
    int code = -ENOENT;
    for (size_t i = 0; i < count; i++) {
        if (code < 0 && access(places[i], X_OK) == 0) {
            *ret_path = xstrdup(places[i]);
            code = 0;
        }
    }
    if (code < 0)
        (void)error_set(err, code, "cannot find the sandbox: neither %s nor %s exists", places[0],
                        places[1]);
    for (size_t i = 0; i < count; i++)
        free(places[i]);
    free(folder);
    return code;
}

bool program_sandbox_is_running(const struct cli *cli)
{
    char *script;
    if (access(cli->home.slurm_conf, R_OK) < 0 || program_sandbox(&script, NULL) < 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
            dup2(null, STDERR_FILENO) < 0)
            _exit(127);
        (void)execl(script, script, "status", cli->home.sandbox, (char *)NULL); /* see below */
        _exit(127);
    }
    free(script);
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
