/* Claims a phase. */
#include "worker/protocol/phase_claim.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/protocol/outcome.h"
#include "lib/text.h"
#include "worker/protocol/assignment.h"
#include "worker/protocol/posthumous.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PHASE_CLAIM_TRIES = 10 };

/* The numbers of the claims that exist, ascending. */
struct claim_numbers {
    unsigned *items;
    size_t count;
};

static int claim_compare(const void *a, const void *b)
{
    unsigned one = *(const unsigned *)a, other = *(const unsigned *)b;
    return (one > other) - (one < other);
}

/* The caller frees the items. */
static struct claim_numbers claim_list(const char *phase_dir)
{
    struct claim_numbers numbers = {0};
    struct dirent *entry;
    DIR *folder = opendir(phase_dir);
    while (folder && (entry = readdir(folder))) {
        char *end = NULL;
        unsigned long number =
            text_starts(entry->d_name, "lead.") ? strtoul(entry->d_name + 5, &end, 10) : 0;
        if (number == 0 || number >= UINT32_MAX || *end)
            continue;
        numbers.items = xreallocarray(numbers.items, numbers.count + 1, sizeof *numbers.items);
        numbers.items[numbers.count++] = (unsigned)number;
    }
    if (folder)
        closedir(folder);
    if (numbers.count)
        qsort(numbers.items, numbers.count, sizeof *numbers.items, claim_compare);
    return numbers;
}

static unsigned claim_newest(const char *phase_dir)
{
    struct claim_numbers numbers = claim_list(phase_dir);
    unsigned newest = numbers.count ? numbers.items[numbers.count - 1] : 0;
    free(numbers.items);
    return newest;
}

static struct claim claim_get(const char *phase_dir, unsigned number)
{
    char *path = text_format("%s/lead.%u", phase_dir, number);
    struct claim claim = claim_read(path);
    free(path);
    return claim;
}

/* Without links, a claim exists before it is written. A reader may find a claim that cannot be read
 * yet, and then looks again. */
static int claim_make_unlinked(const char *path, const char *text, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int status = fd < 0 ? -errno : file_write(fd, text, strlen(text));
    if (status == 0 && fsync(fd) < 0)
        status = -errno;
    if (fd >= 0)
        (void)close(fd); /* the file is synced, or has failed */
    return status < 0 ? error_set(err, status, "could not make %s: %s", path, strerror(-status))
                      : 0;
}

/* -EEXIST: another lead was faster. */
static int claim_make(const struct assignment *assignment, const char *phase_dir, unsigned number,
                      const struct phase_life *life, struct error *err)
{
    char *path = text_format("%s/lead.%u", phase_dir, number);
    json_t *json = claim_to_json(&(struct claim){.life = *life,
                                                 .known_run = assignment->known_run,
                                                 .attempt = assignment->file.attempt,
                                                 .run_dir = assignment->file.run_dir});
    char *text = json_text(json, JSON_COMPACT);
    int status = file_create_once(path, text, strlen(text), 0600, err);
    if (status == -EOPNOTSUPP)
        status = claim_make_unlinked(path, text, err);
    free(text);
    json_decref(json);
    free(path);
    return status;
}

struct phase_life phase_life_own(void)
{
    const char *id = getenv("SLURM_JOB_ID"), *restarts = getenv("SLURM_RESTART_COUNT");
    const char *token = getenv("PHASED_JOB");
    struct phase_life life = {
        .job_id = id ? strtoll(id, NULL, 10) : 0,
        .restarts = restarts ? (unsigned)strtoul(restarts, NULL, 10) : 0,
    };
    (void)snprintf(life.token, sizeof life.token, "%s", token ? token : "");
    return life;
}

static bool life_is_same(const struct phase_life *a, const struct phase_life *b)
{
    return a->job_id == b->job_id && a->restarts == b->restarts && text_equal(a->token, b->token);
}

/* The daemon numbers runs in the order in which it makes them. A lead that is alone only counts its
 * own attempts, and knows no others. */
static bool claim_is_later(const struct claim *claim, const struct assignment *assignment)
{
    return claim->known_run > assignment->known_run ||
           (claim->known_run == assignment->known_run && claim->attempt > assignment->file.attempt);
}

/* Whether the claim `number` prevents another claim. Ranks may be left even if there is an outcome:
 * the outcome of a run with a lost node is written without that node, perhaps by the lead that
 * wants to claim. */
static int claim_check(const struct assignment *assignment, const char *phase_dir, unsigned number,
                       const struct phase_life *life, struct phase_passed passed,
                       struct phase_holder *ret_holder, struct error *err)
{
    struct claim claim = claim_get(phase_dir, number);
    const char *run_dir = claim.run_dir ? claim.run_dir : "";
    struct phase_holder holder = {.number = number, .life = claim.life};
    int status = 0;
    *ret_holder = holder;
    bool is_unreadable = holder.life.job_id <= 0;
    if (life_is_same(&holder.life, life) || (is_unreadable && number == passed.left))
        status = 0;
    else if (is_unreadable)
        status = error_set(err, -EAGAIN, "%s/lead.%u cannot be read", phase_dir, number);
    else if (claim_is_later(&claim, assignment))
        status = error_set(err, -ESTALE, "run %u of this phase, in job %lld, has come after it",
                           claim.attempt, (long long)holder.life.job_id);
    else if (number != passed.over && !outcome_is_there(run_dir, claim.life.token))
        status = error_set(err, -EBUSY, "run %u of this phase, in job %lld, is not over",
                           claim.attempt, (long long)holder.life.job_id);
    else if (number != passed.left && !posthumous_has_ended(run_dir))
        status = error_set(err, -EAGAIN,
                           "run %u of this phase, in job %lld, is over, but some of its nodes have "
                           "not told that no process is left there",
                           claim.attempt, (long long)holder.life.job_id);
    claim_fini(&claim);
    return status;
}

int phase_claim_take(const struct assignment *assignment, const struct phase_life *life,
                     struct phase_passed passed, struct phase_holder *ret_holder, struct error *err)
{
    char *phase_dir = file_parent(assignment->file.run_dir);
    unsigned least = 0; /* a claim that exists, even if the folder does not show it here yet */
    int status = -EEXIST;
    for (unsigned i = 0; i < PHASE_CLAIM_TRIES && status == -EEXIST; i++) {
        unsigned number = claim_newest(phase_dir);
        number = number > least ? number : least;
        status =
            number ? claim_check(assignment, phase_dir, number, life, passed, ret_holder, err) : 0;
        if (status < 0)
            break;
        status = claim_make(assignment, phase_dir, number + 1, life, err);
        least = number + 1;
    }
    if (status == -EEXIST)
        status = -EBUSY;
    free(phase_dir);
    return status;
}

int phase_claim_of_run(const char *run_dir, struct phase_holder *ret_holder, struct error *err)
{
    char *phase_dir = file_parent(run_dir);
    struct claim_numbers numbers = claim_list(phase_dir);
    unsigned unreadable = 0;
    int status = -ENOENT;
    for (size_t i = numbers.count; i-- > 0 && status < 0;) {
        struct claim claim = claim_get(phase_dir, numbers.items[i]);
        if (claim.run_dir && text_equal(claim.run_dir, run_dir)) {
            *ret_holder = (struct phase_holder){.number = numbers.items[i], .life = claim.life};
            status = 0;
        } else if (claim.life.job_id <= 0 && !unreadable) {
            unreadable = numbers.items[i];
        }
        claim_fini(&claim);
    }
    free(numbers.items);
    if (status < 0 && unreadable) {
        *ret_holder = (struct phase_holder){.number = unreadable};
        status = error_set(err, -EAGAIN, "%s/lead.%u cannot be read", phase_dir, unreadable);
    } else if (status < 0) {
        (void)error_set(err, status, "no lead has claimed the phase for %s", run_dir);
    }
    free(phase_dir);
    return status;
}

unsigned phase_claim_newest(const char *run_dir)
{
    char *phase_dir = file_parent(run_dir);
    unsigned newest = claim_newest(phase_dir);
    free(phase_dir);
    return newest;
}

bool phase_claim_is_lost(const char *run_dir, const struct phase_life *life, unsigned number)
{
    char *phase_dir = file_parent(run_dir);
    unsigned newest = claim_newest(phase_dir);
    struct claim claim = {0};
    if (newest > number)
        claim = claim_get(phase_dir, newest);
    bool is_lost = json_is_object(claim.document) && !life_is_same(&claim.life, life);
    claim_fini(&claim);
    free(phase_dir);
    return is_lost;
}
