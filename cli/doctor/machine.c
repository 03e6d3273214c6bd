/* This machine: the file system of the home, its space, and what the system allows. */
#include "cli/doctor/machine.h"

#include "cli/cli.h"
#include "cli/doctor/finding.h"
#include "cli/format.h"
#include "lib/command.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    MACHINE_ASK_S = 5,
    MACHINE_MOUNTS_MAX = 4 * 1024 * 1024,
    MACHINE_BYTES_MIN_MIB = 256,   /* the record, its journal and a few logs */
    MACHINE_BYTES_LOW_MIB = 10240, /* a checkpoint may be as large */
    MACHINE_FILES_MIN = 1000,
    MACHINE_FILES_LOW = 20000, /* a run of 100 nodes makes some hundred files */
    MACHINE_DESCRIPTORS_LOW = 4096,
};

/* --- The file system -------------------------------------------------------------------------- */

void machine_judge_system(unsigned long type, const char *what, const char *path, bool is_sandbox,
                          json_t *findings)
{
    static const struct {
        unsigned long type;
        const char *name;
        bool is_shared;
        const char *advice;
    } systems[] = {
        {0x6969, "NFS", true,
         "start phased on one host only; new log lines of other nodes may appear some seconds "
         "late"},
        {0x0BD00BD0, "Lustre", true,
         "Lustre must be mounted with `flock`; start phased on one host only"},
        {0x47504653, "GPFS", true, NULL},
        {0x19830326, "BeeGFS", true, "BeeGFS must use global locks (tuneUseGlobalFileLocks)"},
        {0x00C36400, "CephFS", true, NULL},
        {0xAAD7AAEA, "PanFS", true, NULL},
        {0x5346414F, "AFS", true,
         "jobs have no AFS token: set PHASED_HOME to a folder of another file system"},
        {0xEF53, "ext4", false, NULL},
        {0x58465342, "XFS", false, NULL},
        {0x9123683E, "Btrfs", false, NULL},
        {0x2FC12FC1, "ZFS", false, NULL},
        {0x01021994, "tmpfs", false, NULL},
        {0x794C7630, "overlayfs", false, NULL},
    };
    size_t i = 0;
    while (i < sizeof systems / sizeof *systems && systems[i].type != type)
        i++;
    char *look = text_format("check that nodes have it: `srun ls -d %s`", path);
    char *share =
        text_format("nodes must have it under the same path: try `srun ls -d %s`, and use a "
                    "shared file system if that fails",
                    path);
    if (i == sizeof systems / sizeof *systems)
        finding_add(findings, FINDING_NOTE, what, look,
                    "%s is on a file system of unknown type %#lx", path, type);
    else if (is_sandbox)
        finding_add(findings, FINDING_OK, what, NULL, "%s is on %s; the sandbox is on this machine",
                    path, systems[i].name);
    else if (!systems[i].is_shared)
        finding_add(findings, FINDING_WARNING, what, share,
                    "%s is on %s, a file system that only this machine has, unless it is exported",
                    path, systems[i].name);
    else
        finding_add(findings, systems[i].advice ? FINDING_NOTE : FINDING_OK, what,
                    systems[i].advice,
                    "%s is on %s; only a job can tell whether nodes see it: `srun ls -d %s`", path,
                    systems[i].name, path);
    free(share);
    free(look);
}

void machine_judge_space(const struct machine_space *space, json_t *findings)
{
    uint64_t mib = space->free_bytes / (1024 * 1024);
    const char *advice = "make room, or set PHASED_HOME to another file system: with a full disk "
                         "nothing new begins, and checkpoints are lost";
    enum finding_severity severity = mib < MACHINE_BYTES_MIN_MIB   ? FINDING_ERROR
                                     : mib < MACHINE_BYTES_LOW_MIB ? FINDING_WARNING
                                                                   : FINDING_OK;
    char free_space[FORMAT_SIZE];
    finding_add(findings, severity, "space", severity == FINDING_OK ? NULL : advice,
                "%s free in the home", format_bytes(space->free_bytes, free_space));
    if (space->files == 0)
        return;
    severity = space->free_files < MACHINE_FILES_MIN   ? FINDING_ERROR
               : space->free_files < MACHINE_FILES_LOW ? FINDING_WARNING
                                                       : FINDING_OK;
    finding_add(findings, severity, "inodes", severity == FINDING_OK ? NULL : advice,
                "%llu more files fit into the file system of the home",
                (unsigned long long)space->free_files);
}

/* A home that does not exist yet will be on the file system of the nearest folder above. */
static char *machine_existing(const char *path)
{
    char *at = xstrdup(path);
    while (access(at, F_OK) < 0 && !text_equal(at, "/")) {
        char *parent = file_parent(at);
        free(at);
        at = parent;
    }
    return at;
}

static void machine_look_at_home(const struct cli *cli, bool is_sandbox, json_t *findings)
{
    struct statfs system;
    struct statvfs space;
    char *path = machine_existing(cli->home.path);
    if (statfs(path, &system) < 0 || statvfs(path, &space) < 0) {
        finding_add(findings, FINDING_ERROR, "home", "set PHASED_HOME to another file system",
                    "cannot look at the file system of %s: %s", path, strerror(errno));
    } else {
        machine_judge_system((unsigned long)system.f_type, "home", path, is_sandbox, findings);
        machine_judge_space(
            &(struct machine_space){.free_bytes = (uint64_t)space.f_bavail * space.f_frsize,
                                    .files = space.f_files,
                                    .free_files = space.f_favail},
            findings);
    }
    free(path);
}

/* quota -q prints only what is over its limit. */
static void machine_look_at_quota(json_t *findings)
{
    static const char *const words[] = {"quota", "-q", NULL};
    struct command_result result;
    struct error err;
    int status = command_run(words, NULL, MACHINE_ASK_S, &result, &err);
    if (status == -ENOENT)
        return;
    if (status < 0) {
        finding_add(findings, FINDING_NOTE, "quota", NULL, "%s", err.message);
        return;
    }
    const char *said = text_string(&result.out);
    said += strspn(said, " \n");
    if (*said)
        finding_add(findings, FINDING_WARNING, "quota", "make room: `quota` shows where", "%.*s",
                    (int)strcspn(said, "\n"), said);
    else
        finding_add(findings, FINDING_OK, "quota", NULL, "no quota is exceeded");
    command_fini(&result);
}

/* --- What the system allows ------------------------------------------------------------------- */

void machine_judge_descriptors(uint64_t limit, json_t *findings)
{
    bool is_low = limit < MACHINE_DESCRIPTORS_LOW;
    finding_add(findings, is_low ? FINDING_WARNING : FINDING_OK, "descriptors",
                is_low
                    ? "raise the limit (`ulimit -Hn`): each worker of a running job takes one file"
                    : NULL,
                "a process may open %llu files", (unsigned long long)limit);
}

void machine_judge_logout(bool kills, bool lingers, json_t *findings)
{
    if (kills && !lingers)
        finding_add(
            findings, FINDING_WARNING, "logout",
            "run `loginctl enable-linger`, or let phased run as a job (`phasectl daemon start "
            "--as-job`); training goes on without phased, but no next phase starts",
            "phased ends when you log out (KillUserProcesses of systemd)");
    else
        finding_add(findings, FINDING_OK, "logout", NULL, "%s",
                    kills ? "your processes stay after a logout (linger)"
                          : "systemd lets processes stay after a logout");
}

void machine_judge_proc(const char *mounts, json_t *findings)
{
    const char *line = mounts;
    for (; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        size_t size = strcspn(line, "\n");
        if (memmem(line, size, " /proc proc ", 12) && memmem(line, size, "hidepid=", 8) &&
            !memmem(line, size, "hidepid=0", 9) && !memmem(line, size, "hidepid=off", 11))
            finding_add(findings, FINDING_NOTE, "proc", NULL,
                        "/proc shows only your own processes (hidepid): phased needs no others");
    }
}

static void machine_look_at_logout(json_t *findings)
{
    static const char *const words[] = {"busctl",
                                        "get-property",
                                        "org.freedesktop.login1",
                                        "/org/freedesktop/login1",
                                        "org.freedesktop.login1.Manager",
                                        "KillUserProcesses",
                                        NULL};
    const struct passwd *user = getpwuid(getuid());
    char *linger = text_format("/var/lib/systemd/linger/%s", user ? user->pw_name : "");
    struct command_result result = {.exit_code = -1};
    bool is_known = command_run(words, NULL, MACHINE_ASK_S, &result, NULL) == 0;
    if (is_known && result.exit_code == 0)
        machine_judge_logout(text_starts(text_string(&result.out), "b true"),
                             user && access(linger, F_OK) == 0, findings);
    else
        finding_add(
            findings, FINDING_NOTE, "logout",
            "log in again after a while, and check that `phasectl daemon status` still answers",
            "cannot ask systemd whether phased ends when you log out");
    if (is_known)
        command_fini(&result);
    free(linger);
}

void machine_look(struct cli *cli, bool is_sandbox, json_t *findings)
{
    struct rlimit limit;
    char *mounts = NULL;
    machine_look_at_home(cli, is_sandbox, findings);
    machine_look_at_quota(findings);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        machine_judge_descriptors(limit.rlim_max, findings);
    machine_look_at_logout(findings);
    if (file_read("/proc/mounts", MACHINE_MOUNTS_MAX, &mounts, NULL, NULL) == 0)
        machine_judge_proc(mounts, findings);
    free(mounts);
}
