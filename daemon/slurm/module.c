/* Finds the modules, opens those that fit, and keeps one. */
#include "daemon/slurm/module.h"

#include "daemon/slurm/interface.h"
#include "lib/command.h"
#include "lib/error.h"
#include "lib/home.h"
#include "lib/memory.h"
#include "lib/place.h"
#include "lib/text.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CANDIDATES_MAX = 64,
    SCONTROL_WAIT_S = 5, /* without a slurm.conf it tries for a minute */
    RELEASE_SIZE = 32,
    LIBRARY_MIN = 30, /* libslurm.so.38 is that of 22.05 */
    LIBRARY_MAX = 99,
};

/* A module that fits. */
struct candidate {
    char *path;
    void *handle;
    const struct module_calls *calls;
};

struct search {
    struct candidate candidates[CANDIDATES_MAX]; /* the most wanted first */
    size_t count;
    struct text faults; /* why the other modules do not fit */
};

/* --- One module ------------------------------------------------------------------------------- */

/* Whether the file is as long as its header says. A shorter file would end the process that maps
 * it. A file that is not an ELF file at all is left to dlopen(). */
static bool module_is_whole(const char *path)
{
    ElfW(Ehdr) header = {0};
    struct stat info = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true; /* dlopen() says why */
    bool is_read = fstat(fd, &info) == 0 && read(fd, &header, sizeof header) == sizeof header;
    (void)close(fd); /* was only read */
    if (!is_read || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return true;
    uint64_t end = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
    return (uint64_t)info.st_size >= end;
}

static int candidate_open(const char *path, struct candidate *candidate, struct error *err)
{
    if (!module_is_whole(path))
        return error_set(err, -ENOEXEC, "the file is cut off");
    void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
        const char *said = dlerror();
        if (text_starts(said, path)) /* the caller names it */
            said += strlen(path) + strlen(": ");
        return error_set(err, -ENOENT, "%s", said);
    }
    const struct module_calls *calls = dlsym(handle, MODULE_SYMBOL);
    if (!calls || !text_equal(calls->interface, CLUSTER_INTERFACE)) {
        (void)dlclose(handle); /* nothing else can be done with it */
        return error_set(err, -ENOEXEC, "it was built for another version of phased");
    }
    *candidate = (struct candidate){.path = xstrdup(path), .handle = handle, .calls = calls};
    return 0;
}

/* --- All modules ------------------------------------------------------------------------------ */

static int is_module(const struct dirent *entry)
{
    return text_starts(entry->d_name, "phased-slurm-") && text_ends(entry->d_name, ".so");
}

/* Opens the modules of the folder, the newest first. The folder may not exist. */
static void search_folder(struct search *search, const char *folder)
{
    struct dirent **entries = NULL;
    struct error err;
    int count = scandir(folder, &entries, is_module, versionsort);
    for (int i = count - 1; i >= 0; i--) {
        char *path = text_format("%s/%s", folder, entries[i]->d_name);
        if (search->count < CANDIDATES_MAX) {
            if (candidate_open(path, &search->candidates[search->count], &err) == 0)
                search->count++;
            else
                text_addf(&search->faults, "%s%s: %s", search->faults.size > 0 ? "; " : "", path,
                          err.message);
        }
        free(path);
        free(entries[i]);
    }
    free(entries);
}

/* Writes the release of the Slurm whose programs are in PATH, such as "24.11.5"; "" if they do not
 * say it. */
static void find_release(char release[RELEASE_SIZE])
{
    static const char *const words[] = {"scontrol", "--version", NULL};
    struct command_result result;
    release[0] = '\0';
    if (command_run(words, NULL, SCONTROL_WAIT_S, &result, NULL) < 0)
        return;
    /* "slurm 24.11.5"; Debian's programs say "slurm-wlm 24.11.5". */
    const char *said = text_string(&result.out), *space = strchr(said, ' ');
    if (result.exit_code == 0 && text_starts(said, "slurm") && space)
        (void)snprintf(release, RELEASE_SIZE, "%.*s", (int)strcspn(space + 1, "\n"), space + 1);
    command_fini(&result);
}

/* Whether both are of the same release, such as 24.11. */
static bool is_same_release(const char *a, const char *b)
{
    size_t length = strcspn(a, ".") + 1;
    length += a[length - 1] ? strcspn(a + length, ".") : 0;
    return strncmp(a, b, length) == 0;
}

static size_t search_choose(const struct search *search)
{
    char release[RELEASE_SIZE];
    if (search->count < 2)
        return 0;
    find_release(release);
    for (size_t i = 0; i < search->count && release[0]; i++)
        if (is_same_release(search->candidates[i].calls->release, release))
            return i;
    return 0;
}

/* Writes the name of a libslurm of this machine; "" if ld.so does not find one. */
static void find_library(char library[RELEASE_SIZE])
{
    for (int number = LIBRARY_MAX; number >= LIBRARY_MIN; number--) {
        (void)snprintf(library, RELEASE_SIZE, "libslurm.so.%d", number); /* fits */
        void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
        if (handle) {
            (void)dlclose(handle); /* was opened to learn that it is there */
            return;
        }
    }
    library[0] = '\0';
}

static int search_complain(const struct search *search, struct error *err)
{
    char release[RELEASE_SIZE], library[RELEASE_SIZE];
    find_release(release);
    find_library(library);
    char *slurm = release[0]   ? text_format("Slurm %s", release)
                  : library[0] ? xstrdup(library)
                               : xstrdup("the Slurm of this machine, which was not found");
    int status = error_set(
        err, -ENOENT,
        "phased has no module for %s: build one with `phasectl daemon "
        "build-slurm` (%s)",
        slurm, search->faults.size > 0 ? text_string(&search->faults) : "there are no modules");
    free(slurm);
    return status;
}

int module_open_from(const char *const *folders, size_t count, struct module *ret_module,
                     struct error *err)
{
    struct search search = {0};
    Dl_info library;
    for (size_t i = 0; i < count; i++)
        search_folder(&search, folders[i]);
    size_t chosen = search_choose(&search);
    int status = search.count > 0 ? 0 : search_complain(&search, err);
    if (status == 0) {
        struct candidate *candidate = &search.candidates[chosen];
        /* The plugins of Slurm use the symbols of libslurm, so these symbols must be global. */
        if (!dlopen(candidate->path, RTLD_NOW | RTLD_GLOBAL))
            status = error_set(err, -ENOENT, "cannot use Slurm's module: %s", dlerror());
        else
            *ret_module =
                (struct module){.calls = candidate->calls, .path = xstrdup(candidate->path)};
        void *symbol = dlsym(candidate->handle, "slurm_api_version");
        bool is_known = status == 0 && symbol && dladdr(symbol, &library) != 0;
        if (status == 0)
            ret_module->library = xstrdup(is_known ? library.dli_fname : "");
    }
    for (size_t i = 0; i < search.count; i++) {
        if (i != chosen || status < 0)
            (void)dlclose(search.candidates[i].handle); /* none of its functions was called */
        free(search.candidates[i].path);
    }
    text_fini(&search.faults);
    return status;
}

int module_open(const struct home *home, struct module *ret_module, struct error *err)
{
    char *library = place_library("."), *real = realpath(library, NULL);
    const char *folders[2];
    size_t count = 0;
    if (home && home_check(home, NULL) == 0 && home_check_folder(home->slurm, NULL) == 0)
        folders[count++] = home->slurm;
    folders[count++] = real ? real : library;
    int status = module_open_from(folders, count, ret_module, err);
    free(library);
    free(real);
    return status;
}

void module_fini(struct module *module)
{
    free(module->path);
    free(module->library);
    *module = (struct module){0};
}
