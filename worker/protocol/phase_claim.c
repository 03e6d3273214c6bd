/* Claims a phase. */
#include "worker/protocol/phase_claim.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/protocol/message.h"
#include "lib/text.h"
#include "worker/protocol/assignment.h"
#include "lib/protocol/outcome.h"
#include "worker/protocol/posthumous.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PHASE_CLAIM_TRIES = 10 };

/* Returns the highest number; 0: there is no claim. */
static unsigned claim_newest(const char *phase_dir)
{
    unsigned newest = 0;
    struct dirent *entry;
    DIR *folder = opendir(phase_dir);
    while (folder && (entry = readdir(folder))) {
        char *end = NULL;
        unsigned long number =
            text_starts(entry->d_name, "lead.") ? strtoul(entry->d_name + 5, &end, 10) : 0;
        if (number > newest && number < UINT32_MAX && *end == '\0')
            newest = (unsigned)number;
    }
    if (folder)
        closedir(folder);
    return newest;
}

/* NULL: the claim cannot be read. */
static json_t *claim_read(const char *phase_dir, unsigned number)
{
    json_t *json;
    (void)message_read(&json, NULL, "%s/lead.%u", phase_dir, number);
    return json;
}

/* Ranks may be left even if there is an outcome. The outcome of a run with a lost node is written
 * without that node, perhaps by the lead that wants to claim. */
static bool claim_is_over(const json_t *claim)
{
    const char *run_dir = json_string_value(json_object_get(claim, "run_dir"));
    const char *token = json_string_value(json_object_get(claim, "token"));
    return outcome_is_there(run_dir ? run_dir : "", token);
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
    json_t *json = json_pack("{s:I, s:s, s:i, s:I, s:i, s:s}", "job_id", (json_int_t)life->job_id,
                             "token", life->token, "restarts", (int)life->restarts, "known_run",
                             (json_int_t)assignment->known_run, "attempt",
                             (int)assignment->file.attempt, "run_dir", assignment->file.run_dir);
    char *text = json_dumps(json, JSON_COMPACT);
    if (!text)
        abort();
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

struct phase_life phase_life_read(const json_t *claim)
{
    const char *token = json_string_value(json_object_get(claim, "token"));
    struct phase_life life = {
        .job_id = json_integer_value(json_object_get(claim, "job_id")),
        .restarts = (unsigned)json_integer_value(json_object_get(claim, "restarts")),
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
static bool claim_is_later(const json_t *claim, const struct assignment *assignment)
{
    json_int_t run = json_integer_value(json_object_get(claim, "known_run"));
    json_int_t attempt = json_integer_value(json_object_get(claim, "attempt"));
    return run > assignment->known_run ||
           (run == assignment->known_run && attempt > (json_int_t)assignment->file.attempt);
}

/* Whether the claim `number` prevents another claim. */
static int claim_check(const struct assignment *assignment, const char *phase_dir, unsigned number,
                       const struct phase_life *life, struct phase_passed passed,
                       struct phase_holder *ret_holder, struct error *err)
{
    json_t *claim = claim_read(phase_dir, number);
    const char *run_dir = json_string_value(json_object_get(claim, "run_dir"));
    json_int_t attempt = json_integer_value(json_object_get(claim, "attempt"));
    struct phase_holder holder = {.number = number, .life = phase_life_read(claim)};
    int status = 0;
    *ret_holder = holder;
    bool is_unreadable = holder.life.job_id <= 0;
    if (life_is_same(&holder.life, life) || (is_unreadable && number == passed.left))
        status = 0;
    else if (is_unreadable)
        status = error_set(err, -EAGAIN, "%s/lead.%u cannot be read", phase_dir, number);
    else if (claim_is_later(claim, assignment))
        status = error_set(err, -ESTALE, "run %lld of this phase, in job %lld, has come after it",
                           (long long)attempt, (long long)holder.life.job_id);
    else if (number != passed.over && !claim_is_over(claim))
        status = error_set(err, -EBUSY, "run %lld of this phase, in job %lld, is not over",
                           (long long)attempt, (long long)holder.life.job_id);
    else if (number != passed.left && !posthumous_has_ended(run_dir ? run_dir : ""))
        status =
            error_set(err, -EAGAIN,
                      "run %lld of this phase, in job %lld, is over, but some of its nodes have "
                      "not told that no process is left there",
                      (long long)attempt, (long long)holder.life.job_id);
    json_decref(claim);
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
    unsigned unreadable = 0;
    int status = -ENOENT;
    for (unsigned number = claim_newest(phase_dir); number > 0 && status < 0; number--) {
        json_t *claim = claim_read(phase_dir, number);
        const struct phase_holder holder = {.number = number, .life = phase_life_read(claim)};
        const char *of = json_string_value(json_object_get(claim, "run_dir"));
        if (text_equal(of ? of : "", run_dir)) {
            *ret_holder = holder;
            status = 0;
        } else if (holder.life.job_id <= 0 && !unreadable) {
            unreadable = number;
        }
        json_decref(claim);
    }
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
    json_t *claim = newest > number ? claim_read(phase_dir, newest) : NULL;
    const struct phase_life other = phase_life_read(claim);
    bool is_lost = json_is_object(claim) && !life_is_same(&other, life);
    json_decref(claim);
    free(phase_dir);
    return is_lost;
}
