/* Tries the configuration in a separate process, the checker, because a bad configuration ends the
 * process that reads it. */
#include "daemon/slurm/configuration.h"

#include "daemon/slurm/versions.h"
#include "lib/command.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sites without a slurm.conf on the login node fetch it from the controller, which they find by
 * DNS. */
enum { CONFIGURATION_WAIT_S = 15 };

static int file_check(struct error *err)
{
    const char *path = getenv("SLURM_CONF");
    if (!path || access(path, R_OK) == 0)
        return 0;
    return error_set(err, -ENOENT,
                     "cannot read Slurm's configuration %s, which SLURM_CONF names: %s", path,
                     strerror(errno));
}

/* Returns the text behind the last "error: ", or else behind the first "fatal: ". After an error, a
 * "fatal: " only says that the program failed. */
static const char *complaint_reason(char *complaint)
{
    const char *reason = "it says nothing";
    char *rest = complaint;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *error = strstr(line, "error: ");
        char *fatal = strstr(line, "fatal: ");
        if (error)
            reason = error + strlen("error: ");
        else if (fatal && text_equal(reason, "it says nothing"))
            reason = fatal + strlen("fatal: ");
    }
    return reason;
}

static int refuse_configuration(const char *reason, struct error *err)
{
    if (strstr(reason, "_establish_config_source"))
        return error_set(err, -EINVAL,
                         "no slurm.conf was found and no controller gave one: set SLURM_CONF, or "
                         "start a private Slurm with "
                         "`phasectl sandbox start` (Slurm says: %s)",
                         reason);
    return error_set(err, -EINVAL, "cannot use Slurm's configuration: %s", reason);
}

struct configuration_version configuration_version(const char *file)
{
    struct stat info;
    if (!file || stat(file, &info) < 0)
        return (struct configuration_version){0};
    return (struct configuration_version){
        .file = info.st_ino, .size = info.st_size, .time = info.st_mtim};
}

bool configuration_version_equal(const struct configuration_version *a,
                                 const struct configuration_version *b)
{
    return a->file == b->file && a->size == b->size && a->time.tv_sec == b->time.tv_sec &&
           a->time.tv_nsec == b->time.tv_nsec;
}

int configuration_check(const char *checker, const char *home, struct error *err)
{
    const char *const words[] = {checker, "--check-slurm", home ? "--home" : NULL, home, NULL};
    struct command_result result;
    int status = file_check(err);
    if (status == 0)
        status = command_run(words, NULL, CONFIGURATION_WAIT_S, &result, err);
    if (status == -ETIMEDOUT)
        return error_set(err, status, "could not read Slurm's configuration within %d s",
                         CONFIGURATION_WAIT_S);
    if (status < 0)
        return status;
    bool is_good = result.exit_code == 0;
    char *complaint = text_steal(&result.err);
    command_fini(&result);
    if (!is_good)
        status = refuse_configuration(complaint_reason(complaint), err);
    free(complaint);
    return status;
}

char *configuration_read(void)
{
    const char *given = getenv("SLURM_CONF");
    char *kept = xstrdup_or_null(given);
    slurm_init(NULL);
    /* libslurm has put the file that it found into the environment. */
    const char *found = getenv("SLURM_CONF");
    char *file = xstrdup_or_null(found);
    if ((kept ? setenv("SLURM_CONF", kept, 1) : unsetenv("SLURM_CONF")) < 0)
        abort(); /* no memory */
    free(kept);
    return file;
}
